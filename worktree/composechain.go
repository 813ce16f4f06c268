package worktree

import (
	"context"
	"fmt"
	"slices"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// ComposeChain is Compose for each beginning of a list of sides: the trees of the first side, of the first two, and so on. The
// last tree mentions no order; those before mention only which sides are in them. No sides give no trees.
func ComposeChain(ctx context.Context, ov *git.Overlay, base git.OID, sides []*Side, rules Rules) ([]git.OID, []Contact, error) {
	contacts, err := meetings(ctx, ov, sides, rules)
	if err != nil || len(contacts) > 0 {
		return nil, contacts, err
	}
	c := &chain{ov: ov, rules: rules, tree: base, files: map[string]*joinedFile{}, set: map[string]bool{}}
	trees := make([]git.OID, len(sides))
	for i, side := range sides {
		if err := c.add(ctx, side); err != nil {
			return nil, nil, err
		}
		trees[i] = c.tree
	}
	return trees, nil, nil
}

// meetings compares the sides in pairs and gives those that do not lie apart.
func meetings(ctx context.Context, ov *git.Overlay, sides []*Side, rules Rules) ([]Contact, error) {
	var out []Contact
	for _, p := range SharingPairs(sides) {
		c, err := Compare(ctx, ov, sides[p[0]], sides[p[1]], rules)
		if err != nil {
			return nil, err
		}
		if len(c.Reasons) > 0 {
			out = append(out, Contact{Left: p[0], Right: p[1], Reasons: c.Reasons})
		}
	}
	return out, nil
}

// chain is a tree to which sides are added that lie apart from all that are in it.
type chain struct {
	ov    *git.Overlay
	rules Rules
	tree  git.OID
	files map[string]*joinedFile // by FileChange.key
	set   map[string]bool        // paths at which some side has put a file
}

// add applies one more side to the tree.
func (c *chain) add(ctx context.Context, side *Side) error {
	var edits []git.TreeEdit
	removed := map[string]bool{}
	for i := range side.Files {
		f := &side.Files[i]
		joined := c.files[f.key()]
		if joined == nil {
			joined = &joinedFile{change: *f, union: c.rules.union(f.Src)}
			c.files[f.key()] = joined
		}
		if err := joined.add(c.ov, f); err != nil {
			return fmt.Errorf("compose %q: %w", f.Path(), err)
		}
		if now := &joined.change; now.Dst != "" {
			edits = append(edits, git.TreeEdit{Path: now.Dst, Entry: now.New})
			c.set[now.Dst] = true
		}
		if now := &joined.change; now.Src != "" && now.Src != now.Dst {
			removed[now.Src] = true
		}
	}
	for path := range removed {
		if c.set[path] {
			delete(removed, path)
		}
	}
	var err error
	c.tree, err = splice(ctx, c.ov, c.tree, edits, removed)
	return err
}

// joinedFile is what several sides make of one file, which lie apart.
type joinedFile struct {
	change FileChange
	union  bool
	texts  []*FileChange // those that change the content, each content once
	edits  [][]sideEdit  // of the texts, once there are two
}

// add takes in one more side's change of the file.
func (j *joinedFile) add(ov *git.Overlay, g *FileChange) error {
	if g.Dst != g.Src {
		j.change.Dst = g.Dst
	}
	if g.New.Mode != g.Old.Mode {
		j.change.New.Mode = g.New.Mode
	}
	if g.New.OID == g.Old.OID || slices.ContainsFunc(j.texts, func(t *FileChange) bool { return t.New.OID == g.New.OID }) {
		return nil
	}
	j.texts = append(j.texts, g)
	if len(j.texts) == 1 {
		j.change.New.OID = g.New.OID
		return nil
	}
	lines, err := j.join()
	if err == nil {
		j.change.New.OID = ov.PutBlob(diff.Join(lines))
	}
	return err
}

// join applies the texts' edits at once. Of each text it is remembered what stands side by side with another's.
func (j *joinedFile) join() ([][]byte, error) {
	base := j.texts[0].Base
	for _, t := range j.texts[len(j.edits):] {
		if !t.Text {
			return nil, errMeet
		}
		fresh := describe(base, t.Edits, t.Edits, j.union)
		for _, known := range j.edits {
			if j.union {
				contacts(fresh, known, true) // marks what stands side by side; meetings were judged in pairs
			}
		}
		j.edits = append(j.edits, fresh)
	}
	edits := joinEdits(nil, j.edits...)
	for i := 1; i < len(edits); i++ {
		if edits[i].Start < edits[i-1].End {
			return nil, errMeet
		}
	}
	return diff.Apply(base, edits), nil
}
