package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"patchd/ownership"
	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// relatedFiles bounds how many files that one side alone touches are read because they may refer to what the other side
// changed (protocol 1).
const relatedFiles = 32

// comparedFiles are the files of one tree that ownership compares: those that both sides change, and of the others those that
// were chosen because they may refer to what the other side changed. Union paths are left out: insertions meet there without a
// person, whatever section they stand in.
func comparedFiles(ctx context.Context, r git.Reader, left, right *worktree.Side, chosen []string, policy *Policy) ([]ownership.File, error) {
	var out []ownership.File
	met := map[string]bool{}
	related := false
	for i := range left.Files {
		ours := &left.Files[i]
		if matchesAny(policy.Merge.Union, ours.Path()) {
			continue
		}
		theirs, both := right.File(ours.Src)
		both = both && ours.Src != "" && theirs.Src == ours.Src
		if !both && !slices.Contains(chosen, ours.Path()) {
			continue
		}
		if both {
			met[ours.Src] = true
		} else {
			theirs = unchanged(ours)
		}
		f, err := sharedFile(ctx, r, ours, theirs)
		if err != nil {
			return nil, err
		}
		out, related = append(out, f), related || both
	}
	for i := range right.Files {
		theirs := &right.Files[i]
		if matchesAny(policy.Merge.Union, theirs.Path()) {
			continue
		}
		if theirs.Src != "" && met[theirs.Src] || !slices.Contains(chosen, theirs.Path()) {
			continue
		}
		f, err := sharedFile(ctx, r, unchanged(theirs), theirs)
		if err != nil {
			return nil, err
		}
		out, related = append(out, f), true
	}
	if !related {
		return nil, nil // one side alone: there is nothing to compare
	}
	return out, nil
}

// unchanged is what a side does to a file that only the other side changes.
func unchanged(f *worktree.FileChange) *worktree.FileChange {
	return &worktree.FileChange{Src: f.Src, Dst: f.Src, Old: f.Old, New: f.Old, Text: f.Text}
}

func sharedFile(ctx context.Context, r git.Reader, ours, theirs *worktree.FileChange) (ownership.File, error) {
	f := ownership.File{LeftEdits: ownEdits(ours.Edits), RightEdits: ownEdits(theirs.Edits)}
	text := ours.Text && theirs.Text
	var err error
	for _, v := range []struct {
		to    **ownership.Version
		path  string
		entry git.Entry
	}{{&f.Base, ours.Src, ours.Old}, {&f.Left, ours.Dst, ours.New}, {&f.Right, theirs.Dst, theirs.New}} {
		if *v.to, err = versionOf(ctx, r, v.path, v.entry, text); err != nil {
			return f, err
		}
	}
	return f, nil
}

// versionOf reads one file for ownership; what is no text has no content to outline.
func versionOf(ctx context.Context, r git.Reader, path string, e git.Entry, text bool) (*ownership.Version, error) {
	if e.IsZero() {
		return nil, nil //nolint:nilnil // ownership's word for "the file does not exist"
	}
	v := &ownership.Version{Path: path, Blob: string(e.OID)}
	if !text || !e.Mode.IsFile() {
		return v, nil
	}
	content, err := r.ReadBlob(ctx, e.OID)
	if err != nil {
		return nil, fmt.Errorf("read %q: %w", path, err)
	}
	v.Text = content
	return v, nil
}

func ownEdits(edits []diff.Edit) []ownership.Edit {
	return ownership.Edits(len(edits), func(i int) (start, end, lines int) { return edits[i].Start, edits[i].End, len(edits[i].New) })
}

// namedPairs gives the pairs of plans of which one defines or removes a name that the other uses or defines too: they can
// overlap without sharing a path. The smaller index stands first.
func namedPairs(plans []*Plan) [][2]int {
	defines, mentions := map[string][]int{}, map[string][]int{}
	for i, p := range plans {
		if p.names == nil {
			continue
		}
		for _, name := range p.names.Defines {
			defines[name] = append(defines[name], i)
		}
		for _, name := range p.names.Uses {
			mentions[name] = append(mentions[name], i)
		}
	}
	pairs := map[[2]int]bool{}
	for name, by := range defines {
		for _, a := range by {
			for _, b := range slices.Concat(by, mentions[name]) {
				if a != b {
					pairs[[2]int{min(a, b), max(a, b)}] = true
				}
			}
		}
	}
	return slices.Collect(maps.Keys(pairs))
}

// invariantPairs gives the pairs of plans that touch one invariant which has no check of its own.
func invariantPairs(plans []*Plan) [][2]int {
	pairs := map[[2]int]bool{}
	for a, p := range plans {
		for b, q := range plans[:a] {
			if len(p.Policy.sharedInvariants(p.Side.Paths(), q.Side.Paths())) > 0 {
				pairs[[2]int{b, a}] = true
			}
		}
	}
	return slices.Collect(maps.Keys(pairs))
}

// nearPairs gives the pairs of plans that have to be compared, ascending, the smaller index first.
func nearPairs(plans []*Plan) [][2]int {
	sides := make([]*worktree.Side, len(plans))
	invariants := false
	for i, p := range plans {
		sides[i] = p.Side
		invariants = invariants || len(p.Policy.Invariants) > 0
	}
	near := slices.Concat(worktree.SharingPairs(sides), namedPairs(plans))
	if invariants {
		near = append(near, invariantPairs(plans)...)
	}
	slices.SortFunc(near, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return slices.Compact(near)
}
