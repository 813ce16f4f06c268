package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"patchd/worktree/diff"
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
	var contacts []Contact
	for _, p := range SharingPairs(sides) {
		c, err := Compare(ctx, ov, sides[p[0]], sides[p[1]], rules)
		if err != nil {
			return "", nil, err
		}
		if len(c.Reasons) > 0 {
			contacts = append(contacts, Contact{Left: p[0], Right: p[1], Reasons: c.Reasons})
		}
	}
	if len(contacts) > 0 {
		return "", contacts, nil
	}
	groups := map[string][]*FileChange{}
	for _, side := range sides {
		for i := range side.Files {
			f := &side.Files[i]
			groups[f.key()] = append(groups[f.key()], f)
		}
	}
	var edits []git.TreeEdit
	removed := map[string]bool{}
	for _, key := range sortedKeys(groups) {
		f, err := joinFile(ov, groups[key], rules)
		if err != nil {
			return "", nil, err
		}
		if f.Src != "" && f.Src != f.Dst {
			removed[f.Src] = true
		}
		if f.Dst != "" {
			edits = append(edits, git.TreeEdit{Path: f.Dst, Entry: f.New})
		}
	}
	tree, err := splice(ctx, ov, base, edits, removed)
	return tree, nil, err
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

// joinFile makes one change of several sides' changes of one file, which lie apart.
func joinFile(ov *git.Overlay, group []*FileChange, rules Rules) (FileChange, error) {
	f := *group[0]
	if len(group) == 1 {
		return f, nil
	}
	var texts []*FileChange
	for _, g := range group {
		if g.Dst != g.Src {
			f.Dst = g.Dst
		}
		if g.New.Mode != g.Old.Mode {
			f.New.Mode = g.New.Mode
		}
		if g.New.OID != g.Old.OID && !slices.ContainsFunc(texts, func(t *FileChange) bool { return t.New.OID == g.New.OID }) {
			texts = append(texts, g)
		}
	}
	switch {
	case len(texts) == 1:
		f.New.OID = texts[0].New.OID
	case len(texts) > 1:
		if slices.ContainsFunc(texts, func(t *FileChange) bool { return !t.Text }) {
			return f, fmt.Errorf("compose %q: %w", f.Path(), errMeet)
		}
		lines, err := joinLines(texts, rules.union(f.Src))
		if err != nil {
			return f, fmt.Errorf("compose %q: %w", f.Path(), err)
		}
		f.New.OID = ov.PutBlob(diff.Join(lines))
	}
	return f, nil
}

// joinLines applies several sides' edits of one file at once.
func joinLines(texts []*FileChange, union bool) ([][]byte, error) {
	base := texts[0].Base
	sides := make([][]sideEdit, len(texts))
	for i, t := range texts {
		sides[i] = describe(base, t.Edits, t.Edits, union)
	}
	for i := range sides {
		for j := range sides[:i] {
			contacts(sides[i], sides[j], union) // marks what stands side by side; meetings were judged in pairs
		}
	}
	edits := joinEdits(nil, sides...)
	for i := 1; i < len(edits); i++ {
		if edits[i].Start < edits[i-1].End {
			return nil, errMeet
		}
	}
	return diff.Apply(base, edits), nil
}

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
