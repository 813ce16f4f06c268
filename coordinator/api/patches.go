package api

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

// maxWait bounds one long poll; a client that wants to wait longer asks again.
const maxWait = 60 * time.Second

// SubmitBody is what POST /v1/patches takes. Diff is decisive to the byte and therefore travels as base64. Manifest is the
// JSON document itself, or a string that holds it.
type SubmitBody struct {
	Repo     string          `json:"repo,omitempty" doc:"name of the repository; may be left out where one is served or the manifest names it" maxLength:"256"`
	Manifest json.RawMessage `json:"manifest" doc:"the manifest: an object, or a string that holds the document"`
	Diff     Base64          `json:"diff" doc:"the exact bytes of the diff, in base64"`
	RetryOf  int64           `json:"retry_of,omitempty" doc:"the attempt that this one repeats" minimum:"0"`
	Tool     string          `json:"tool,omitempty" doc:"what sends this; operational only" maxLength:"100"`
}

// Base64 is bytes that JSON carries as base64 (RFC 4648, padded); there may be none.
type Base64 []byte

// Schema describes the text; the framework's own check would refuse the empty one.
func (Base64) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString, Description: "base64, padded"}
	s.PrecomputeMessages()
	return s
}

type submitInput struct{ Body SubmitBody }

type receiptOutput struct {
	Status int
	Body   *service.Receipt
}

type patchOutput struct{ Body *service.Patch }

type keyInput struct {
	Place
	Key string `path:"key" doc:"identity, a unique beginning of one (7 digits or more), patch_id or submission id" maxLength:"128"`
}

type waitInput struct {
	Place
	Key     string `path:"key" doc:"identity, a unique beginning of one (7 digits or more), patch_id or submission id" maxLength:"128"`
	Timeout string `query:"timeout" doc:"how long to wait, as Go writes durations; at most 1m" default:"30s" example:"10s" maxLength:"20"`
}

type withdrawInput struct {
	Place
	Key  string `path:"key" doc:"identity, a unique beginning of one (7 digits or more), patch_id or submission id" maxLength:"128"`
	Body struct {
		Why string `json:"why,omitempty" doc:"for the record" maxLength:"10000"`
	}
}

type listInput struct {
	Place
	Outcome string `query:"outcome" doc:"only those decided so" enum:"candidate,conflict,waiting,rejected"`
	State   string `query:"state" doc:"only those in this state" enum:"deciding,decided,landed,withdrawn,rejected,superseded"`
	Cursor  string `query:"cursor" doc:"the next of the page before" maxLength:"512"`
	Limit   int    `query:"limit" doc:"patches on a page" minimum:"1" maximum:"500" default:"100"`
}

type pageOutput struct{ Body *service.Page }

func (f *face) registerPatches(api huma.API) {
	submit := operation("submit-patch", http.MethodPost, "/v1/patches", "Hand in a patch", service.ScopeSubmit)
	submit.Description = "Answers once the submission is recorded: 202 while its decision is under way, 200 when it is known. " +
		"An attempt that is refused (digest_mismatch, manifest_malformed: 422; request_key_conflict: 409) is recorded too: the problem carries its receipt. " +
		"The same client_request_id with the same content gives the recorded answer."
	submit.MaxBodyBytes, submit.BodyReadTimeout = maxSubmitBody, time.Minute
	submit.DefaultStatus = http.StatusAccepted
	huma.Register(api, submit, f.submit)
	huma.Register(api, operation("list-patches", http.MethodGet, "/v1/patches", "List patches", service.ScopeRead), f.list)
	huma.Register(api, operation("show-patch", http.MethodGet, "/v1/patches/{key}", "Show a patch and its decision", service.ScopeRead), f.show)
	wait := operation("wait-patch", http.MethodGet, "/v1/patches/{key}/wait", "Wait until a patch is decided at the present target commit", service.ScopeRead)
	wait.Description = "Answers with the patch as soon as it is decided, or after the time-out with state deciding."
	huma.Register(api, wait, f.wait)
	huma.Register(api, operation("withdraw-patch", http.MethodPost, "/v1/patches/{key}/withdraw", "Withdraw a patch", service.ScopeSubmit), f.withdraw)
}

func (f *face) submit(ctx context.Context, in *submitInput) (*receiptOutput, error) {
	manifest, err := manifestBytes(in.Body.Manifest)
	if err != nil {
		return nil, err
	}
	tool := in.Body.Tool
	if tool == "" {
		tool = "http"
	}
	receipt, err := f.service.Submit(ctx, service.Submission{
		Credential: credentialOf(ctx), Repo: in.Body.Repo, Manifest: manifest, Diff: in.Body.Diff, Tool: tool, RetryOf: in.Body.RetryOf,
	})
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if receipt.Refused != nil {
		return nil, refused(receipt)
	}
	status := http.StatusAccepted
	if receipt.Outcome != "" {
		status = http.StatusOK
	}
	return &receiptOutput{Status: status, Body: receipt}, nil
}

// manifestBytes unwraps a manifest that was sent as a string; the document itself is parsed by the protocol, strictly.
func manifestBytes(raw json.RawMessage) ([]byte, error) {
	if len(raw) == 0 || raw[0] != '"' {
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, problem(http.StatusUnprocessableEntity, string(coordinator.CodeManifestMalformed), "manifest", err.Error(), "send the manifest as an object")
	}
	return []byte(text), nil
}

func (f *face) list(ctx context.Context, in *listInput) (*pageOutput, error) {
	page, err := f.service.Patches(ctx, service.Filter{
		Repo: in.Repo, Target: in.ref(), Outcome: coordinator.Outcome(in.Outcome), State: service.PatchState(in.State), Cursor: in.Cursor, Limit: in.Limit,
	})
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if page.Patches == nil {
		page.Patches = []service.Patch{}
	}
	return &pageOutput{page}, nil
}

func (f *face) show(ctx context.Context, in *keyInput) (*patchOutput, error) {
	p, err := f.service.Patch(ctx, in.Repo, in.ref(), in.Key)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &patchOutput{p}, nil
}

func (f *face) wait(ctx context.Context, in *waitInput) (*patchOutput, error) {
	timeout, err := waitTime(in.Timeout)
	if err != nil {
		return nil, err
	}
	p, err := f.service.Patch(ctx, in.Repo, in.ref(), in.Key)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	if p.State != service.StateDeciding {
		return &patchOutput{p}, nil
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	decided, err := f.service.Wait(limited, p.Repo, p.Target, p.Identity)
	switch {
	case err == nil:
		return &patchOutput{decided}, nil
	case limited.Err() != nil && ctx.Err() == nil:
		return f.show(ctx, &keyInput{Place{p.Repo, string(p.Target)}, string(p.Identity)})
	}
	return nil, f.fail(ctx, err)
}

func (f *face) withdraw(ctx context.Context, in *withdrawInput) (*patchOutput, error) {
	p, err := f.service.Withdraw(ctx, credentialOf(ctx), in.Repo, in.ref(), in.Key, in.Body.Why)
	if err != nil {
		return nil, f.fail(ctx, err)
	}
	return &patchOutput{p}, nil
}
