package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// Place is where a request is about; empty fields mean the only repository, or its only target.
type Place struct {
	Repo   string
	Target git.Ref
}

func (p Place) query() url.Values {
	q := url.Values{}
	set(q, "repo", p.Repo)
	set(q, "target", string(p.Target))
	return q
}

func set(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

// Submit hands in a patch. It is repeated while the daemon is away only where the manifest holds a client_request_id, which
// the caller vouches for with keyed. An attempt that was refused is a receipt with Refused set, not an error.
func (c *Client) Submit(ctx context.Context, body api.SubmitBody, keyed bool) (*service.Receipt, error) {
	receipt := &service.Receipt{}
	err := c.call(ctx, request{method: http.MethodPost, path: "/v1/patches", body: body, repeatable: keyed}, receipt)
	var p *api.Problem
	if errors.As(err, &p) && p.Receipt != nil {
		return p.Receipt, nil
	}
	if err != nil {
		return nil, err
	}
	return receipt, nil
}

// Patch shows one patch. The key is an identity, a unique prefix of one, a patch_id or a submission id.
func (c *Client) Patch(ctx context.Context, at Place, key string) (*service.Patch, error) {
	out := &service.Patch{}
	return result(out, c.call(ctx, request{method: http.MethodGet, path: "/v1/patches/" + segment(key), query: at.query(), repeatable: true}, out))
}

// Wait waits until a patch is decided at the present target commit, or ctx ends.
func (c *Client) Wait(ctx context.Context, at Place, id coordinator.Identity) (*service.Patch, error) {
	for {
		out := &service.Patch{}
		q := at.query()
		q.Set("timeout", "30s")
		err := c.call(ctx, request{method: http.MethodGet, path: "/v1/patches/" + segment(string(id)) + "/wait", query: q, repeatable: true}, out)
		if err != nil || out.State != service.StateDeciding {
			return result(out, err)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
	}
}

// Patches lists one page of patches.
func (c *Client) Patches(ctx context.Context, f service.Filter) (*service.Page, error) {
	q := Place{f.Repo, f.Target}.query()
	set(q, "outcome", string(f.Outcome))
	set(q, "state", string(f.State))
	set(q, "cursor", f.Cursor)
	if f.Limit > 0 {
		q.Set("limit", strconv.Itoa(f.Limit))
	}
	out := &service.Page{}
	return result(out, c.call(ctx, request{method: http.MethodGet, path: "/v1/patches", query: q, repeatable: true}, out))
}

// Withdraw takes a patch back.
func (c *Client) Withdraw(ctx context.Context, at Place, key, why string) (*service.Patch, error) {
	out := &service.Patch{}
	body := map[string]string{"why": why}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: "/v1/patches/" + segment(key) + "/withdraw", query: at.query(), body: body}, out))
}

// Targets lists the guarded branches.
func (c *Client) Targets(ctx context.Context) ([]service.Target, error) {
	var out api.TargetList
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/targets", repeatable: true}, &out)
	return out.Targets, err
}

// Log reads ledger entries from a sequence number on; next is where to go on, zero at the end.
func (c *Client) Log(ctx context.Context, at Place, from int64, limit int) (entries []service.Entry, next int64, err error) {
	q := at.query()
	q.Set("from", strconv.FormatInt(max(from, 1), 10))
	q.Set("limit", strconv.Itoa(limit))
	var out api.EntryList
	err = c.call(ctx, request{method: http.MethodGet, path: "/v1/log", query: q, repeatable: true}, &out)
	return out.Entries, out.Next, err
}

// Verify has the daemon walk a target's ledger.
func (c *Client) Verify(ctx context.Context, at Place) (*service.Verification, error) {
	out := &service.Verification{}
	return result(out, c.call(ctx, request{method: http.MethodGet, path: "/v1/verify", query: at.query(), repeatable: true}, out))
}

// Content reads kept bytes: a diff, or a check's output.
func (c *Client) Content(ctx context.Context, d coordinator.Digest) ([]byte, error) {
	var out []byte
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/contents/" + segment(string(d)), repeatable: true}, &out)
	return out, err
}

// State shows what is published of every pending patch of a target.
func (c *Client) State(ctx context.Context, at Place) (*coordinator.State, error) {
	out := &coordinator.State{}
	return result(out, c.call(ctx, request{method: http.MethodGet, path: "/v1/state", query: at.query(), repeatable: true}, out))
}

// CreateToken makes a credential; the token is shown this once.
func (c *Client) CreateToken(ctx context.Context, r api.TokenRequest) (*api.NewToken, error) {
	out := &api.NewToken{}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: "/v1/tokens", body: r}, out))
}

// Tokens lists credentials.
func (c *Client) Tokens(ctx context.Context) ([]service.Credential, error) {
	var out api.CredentialList
	err := c.call(ctx, request{method: http.MethodGet, path: "/v1/tokens", repeatable: true}, &out)
	return out.Credentials, err
}

// RevokeToken revokes a credential by its name.
func (c *Client) RevokeToken(ctx context.Context, name string) error {
	return c.call(ctx, request{method: http.MethodDelete, path: "/v1/tokens/" + segment(name)}, nil)
}

// Ready asks whether the daemon is ready to serve.
func (c *Client) Ready(ctx context.Context) error {
	return c.call(ctx, request{method: http.MethodGet, path: "/readyz"}, nil)
}

// result drops a value that was not filled in.
func result[T any](out *T, err error) (*T, error) {
	if err != nil {
		return nil, err
	}
	return out, nil
}
