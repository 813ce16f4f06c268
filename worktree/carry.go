package worktree

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// Carry gives a rebased patch as a side of its target: the patch's edits carried through the since-base edits.
// What the target has already is left out. It may be asked for only when rebased.Tree is set.
func Carry(ctx context.Context, ov *git.Overlay, rebased *Result) (*Side, error) {
	out := &Side{Base: rebased.Target.Result, Result: rebased.Tree}
	for _, m := range rebased.comparison.meetings {
		if m.left == nil {
			continue
		}
		f, changed, err := m.carry(ctx, ov)
		if err != nil {
			return nil, fmt.Errorf("carry patch: %w", err)
		}
		if changed {
			out.Files = append(out.Files, f)
			out.adds = out.adds || f.Src == ""
		}
	}
	slices.SortFunc(out.Files, func(a, b FileChange) int { return strings.Compare(a.Path(), b.Path()) })
	return out, nil
}

// carry gives one file's change in the target's terms; changed is false when the target has it already.
func (m *meeting) carry(ctx context.Context, ov *git.Overlay) (f FileChange, changed bool, err error) {
	if m.right == nil {
		return *m.left, true, nil
	}
	f = FileChange{Src: m.right.Dst, Dst: m.dst, Old: m.right.New, New: m.entry}
	if f.Src == f.Dst && f.Old == f.New {
		return f, false, nil
	}
	if m.lines == nil {
		return f, true, load(ctx, ov, &f)
	}
	f.Loaded = true
	if f.Base, f.Text, err = textOf(ctx, ov, f.Old); err != nil {
		return f, false, err
	}
	f.Edits = diff.Canonical(f.Base, m.lines.carried)
	return f, true, nil
}
