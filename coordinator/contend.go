package coordinator

import (
	"context"
	"fmt"
	"slices"

	"patchd/ownership"
	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// encounter is how two candidates meet; no reasons where they lie apart. Blobs are what the reasons' paths hold when both are
// applied at once, as far as that can be done.
type encounter struct {
	reasons []Reason
	blobs   map[string]git.OID
	coupled []Coupling // evidence that their edits can reach each other
}

// meeter is one of two patches that are compared: its edits of a tree, and the lines of it that it declares as its own.
type meeter struct {
	side  *worktree.Side
	owned []ownership.Hunk
}

// meeterOn gives a plan's edits and claims in the terms of another tree.
func (e *Engine) meeterOn(ctx context.Context, ov *git.Overlay, p *Plan, tree git.OID, rules worktree.Rules) (meeter, error) {
	if p.Side.Base == tree {
		return meeter{p.Side, p.owned}, nil
	}
	change, err := worktree.NewSide(ctx, ov, p.Side.Base, tree)
	if err != nil {
		return meeter{}, err
	}
	side, err := carryThrough(ctx, ov, p.Side, change, rules)
	return meeter{side, carryHunks(p.owned, change)}, err
}

// meeting is the comparison of two candidates in the coordinates of the target composed with all that either depends on. It
// is symmetric: its reasons carry no other side.
type meeting struct {
	engine      *Engine
	ov          *git.Overlay
	merger      worktree.Merger
	rules       worktree.Rules
	policy      *Policy
	left, right meeter
	lines       *worktree.Comparison
}

func (e *Engine) newMeeting(ctx context.Context, target git.OID, x planPair) (*meeting, error) {
	commit, err := e.repo.ReadCommit(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("read target: %w", err)
	}
	ov := git.NewOverlay(e.repo)
	for _, p := range []*Plan{x.p, x.q} {
		ov.Adopt(p.Objects)
	}
	m := &meeting{engine: e, ov: ov, rules: e.rulesOf(commit.Tree, x.p.Policy), policy: x.p.Policy}
	g, err := e.groundOn(ctx, ov, commit, x.between, m.rules)
	if err != nil {
		return nil, err
	}
	if m.left, err = e.meeterOn(ctx, ov, x.p, g.tip.Tree, m.rules); err != nil {
		return nil, err
	}
	if m.right, err = e.meeterOn(ctx, ov, x.q, g.tip.Tree, m.rules); err != nil {
		return nil, err
	}
	m.lines, err = worktree.Compare(ctx, ov, m.left.side, m.right.side, m.rules)
	return m, err
}

// compare finds what speaks against the two going together: lines, with git's second opinion both ways round where a path is
// shared, and symbols.
func (m *meeting) compare(ctx context.Context) (*encounter, error) {
	lines, err := lineReasons(m.lines.Reasons)
	if err != nil {
		return nil, err
	}
	structural, coupled, err := m.structural(ctx)
	if err != nil {
		return nil, err
	}
	shared := m.policy.sharedInvariants(m.left.side.Paths(), m.right.side.Paths())
	out := sortedReasons(slices.Concat(lines, structural, shared))
	if !m.lines.NeedsOpinion() && (len(out) == 0 || !Composable(codesOf(out))) {
		return &encounter{reasons: out, coupled: coupled}, nil
	}
	tree, opinion, err := m.bothWays(ctx)
	if err != nil {
		return nil, err
	}
	found := &encounter{reasons: sortedReasons(append(out, opinion...)), coupled: coupled}
	found.blobs, err = blobsAt(ctx, m.ov, tree, found.reasons)
	return found, err
}

// bothWays puts each of the two on the other: it gives what comes of it, and what git has to say against it.
func (m *meeting) bothWays(ctx context.Context) (git.OID, []Reason, error) {
	there, err := m.rebase(ctx, m.left.side, m.right.side)
	if err != nil {
		return "", nil, err
	}
	back, err := m.rebase(ctx, m.right.side, m.left.side)
	if err != nil {
		return "", nil, err
	}
	out, err := lineReasons(slices.Concat(there.Reasons, back.Reasons))
	if err != nil {
		return "", nil, err
	}
	if there.Tree != back.Tree && there.Tree != "" && back.Tree != "" {
		differing, err := git.DiffTrees(ctx, m.ov, there.Tree, back.Tree)
		if err != nil {
			return "", nil, fmt.Errorf("compare the two ways round: %w", err)
		}
		for _, d := range differing {
			out = append(out, Reason{Class: ClassStructural, Code: CodePlacementAmbiguous, Path: d.Path})
		}
	}
	return there.Tree, out, nil
}

func codesOf(reasons []Reason) []Code {
	out := make([]Code, len(reasons))
	for i, r := range reasons {
		out[i] = r.Code
	}
	return out
}

func (m *meeting) rebase(ctx context.Context, patch, onto *worktree.Side) (*worktree.Result, error) {
	return worktree.RebaseSides(ctx, worktree.SidesInput{Overlay: m.ov, Merger: m.merger, Patch: patch, Target: onto, Rules: m.rules})
}

// lineReasons are what lines and file operations show, without the lines of either side, which are the other's from there.
func lineReasons(reasons []worktree.Reason) ([]Reason, error) {
	var out []Reason
	for _, x := range reasons {
		class, err := ClassOf(Code(x.Code))
		if err != nil {
			return nil, err
		}
		out = append(out, Reason{Class: class, Code: Code(x.Code), Path: x.Path, BaseLines: lineRange(x.BaseLines)})
	}
	return out, nil
}

func (m *meeting) structural(ctx context.Context) ([]Reason, []Coupling, error) {
	in := ownership.Input{
		LeftName: "one patch", RightName: "the other", LeftOwned: m.left.owned, RightOwned: m.right.owned,
		SameSymbol: ownership.SameSymbol(m.policy.Ownership.SameSymbol), ReviewCoupled: m.policy.Ownership.Coupled == "review",
	}
	var err error
	chosen := m.engine.loading.Files(m.left.side.Paths(), m.right.side.Paths(), relatedFiles)
	if in.Files, err = comparedFiles(ctx, m.ov, m.left.side, m.right.side, chosen, m.policy); err != nil || len(in.Files) == 0 {
		return nil, nil, err
	}
	found, err := ownership.Classify(ctx, m.engine.outlines, in)
	if err != nil {
		return nil, nil, fmt.Errorf("compare symbols: %w", err)
	}
	var out []Reason
	for _, x := range found.Reasons {
		class, err := ClassOf(Code(x.Code))
		if err != nil {
			return nil, nil, err
		}
		out = append(out, Reason{Class: class, Code: Code(x.Code), Path: x.Path, Symbol: x.Symbol, BaseLines: lineRange(x.BaseLines)})
	}
	var coupled []Coupling
	for _, x := range found.Coupled {
		coupled = append(coupled, Coupling{Path: x.Path, Symbol: x.Symbol, BaseLines: lineRange(x.BaseLines)})
	}
	return out, coupled, nil
}

// carryHunks gives lines that were declared at one tree as lines of what a change makes of it.
func carryHunks(hunks []ownership.Hunk, change *worktree.Side) []ownership.Hunk {
	var out []ownership.Hunk
	for _, h := range hunks {
		f, changed := change.File(h.Path)
		if changed && f.Src == h.Path {
			if f.Dst == "" {
				continue
			}
			h.Path = f.Dst
			h.Start, h.End = carryLines(h.Start, h.End, f.Edits)
		}
		if h.Start <= h.End {
			out = append(out, h)
		}
	}
	return out
}

// carryLines gives the lines, 1-based and inclusive, that stand where start to end stood before the edits.
func carryLines(start, end int, edits []diff.Edit) (from, to int) {
	from, to = start, end
	for _, e := range edits {
		grow := len(e.New) - (e.End - e.Start)
		if e.End < start {
			from += grow
		}
		if e.Start < end {
			to += grow
		}
	}
	return from, to
}
