// Package webhook tells somebody over HTTP what happened: it signs a body, sends it, and says whether that went well. It
// knows neither events nor queues; repeating a delivery that failed is the caller's.
//
// A delivery is a POST of JSON with these headers: Patchd-Delivery, an id that stays the same however often the delivery is
// repeated; Patchd-Event, the kind; Patchd-Timestamp, seconds since 1970 at which it was sent; and Patchd-Signature, "v1="
// followed by the HMAC-SHA256 (RFC 2104) in lower-case hex, under the shared secret, of the timestamp's text, a full stop and
// the raw body.
package webhook

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// The headers of a delivery.
const (
	HeaderDelivery  = "Patchd-Delivery"
	HeaderEvent     = "Patchd-Event"
	HeaderTimestamp = "Patchd-Timestamp"
	HeaderSignature = "Patchd-Signature"
)

// signatureVersion begins every signature; another way of signing would have another.
const signatureVersion = "v1="

// Tolerance is how far a delivery's timestamp may be from the receiver's clock for Verify.
const Tolerance = 5 * time.Minute

const (
	minSecret   = 16 // bytes
	sendTimeout = 20 * time.Second
	maxAnswer   = 64 << 10
)

// Config says whom to tell and how.
type Config struct {
	URL       string
	Secret    []byte // shared with the receiver, at least 16 bytes
	AllowHTTP bool   // unencrypted to another machine than this one
}

// Sender delivers to one receiver; it is safe for concurrent use.
type Sender struct {
	url    string
	secret []byte
	clock  func() time.Time
	client *http.Client
}

// New checks where deliveries go: https, or http to this machine unless more is allowed. Redirects are not followed.
func New(c Config, clock func() time.Time) (*Sender, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Host == "" || u.User != nil {
		return nil, fmt.Errorf("webhook %q is not a URL such as https://ci.example/patchd", redacted(u, c.URL))
	}
	switch {
	case u.Scheme == "https":
	case u.Scheme == "http" && (c.AllowHTTP || loopback(u.Hostname())):
	case u.Scheme == "http":
		return nil, fmt.Errorf("webhook %q would be sent unencrypted to another machine: use https, or --webhook-allow-http", u.Redacted())
	default:
		return nil, fmt.Errorf("webhook %q is neither http nor https", u.Redacted())
	}
	if len(c.Secret) < minSecret {
		return nil, fmt.Errorf("the webhook secret has %d bytes, at least %d are needed", len(c.Secret), minSecret)
	}
	return &Sender{url: u.String(), secret: c.Secret, clock: clock, client: &http.Client{
		Timeout: sendTimeout, Transport: &http.Transport{MaxIdleConnsPerHost: 2, IdleConnTimeout: 30 * time.Second, Proxy: nil},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// redacted is a URL without its password.
func redacted(u *url.URL, raw string) string {
	if u == nil {
		return raw
	}
	return u.Redacted()
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.IsLoopback()
}

// Close lets go of idle connections.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// URL is where deliveries go.
func (s *Sender) URL() string { return s.url }

// StatusError says that the receiver did not take a delivery.
type StatusError struct{ Status int }

// Error names the status.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the webhook's receiver answered %d %s", e.Status, http.StatusText(e.Status))
}

// Send delivers once. Any 2xx answer means that it was taken; the error is a *StatusError for every other answer.
func (s *Sender) Send(ctx context.Context, delivery, event string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make delivery: %w", err)
	}
	at := strconv.FormatInt(s.clock().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "patchd")
	req.Header.Set(HeaderDelivery, delivery)
	req.Header.Set(HeaderEvent, event)
	req.Header.Set(HeaderTimestamp, at)
	req.Header.Set(HeaderSignature, Sign(s.secret, at, body))
	res, err := s.client.Do(req)
	if err != nil {
		return fmt.Errorf("deliver %s: %w", delivery, withoutURL(err))
	}
	defer func() { _ = res.Body.Close() }() // the answer counts, not its text
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxAnswer))
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return fmt.Errorf("deliver %s: %w", delivery, &StatusError{res.StatusCode})
	}
	return nil
}

// withoutURL keeps a URL, which may hold a secret of the receiver's, out of logs.
func withoutURL(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// Sign is the signature of a body sent at a time, as the header carries it.
func Sign(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	_, _ = mac.Write([]byte(timestamp + ".")) // a hash never fails
	_, _ = mac.Write(body)
	return signatureVersion + hex.EncodeToString(mac.Sum(nil))
}

// Verify is what a receiver does with a delivery: it compares the signature in constant time and refuses a timestamp that
// is far from now, so that an old delivery cannot be played back.
func Verify(secret []byte, h http.Header, body []byte, now time.Time) error {
	stamp := h.Get(HeaderTimestamp)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return fmt.Errorf("header %s: %q is not a time", HeaderTimestamp, stamp)
	}
	if d := now.Sub(time.Unix(seconds, 0)); d > Tolerance || d < -Tolerance {
		return fmt.Errorf("header %s: sent %s away from now", HeaderTimestamp, d)
	}
	for signature := range strings.FieldsSeq(h.Get(HeaderSignature)) {
		if hmac.Equal([]byte(signature), []byte(Sign(secret, stamp, body))) {
			return nil
		}
	}
	return fmt.Errorf("header %s does not match the body", HeaderSignature)
}
