package client

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"patchd/coordinator/api"
	"patchd/coordinator/service"
)

// Resolve does something with an open record. It is refused with code stale where the record changed since it was read.
func (c *Client) Resolve(ctx context.Context, at Place, key string, body api.ResolveBody) (*service.Patch, error) {
	out := &service.Patch{}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: "/v1/patches/" + segment(key) + "/resolve", query: at.query(), body: body}, out))
}

// MergeCandidate shows the merge of a conflict with the target, or with the pending patch that with names.
func (c *Client) MergeCandidate(ctx context.Context, at Place, key, with string) (*service.MergeCandidate, error) {
	out := &service.MergeCandidate{}
	q := at.query()
	set(q, "with", with)
	return result(out, c.call(ctx, request{method: http.MethodGet, path: "/v1/patches/" + segment(key) + "/merge", query: q, repeatable: true}, out))
}

// Seal opens a round of the patches that keys name, or of everything that is ready.
func (c *Client) Seal(ctx context.Context, at Place, keys []string) (*service.Round, error) {
	out := &service.Round{}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: "/v1/rounds", query: at.query(), body: api.SealBody{Patches: keys}}, out))
}

// roundPath is where a round is; zero is the latest.
func roundPath(number int64) string {
	if number == 0 {
		return "/v1/rounds/latest"
	}
	return "/v1/rounds/" + strconv.FormatInt(number, 10)
}

// Round shows a round with its whole story; number zero is the latest.
func (c *Client) Round(ctx context.Context, at Place, number int64) (*service.Round, error) {
	out := &service.Round{}
	return result(out, c.call(ctx, request{method: http.MethodGet, path: roundPath(number), query: at.query(), repeatable: true}, out))
}

// Rounds lists rounds, newest first, below number before (zero: from the newest); next is where to go on, zero at the end.
func (c *Client) Rounds(ctx context.Context, at Place, before int64, limit int) (rounds []service.Round, next int64, err error) {
	q := at.query()
	q.Set("limit", strconv.Itoa(limit))
	if before > 0 {
		q.Set("before", strconv.FormatInt(before, 10))
	}
	var out api.RoundList
	err = c.call(ctx, request{method: http.MethodGet, path: "/v1/rounds", query: q, repeatable: true}, &out)
	return out.Rounds, out.Next, err
}

// WaitRound asks once, for at most a minute: it gives the round when it is ready or over, or as it is after the time.
func (c *Client) WaitRound(ctx context.Context, at Place, number int64, timeout time.Duration) (*service.Round, error) {
	out := &service.Round{}
	q := at.query()
	q.Set("timeout", timeout.String())
	return result(out, c.call(ctx, request{method: http.MethodGet, path: roundPath(number) + "/wait", query: q, repeatable: true}, out))
}

// Land moves the target to a ready round's head. Asking again for what has landed answers with the round, so it is repeated
// while the daemon is away.
func (c *Client) Land(ctx context.Context, at Place, number int64) (*service.Round, error) {
	out := &service.Round{}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: roundPath(number) + "/land", query: at.query(), repeatable: number > 0}, out))
}

// Pause stops new rounds and landings of a target, or with drain new rounds only.
func (c *Client) Pause(ctx context.Context, at Place, drain bool) (*service.Target, error) {
	path := "/v1/targets/pause"
	if drain {
		path = "/v1/targets/drain"
	}
	out := &service.Target{}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: path, query: at.query()}, out))
}

// Resume takes rounds and landings again.
func (c *Client) Resume(ctx context.Context, at Place) (*service.Target, error) {
	out := &service.Target{}
	return result(out, c.call(ctx, request{method: http.MethodPost, path: "/v1/targets/resume", query: at.query()}, out))
}
