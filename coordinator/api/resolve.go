package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// ResolveBody is what somebody does with an open record, and why.
type ResolveBody struct {
	Action          string   `json:"action" doc:"accept: the mechanical merge, a command without a verdict, or a contended pair together; choose: this patch goes ahead, those that it contends with stay; approve: for owner rules; reject: for good; reopen: decide again what landed and was taken back; comment" enum:"accept,choose,approve,reject,reopen,comment,submit"`
	Why             string   `json:"why" doc:"kept in the record with your name" minLength:"1" maxLength:"10000"`
	ExpectedVersion int64    `json:"expected_version,omitempty" doc:"the version of the patch that you looked at; a record that has changed since is refused with 409" minimum:"0"`
	With            []string `json:"with,omitempty" doc:"the other patches: those that stay (choose), the other of a pair (accept)" maxItems:"100"`
	Command         string   `json:"command,omitempty" doc:"accept: the command without a verdict" maxLength:"10000"`
	Tree            string   `json:"tree,omitempty" doc:"accept: the result tree that you looked at" maxLength:"64"`
}

type resolveInput struct {
	Place
	Key  string `path:"key" doc:"identity, a unique beginning of one (7 digits or more), patch_id or submission id" maxLength:"128"`
	Body ResolveBody
}

type mergeInput struct {
	Place
	Key  string `path:"key" doc:"identity, a unique beginning of one (7 digits or more), patch_id or submission id" maxLength:"128"`
	With string `query:"with" doc:"the pending patch to merge with; left out: the target, or else the first patch that this one contends with" maxLength:"128"`
}

type mergeOutput struct{ Body *service.MergeCandidate }

func (f *face) registerResolve(api huma.API) {
	resolve := operation("resolve-patch", http.MethodPost, "/v1/patches/{key}/resolve", "Resolve an open record", service.ScopeResolve)
	resolve.Description = "A guarded ledger entry with who and why. It holds wherever the same case comes back, and nowhere else. 409 where the record changed since it was read, or nothing is open for the action."
	huma.Register(api, resolve, f.resolve)
	merge := operation("merge-patch", http.MethodGet, "/v1/patches/{key}/merge", "Show a conflict's merge candidate", service.ScopeRead)
	merge.Description = "A diff3 merge of a textual or structural conflict at the present target commit, \"ours\" the patch and \"theirs\" the target or the other patch. It is never published by itself: look at it, then submit with base_commit = publish_at_version and supersedes."
	huma.Register(api, merge, f.merge)
}

func (f *face) resolve(ctx context.Context, in *resolveInput) (*patchOutput, error) {
	tree, err := optionalOID(in.Body.Tree)
	if err != nil {
		return nil, err
	}
	p, err := f.service.Resolve(ctx, service.ResolveRequest{
		By: credentialOf(ctx), Repo: in.Repo, Target: in.ref(), Key: in.Key, Action: coordinator.Action(in.Body.Action), ExpectedVersion: in.Body.ExpectedVersion,
		With: in.Body.With, Command: in.Body.Command, Tree: tree, Why: in.Body.Why,
	})
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &patchOutput{p}, nil
}

// optionalOID reads an object id that may be left out.
func optionalOID(text string) (git.OID, error) {
	if text == "" {
		return "", nil
	}
	id, err := git.ParseOID(text)
	if err != nil {
		return "", problem(http.StatusUnprocessableEntity, string(service.ErrInvalid), "tree", quoted(text)+" is not a full object id", "take it from the merge candidate")
	}
	return id, nil
}

func (f *face) merge(ctx context.Context, in *mergeInput) (*mergeOutput, error) {
	m, err := f.service.MergeCandidate(ctx, in.Repo, in.ref(), in.Key, in.With)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &mergeOutput{m}, nil
}
