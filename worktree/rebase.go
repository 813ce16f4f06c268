package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"patchd/worktree/git"
)

// RebaseInput is one patch and the target that it is to stand on.
type RebaseInput struct {
	Overlay *git.Overlay // the patch's objects, over the repository; receives the result's
	Merger  Merger       // git's second opinion
	Patch   *Side        // what the patch does to the base's tree
	Since   *Since       // what happened to the target since the base
	Rules   Rules        // the target's
}

// Result is a patch rebased onto its target, or what stands in the way.
type Result struct {
	Reasons []Reason // sorted; empty for a clean rebase
	// Tree is the patch on top of the target. It is empty when some file does not merge without markers.
	Tree          git.OID
	AlreadyLanded bool     // the target has every edit of the patch already
	Shared        []string // paths that both sides touch, sorted
	Target        *Side    // the since-base change as far as the patch meets it
	Files         []MergeFile
	AskedGit      bool
	comparison    *Comparison
}

// HasMarkers reports whether some file of the mechanical merge needs a person's hand.
func (r *Result) HasMarkers() bool {
	return slices.ContainsFunc(r.Files, func(f MergeFile) bool { return f.HasMarkers })
}

// Rebase puts a patch onto its target by simultaneous application: edits that lie apart are applied to the base
// at once, paths that one side alone touches are taken over as tree entries, and git is asked for its opinion,
// in one process, when both sides touch a path. Reasons name what a person must look at; every path with a
// reason has its mechanical merge. An object that is missing is an error, never a decision.
func Rebase(ctx context.Context, in RebaseInput) (*Result, error) {
	target, err := in.Since.SideFor(ctx, in.Overlay, in.Patch)
	if err != nil {
		return nil, fmt.Errorf("rebase: %w", err)
	}
	return RebaseSides(ctx, SidesInput{Overlay: in.Overlay, Merger: in.Merger, Patch: in.Patch, Target: target, Rules: in.Rules})
}

// SidesInput is two sides of one base tree, of which the patch is to stand on the target.
type SidesInput struct {
	Overlay *git.Overlay
	Merger  Merger // nil: git is not asked
	Patch   *Side
	Target  *Side
	Rules   Rules
}

// RebaseSides is Rebase for a target whose change is known as a side.
func RebaseSides(ctx context.Context, in SidesInput) (*Result, error) {
	target := in.Target
	c, err := Compare(ctx, in.Overlay, in.Patch, target, in.Rules)
	if err != nil {
		return nil, fmt.Errorf("rebase: %w", err)
	}
	out := &Result{Shared: c.Shared, Target: target, comparison: c}
	taken, err := occupied(ctx, in.Overlay, in.Patch, target.Result)
	if err != nil {
		return nil, fmt.Errorf("rebase: %w", err)
	}
	c.Reasons = sortReasons(append(c.Reasons, taken...))
	tree, err := c.onto(ctx, in.Overlay, target.Result)
	var collision *git.CollisionError
	if errors.As(err, &collision) {
		c.Reasons = sortReasons(append(c.Reasons, Reason{Code: AddAdd, Path: collision.Path, Detail: "a file would stand where a directory is"}))
	} else if err != nil {
		return nil, fmt.Errorf("rebase: %w", err)
	}
	out.Reasons = c.Reasons
	if tree != "" && in.Merger != nil && c.NeedsOpinion() {
		opinion, err := Opinion(ctx, in.Merger, in.Overlay, c, in.Patch, target, tree)
		if err != nil {
			return nil, fmt.Errorf("rebase: %w", err)
		}
		out.AskedGit = true
		out.Reasons = sortReasons(append(out.Reasons, opinion...))
	}
	if c.merges() && tree != "" {
		out.Tree = tree
		out.AlreadyLanded = tree == target.Result && len(out.Reasons) == 0
	}
	if out.Files, err = mechanical(ctx, in.Overlay, out.Reasons, c, in.Patch, tree); err != nil {
		return nil, fmt.Errorf("rebase: %w", err)
	}
	return out, nil
}

// occupied finds what in the target's tree the patch's created paths collide with.
func occupied(ctx context.Context, r git.Reader, patch *Side, tree git.OID) ([]Reason, error) {
	removed := patch.removes()
	var out []Reason
	for _, path := range patch.created() {
		other, err := Collision(ctx, r, tree, path, func(p string) bool { return removed[p] })
		if err != nil {
			return nil, err
		}
		if other != "" {
			first, second := min(other, path), max(other, path)
			out = append(out, Reason{Code: AddAdd, Path: first, Detail: fmt.Sprintf("%q and %q cannot stand side by side", first, second)})
		}
	}
	return out, nil
}

// onto writes what the left side makes of the right side's result. Files that cannot be composed stay as the
// right side has them, and so does everything that stands in their way.
func (c *Comparison) onto(ctx context.Context, ov *git.Overlay, right git.OID) (git.OID, error) {
	var edits []git.TreeEdit
	removed := map[string]bool{}
	colliding := c.collidingPaths()
	for _, m := range c.meetings {
		if m.left == nil || m.blocked() || colliding[m.left.Dst] {
			continue
		}
		if m.write {
			m.entry.OID = ov.PutBlob(m.result())
			m.write = false
		}
		for _, path := range m.paths() {
			if path != m.dst {
				removed[path] = true
			}
		}
		if m.dst != "" {
			edits = append(edits, git.TreeEdit{Path: m.dst, Entry: m.entry})
		}
	}
	return splice(ctx, ov, right, edits, removed)
}

// collidingPaths gives the created paths that an add_add reason leaves without a place.
func (c *Comparison) collidingPaths() map[string]bool {
	out := map[string]bool{}
	for _, r := range c.Reasons {
		if r.Code != AddAdd {
			continue
		}
		for _, m := range c.meetings {
			if m.left != nil && m.left.Dst != "" && m.left.Dst != m.left.Src && nearPath(m.left.Dst, r.Path) {
				out[m.left.Dst] = true
			}
		}
	}
	return out
}

// nearPath reports whether a folded path is the other, or one lies below the other.
func nearPath(a, b string) bool {
	a, b = FoldPath(a)+"/", FoldPath(b)+"/"
	return len(a) >= len(b) && a[:len(b)] == b || len(b) > len(a) && b[:len(a)] == a
}
