package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

// TargetList is every guarded branch.
type TargetList struct {
	Targets []service.Target `json:"targets"`
}

type targetsOutput struct{ Body TargetList }

// EntryList is a piece of a target's ledger; Next is the sequence number to go on from, zero at the end.
type EntryList struct {
	Entries []service.Entry `json:"entries"`
	Next    int64           `json:"next,omitzero"`
}

type logInput struct {
	Place
	From  int64 `query:"from" doc:"first sequence number" minimum:"1" default:"1"`
	Limit int   `query:"limit" doc:"entries at once" minimum:"1" maximum:"500" default:"200"`
}

type logOutput struct{ Body EntryList }

type verifyOutput struct{ Body *service.Verification }

type targetOutput struct{ Body service.Target }

type stateOutput struct{ Body *coordinator.State }

type contentInput struct {
	Digest string `path:"digest" doc:"SHA-256 of the content" pattern:"^[0-9a-f]{64}$"`
}

type contentOutput struct {
	ContentType string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

func (f *face) registerTargets(api huma.API) {
	huma.Register(api, operation("list-targets", http.MethodGet, "/v1/targets", "List guarded branches", service.ScopeRead), f.targets)
	pause := operation("pause-target", http.MethodPost, "/v1/targets/pause", "Stop new rounds and landings of a target", service.ScopeLand)
	pause.Description = "Patches are still admitted and decided. What was intended to land before is finished."
	huma.Register(api, pause, f.pausing(false))
	drain := operation("drain-target", http.MethodPost, "/v1/targets/drain", "Take no new rounds of a target", service.ScopeLand)
	drain.Description = "Rounds that are open go on, and may land."
	huma.Register(api, drain, f.pausing(true))
	huma.Register(api, operation("resume-target", http.MethodPost, "/v1/targets/resume", "Take rounds and landings of a target again", service.ScopeLand), f.resume)
	state := operation("read-state", http.MethodGet, "/v1/state", "Show what is published of every pending patch", service.ScopeRead)
	state.Description = "The record patchd/state/1, worked out at the present target commit. Its state_digest is the same whatever the order in which the set came to be."
	huma.Register(api, state, f.state)
	huma.Register(api, operation("read-log", http.MethodGet, "/v1/log", "Read a target's ledger", service.ScopeRead), f.log)
	verify := operation("verify-log", http.MethodGet, "/v1/verify", "Walk a target's ledger and check it", service.ScopeRead)
	verify.Description = "Checks that every hash follows from its entry and the one before, that the anchor in the repository belongs to this chain, and that the state shown equals what the entries imply."
	huma.Register(api, verify, f.verify)
	content := operation("read-content", http.MethodGet, "/v1/contents/{digest}", "Read a kept diff or check output, byte for byte", service.ScopeRead)
	content.Responses = map[string]*huma.Response{"200": {Description: "The bytes", Content: map[string]*huma.MediaType{"application/octet-stream": {Schema: &huma.Schema{Type: huma.TypeString, Format: "binary"}}}}}
	huma.Register(api, content, f.content)
}

func (f *face) targets(ctx context.Context, _ *struct{}) (*targetsOutput, error) {
	list, err := f.service.Targets(ctx)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if list == nil {
		list = []service.Target{}
	}
	return &targetsOutput{TargetList{list}}, nil
}

// pausing is pause or drain.
func (f *face) pausing(drain bool) func(context.Context, *Place) (*targetOutput, error) {
	return func(ctx context.Context, in *Place) (*targetOutput, error) {
		if err := f.service.Pause(ctx, credentialOf(ctx), in.Repo, in.ref(), drain); err != nil {
			return nil, f.fail(ctx, err)
		}
		return f.target(ctx, in)
	}
}

func (f *face) resume(ctx context.Context, in *Place) (*targetOutput, error) {
	if err := f.service.Resume(ctx, credentialOf(ctx), in.Repo, in.ref()); err != nil {
		return nil, f.fail(ctx, err)
	}
	return f.target(ctx, in)
}

// target is the one that a request means, which the service has found already.
func (f *face) target(ctx context.Context, in *Place) (*targetOutput, error) {
	list, err := f.service.Targets(ctx)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	for _, t := range list {
		if (in.Repo == "" || t.Repo == in.Repo) && (in.Target == "" || t.Ref == in.ref()) {
			return &targetOutput{t}, nil
		}
	}
	return nil, problem(http.StatusNotFound, string(service.ErrNotFound), "target", "the target is gone", "see /v1/targets")
}

func (f *face) state(ctx context.Context, in *Place) (*stateOutput, error) {
	s, err := f.service.State(ctx, in.Repo, in.ref())
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &stateOutput{s}, nil
}

func (f *face) log(ctx context.Context, in *logInput) (*logOutput, error) {
	entries, err := f.service.Log(ctx, in.Repo, in.ref(), in.From, in.Limit)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	out := EntryList{Entries: entries}
	if entries == nil {
		out.Entries = []service.Entry{}
	}
	if len(entries) == in.Limit {
		out.Next = entries[len(entries)-1].Seq + 1
	}
	return &logOutput{out}, nil
}

func (f *face) verify(ctx context.Context, in *Place) (*verifyOutput, error) {
	v, err := f.service.Verify(ctx, in.Repo, in.ref())
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &verifyOutput{v}, nil
}

// content sends kept bytes so that a browser saves and never shows them: a check's output may hold anything.
func (f *face) content(ctx context.Context, in *contentInput) (*contentOutput, error) {
	body, err := f.service.Content(ctx, coordinator.Digest(in.Digest))
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &contentOutput{"application/octet-stream", "attachment", body}, nil
}
