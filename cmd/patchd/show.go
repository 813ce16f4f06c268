package main

import (
	"context"
	"io"

	"patchd/coordinator/service"
)

type showCmd struct {
	placeFlags
	ID string `arg:"" help:"Identity, a unique beginning of one (7 digits or more), patch_id or submission id."`
}

// Help shows examples.
func (*showCmd) Help() string {
	return "Examples:\n  patchd show p-204\n  patchd show 3fa9c1b07d24 --json"
}

// Run shows one patch with its decision.
func (s *showCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Patch(ctx, s.place(), s.ID)
	if err != nil {
		return err
	}
	return a.emit(p, func(w io.Writer) { renderPatch(w, p) })
}

// renderPatch writes a patch for people.
func renderPatch(w io.Writer, p *service.Patch) {
	line(w, "patch      %s (%s)", labels(p.PatchIDs), p.Identity)
	if p.Title != "" {
		line(w, "title      %s", p.Title)
	}
	line(w, "target     %s of %s", p.Target, p.Repo)
	line(w, "state      %s", p.State)
	if p.Problem != "" {
		line(w, "problem    %s", p.Problem)
	}
	switch {
	case p.Decision == nil && p.Outcome != "":
		line(w, "outcome    %s %s", p.Outcome, codes(p.Codes))
	case p.Decision != nil && p.Outcome != p.Decision.Outcome && p.Outcome != "":
		line(w, "published  %s%s: by itself the patch is what follows, among the pending ones it is this", p.Outcome, inParentheses(codes(p.Codes)))
	}
	renderSet(w, p)
	if p.Version > 0 {
		line(w, "version    %d", p.Version)
	}
	if p.Decision != nil {
		renderDecision(w, p.Decision)
	}
	if p.Merge != nil {
		renderMerge(w, p.Merge, "")
	}
}
