package api_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// fake answers as the service would, so that the translation alone is tested here; the daemon's own behaviour is tested
// with git and PostgreSQL where it is written.
type fake struct {
	api.Service // a method that a test does not expect panics

	receipt    *service.Receipt
	submitErr  error
	submitted  []service.Submission
	patch      *service.Patch
	asked      []string // what Patch and Withdraw were called with
	waitFor    chan struct{}
	events     chan service.Event
	eventsFrom int64
	notReady   error
	content    []byte
	failure    error
	round      *service.Round
	targets    []service.Target
	resolved   []service.ResolveRequest
}

func (f *fake) Submit(_ context.Context, s service.Submission) (*service.Receipt, error) {
	f.submitted = append(f.submitted, s)
	return f.receipt, f.submitErr
}

func (f *fake) Patch(_ context.Context, repo string, target git.Ref, key string) (*service.Patch, error) {
	f.asked = append(f.asked, repo+" "+string(target)+" "+key)
	return f.patch, f.failure
}

func (f *fake) Wait(ctx context.Context, _ string, _ git.Ref, _ coordinator.Identity) (*service.Patch, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.waitFor:
		decided := *f.patch
		decided.State = service.StateDecided
		return &decided, nil
	}
}

func (f *fake) Withdraw(_ context.Context, c service.Credential, repo string, target git.Ref, key, why string) (*service.Patch, error) {
	f.asked = append(f.asked, repo+" "+string(target)+" "+key+" "+why+" "+c.Name)
	return f.patch, f.failure
}

func (f *fake) Resolve(_ context.Context, in service.ResolveRequest) (*service.Patch, error) {
	f.resolved = append(f.resolved, in)
	return f.patch, f.failure
}

func (f *fake) MergeCandidate(_ context.Context, repo string, target git.Ref, key, with string) (*service.MergeCandidate, error) {
	f.asked = append(f.asked, repo+" "+string(target)+" "+key+" "+with)
	return &service.MergeCandidate{Status: "merge-candidate"}, f.failure
}

func (f *fake) Seal(_ context.Context, in service.SealRequest) (*service.Round, error) {
	f.asked = append(f.asked, fmt.Sprint(in.Repo, " ", in.Target, " ", in.Keys, " ", in.By.Name))
	return f.round, f.failure
}

func (f *fake) Round(_ context.Context, _ string, _ git.Ref, number int64) (*service.Round, error) {
	f.asked = append(f.asked, fmt.Sprint("round ", number))
	return f.round, f.failure
}

func (f *fake) Rounds(_ context.Context, _ string, _ git.Ref, before int64, limit int) ([]service.Round, error) {
	var out []service.Round
	for n := before - 1; n > 0 && len(out) < limit; n-- {
		out = append(out, service.Round{Number: n})
	}
	return out, f.failure
}

func (f *fake) WaitRound(ctx context.Context, _ string, _ git.Ref, _ int64) (*service.Round, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.waitFor:
		ready := *f.round
		ready.Status = "ready"
		return &ready, nil
	}
}

func (f *fake) Land(_ context.Context, by service.Credential, _ string, _ git.Ref, number int64) (*service.Round, error) {
	f.asked = append(f.asked, fmt.Sprint("land ", number, " ", by.Name))
	return f.round, f.failure
}

func (f *fake) Pause(_ context.Context, by service.Credential, _ string, target git.Ref, drain bool) error {
	f.asked = append(f.asked, fmt.Sprint("pause ", target, " ", drain, " ", by.Name))
	return f.failure
}

func (f *fake) Resume(_ context.Context, by service.Credential, _ string, target git.Ref) error {
	f.asked = append(f.asked, fmt.Sprint("resume ", target, " ", by.Name))
	return f.failure
}

func (f *fake) State(context.Context, string, git.Ref) (*coordinator.State, error) {
	return &coordinator.State{Schema: coordinator.SchemaState, StateDigest: "abc"}, f.failure
}

func (f *fake) Targets(context.Context) ([]service.Target, error) {
	if f.targets != nil {
		return f.targets, nil
	}
	return nil, f.failure
}

func (f *fake) Log(_ context.Context, _ string, _ git.Ref, from int64, limit int) ([]service.Entry, error) {
	var out []service.Entry
	for seq := from; seq <= 5 && len(out) < limit; seq++ {
		out = append(out, service.Entry{Seq: seq, Kind: "admitted"})
	}
	return out, nil
}

func (f *fake) Content(context.Context, coordinator.Digest) ([]byte, error) { return f.content, nil }

func (f *fake) Events(_ context.Context, _ string, _ git.Ref, after int64) (<-chan service.Event, error) {
	f.eventsFrom = after
	return f.events, f.failure
}

// Authenticate knows tokens of the form "scopes:read,submit".
func (f *fake) Authenticate(_ context.Context, token string) (service.Credential, error) {
	list, ok := strings.CutPrefix(token, "scopes:")
	if !ok {
		return service.Credential{}, &service.Error{Code: service.ErrUnauthorized, Message: "the token is not known"}
	}
	c := service.Credential{ID: "1", Name: "tester"}
	for s := range strings.SplitSeq(list, ",") {
		c.Scopes = append(c.Scopes, service.Scope(s))
	}
	slices.Sort(c.Scopes)
	return c, nil
}

func (f *fake) Ready(context.Context) error { return f.notReady }

// serve starts the face over a fake on a loopback port.
func serve(t *testing.T, f *fake) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(api.New(api.Options{
		Service: f, Logger: slog.New(slog.DiscardHandler), Clock: farAhead, Version: "test", Hosts: []string{"patchd.example"}, MaxStreams: 1,
	}))
	t.Cleanup(server.Close)
	return server
}

// farAhead is a clock whose deadlines never come.
func farAhead() time.Time { return time.Unix(1<<33, 0) }

// reply is an answer whose body is closed when the test ends.
type reply struct {
	StatusCode int
	Header     http.Header
	Body       io.Reader
}

// ask sends a request with a token of every right; mutate may change it.
func ask(t *testing.T, server *httptest.Server, method, path, body string, mutate func(*http.Request)) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer scopes:admin")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if mutate != nil {
		mutate(req)
	}
	res, err := server.Client().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	return reply{res.StatusCode, res.Header, res.Body}
}
