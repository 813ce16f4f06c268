// Package client is the Go client of the daemon's HTTP face. It speaks over a unix socket or TCP, sends the token, and turns
// problem+json answers into *api.Problem errors. Requests that may be repeated without harm are repeated while the daemon is
// away, so that a restart in the middle of a submission loses nothing and doubles nothing.
package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"patchd/coordinator/api"
)

// Options say where the daemon is and who asks.
type Options struct {
	Server string // "unix:PATH" or an http URL
	Token  string
	// Patience is how long a request that may be repeated is repeated while nobody answers; zero means not at all.
	Patience time.Duration
	// Waiting, where set, is called before each repetition.
	Waiting func(err error)
}

// Client talks to one daemon; it is safe for concurrent use.
type Client struct {
	base    *url.URL
	http    *http.Client
	options Options
}

// UnreachableError says that nobody answers at the address.
type UnreachableError struct {
	Server string
	Err    error
}

// Error says where nobody answers and how to start a daemon.
func (e *UnreachableError) Error() string {
	return fmt.Sprintf("no daemon answers at %s: %v (start one: patchd serve --repo DIR)", e.Server, e.Err)
}

// Unwrap gives the failure of the connection.
func (e *UnreachableError) Unwrap() error { return e.Err }

// New prepares a client; it connects with the first request.
func New(o Options) (*Client, error) {
	transport := &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second}
	c := &Client{http: &http.Client{Transport: transport}, options: o}
	if path, ok := strings.CutPrefix(o.Server, "unix:"); ok {
		dialer := &net.Dialer{}
		transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) { return dialer.DialContext(ctx, "unix", path) }
		c.base = &url.URL{Scheme: "http", Host: api.SocketHost}
		return c, nil
	}
	u, err := url.Parse(o.Server)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("server %q is neither unix:PATH nor an http URL", o.Server)
	}
	c.base = &url.URL{Scheme: u.Scheme, Host: u.Host, Path: strings.TrimSuffix(u.Path, "/")}
	return c, nil
}

// Close lets go of idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Server is the address that the client was made with.
func (c *Client) Server() string { return c.options.Server }

// request is one call; repeatable says that sending it twice does no more than sending it once.
type request struct {
	method, path string
	query        url.Values
	body         any
	repeatable   bool
}

// call sends a request and reads the answer into out, which may be nil, or *[]byte for the bytes as they are.
func (c *Client) call(ctx context.Context, r request, out any) error {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return fmt.Errorf("marshal request: %w", err)
		}
	}
	patience := newPatience(c.options, r.repeatable)
	defer patience.stop()
	for {
		err := c.once(ctx, r, body, out)
		if err == nil || !patience.again(ctx, err) {
			return err
		}
	}
}

func (c *Client) once(ctx context.Context, r request, body []byte, out any) error {
	address := c.base.String() + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.options.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.options.Token)
	}
	res, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &UnreachableError{c.options.Server, plain(err)}
	}
	defer func() { _ = res.Body.Close() }() // it was read
	return decode(res, out, c.options.Server)
}

// decode reads an answer, or the problem that stands in its place.
func decode(res *http.Response, out any, server string) error {
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return &UnreachableError{server, fmt.Errorf("read answer: %w", err)}
	}
	if res.StatusCode >= http.StatusBadRequest {
		p := &api.Problem{}
		if err := json.Unmarshal(data, p); err != nil || p.Code == "" {
			return fmt.Errorf("%s answered %s to %s", server, res.Status, res.Request.URL.Path)
		}
		return p
	}
	switch out := out.(type) {
	case nil:
		return nil
	case *[]byte:
		*out = data
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("read answer of %s to %s: %w", server, res.Request.URL.Path, err)
	}
	return nil
}

// plain drops the method and address that net/http puts before its errors.
func plain(err error) error {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		return wrapped.Err
	}
	return err
}

// segment escapes one path segment; a key may hold anything.
func segment(s string) string { return url.PathEscape(s) }
