package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"patchd/worktree/git"
)

// Contact says that two of the composed sides do not compose without a person.
type Contact struct {
	Left, Right int // indices of the sides
	Reasons     []Reason
}

// Compose applies all sides to their common base tree at once. The sides must lie apart in pairs: those that do
// not are given back as contacts, and then there is no tree. The result mentions no order: any permutation of
// the sides gives the same tree. Git's opinion is not asked (see Opinion). New objects go to ov.
func Compose(ctx context.Context, ov *git.Overlay, base git.OID, sides []*Side, rules Rules) (git.OID, []Contact, error) {
	trees, contacts, err := ComposeChain(ctx, ov, base, sides, rules)
	switch {
	case err != nil || len(contacts) > 0:
		return "", contacts, err
	case len(trees) == 0:
		return base, nil, nil
	}
	return trees[len(trees)-1], nil, nil
}

// SharingPairs gives the pairs of sides that have a path, a folded path or a directory's place in common: only
// these need to be compared.
func SharingPairs(sides []*Side) [][2]int {
	users := map[string][]int{}
	for i, side := range sides {
		mine := map[string]bool{}
		for _, path := range side.Paths() {
			mine[FoldPath(path)] = true
		}
		for _, path := range side.created() {
			for dir := range parents(path) {
				mine[FoldPath(dir)+"/"] = true
			}
		}
		for j := range side.Files {
			if f := &side.Files[j]; f.IsRename() {
				for dir := range parents(f.Src) {
					mine[FoldPath(dir)+"/"] = true
				}
			}
		}
		for key := range mine {
			users[key] = append(users[key], i)
		}
	}
	return pairsOf(users)
}

// pairsOf gives the sorted pairs of users of any one key; a file's and a directory's use of one name meet too.
func pairsOf(users map[string][]int) [][2]int {
	pairs := map[[2]int]bool{}
	for key, list := range users {
		list = append(slices.Clone(list), users[key+"/"]...)
		for i, a := range list {
			for _, b := range list[:i] {
				if a != b {
					pairs[[2]int{min(a, b), max(a, b)}] = true
				}
			}
		}
	}
	out := make([][2]int, 0, len(pairs))
	for p := range pairs {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
	return out
}

// errMeet says that changes which were compared as apart are not.
var errMeet = errors.New("changes of one file meet")

// splice makes the edits in a tree; a path that is both removed and set is set.
func splice(ctx context.Context, ov *git.Overlay, tree git.OID, edits []git.TreeEdit, removed map[string]bool) (git.OID, error) {
	for _, e := range edits {
		delete(removed, e.Path)
	}
	for _, path := range sortedKeys(removed) {
		edits = append(edits, git.TreeEdit{Path: path})
	}
	out, err := git.EditTree(ctx, ov, tree, edits)
	if err != nil {
		return "", fmt.Errorf("compose trees: %w", err)
	}
	return out, nil
}
