package api

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"patchd/coordinator/service"
)

// SocketHost is the Host that clients send over the unix socket.
const SocketHost = "patchd"

// guarded refuses requests that a browser was talked into: a Host that is a foreign name (DNS rebinding), an Origin other
// than the host itself, and whatever the browser marks as cross-site.
func (f *face) guarded(hosts []string, next http.Handler) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		switch {
		case !allowedHost(r.Host, hosts):
			forbidden("Host", "host "+quoted(r.Host)+" is not one of this daemon's", "name it when the daemon is started: --allow-host").write(w)
		case foreignOrigin(r):
			forbidden("Origin", "origin "+quoted(r.Header.Get("Origin"))+" is not this daemon's", "").write(w)
		case cross.Check(r) != nil:
			forbidden("Sec-Fetch-Site", "cross-site requests are refused", "").write(w)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func forbidden(field, detail, hint string) *Problem {
	return problem(http.StatusForbidden, string(service.ErrForbidden), field, detail, hint)
}

// allowedHost accepts IP addresses, which no name service can rebind, and the daemon's own names.
func allowedHost(host string, names []string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host == "localhost" || host == SocketHost || slices.Contains(names, host)
}

// foreignOrigin reports whether the request carries an Origin that is not the host it was sent to.
func foreignOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	u, err := url.Parse(origin)
	return err != nil || u.Host == "" || !strings.EqualFold(u.Host, r.Host)
}

// quoted shows a header's value without letting it write control characters anywhere.
func quoted(s string) string {
	const most = 100
	if len(s) > most {
		s = s[:most]
	}
	return `"` + strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == 0x7f {
			return '?'
		}
		return r
	}, s), "?") + `"`
}

// recovered keeps a panic of one request from the others, and tells it to the log.
func (f *face) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer f.rescue(r.Context(), w, r.URL.Path)
		next.ServeHTTP(w, r)
	})
}

// rescue is deferred around a request.
func (f *face) rescue(ctx context.Context, w http.ResponseWriter, path string) {
	v := recover()
	if v == nil {
		return
	}
	if v == http.ErrAbortHandler { //nolint:errorlint // net/http compares it this way
		panic(v)
	}
	f.logger.ErrorContext(ctx, "request panicked", "path", path, "panic", v)
	problem(http.StatusInternalServerError, CodeInternal, "", "the daemon failed to answer", "see its log").write(w)
}
