package coordinator

import (
	"context"
	"errors"
	"fmt"

	"patchd/ownership"
	"patchd/ownership/symbols"
	"patchd/worktree"
)

// byLines is the outliner of an engine that has none: every file is judged by its lines.
type byLines struct{}

// Outlines implements symbols.Outliner.
func (byLines) Outlines(_ context.Context, files []symbols.Request) ([]symbols.Result, error) {
	out := make([]symbols.Result, len(files))
	for i := range out {
		out[i].Why = symbols.WhyNoGrammar
	}
	return out, nil
}

// checkOwnedHunks derives the footprint of the patch at its base and holds the manifest's claims against it.
func (p *planner) checkOwnedHunks(ctx context.Context) error {
	var touches []ownership.Touch
	for i := range p.side.Files {
		t, err := p.touch(ctx, &p.side.Files[i])
		if err != nil {
			return err
		}
		touches = append(touches, t)
	}
	names, err := ownership.NamesOf(ctx, p.engine.outlines, touches)
	if err != nil {
		return fmt.Errorf("read names: %w", err)
	}
	p.out.names = names
	claim, err := ownership.Own(ctx, p.engine.outlines, touches, p.declared())
	var broken *ownership.HunkError
	if errors.As(err, &broken) {
		return &Refusal{
			Code: Code(broken.Code), Path: broken.Path, Line: broken.Line, Field: "/owned_hunks", Value: broken.Value,
			Message: broken.Error(), Hint: "declare the lines at the base that the diff edits, or leave the path's hunks out: they are derived",
		}
	}
	if err != nil {
		return fmt.Errorf("derive owned hunks: %w", err)
	}
	d := &p.out.Decision
	for _, f := range claim.Footprint {
		d.Patch.Footprint = append(d.Patch.Footprint, Footprint{Path: f.Path, Op: f.Op, Start: f.Start, End: f.End, Symbol: f.Symbol})
	}
	for _, g := range claim.Degraded {
		d.Degraded = append(d.Degraded, Degraded{Path: g.Path, Why: string(g.Why)})
	}
	return nil
}

func (p *planner) declared() []ownership.Hunk {
	var out []ownership.Hunk
	for _, h := range sortedHunks(p.manifest.OwnedHunks) {
		out = append(out, ownership.Hunk{Path: h.Path, Start: h.Start, End: h.End, Symbol: h.Symbol})
	}
	return out
}

// touch is one file of the patch as ownership sees it.
func (p *planner) touch(ctx context.Context, f *worktree.FileChange) (ownership.Touch, error) {
	t := ownership.Touch{Op: operation(f), Edits: ownEdits(f.Edits)}
	var err error
	if t.Base, err = versionOf(ctx, p.objects, f.Src, f.Old, f.Text); err != nil {
		return t, err
	}
	t.Result, err = versionOf(ctx, p.objects, f.Dst, f.New, f.Text)
	return t, err
}

// operation names what a change does to a file.
func operation(f *worktree.FileChange) string {
	switch {
	case f.Src == "":
		return "add"
	case f.Dst == "":
		return "delete"
	case f.IsRename():
		return "rename"
	case f.Old.OID == f.New.OID:
		return "mode"
	}
	return "modify"
}
