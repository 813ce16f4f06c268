package git

import (
	"context"
	"slices"
	"strings"
)

// PathEntry is an entry with its full path.
type PathEntry struct {
	Path string
	Entry
}

// Lookup gives what stands at path in a tree; the zero Entry when nothing does. The empty path is the tree itself.
func Lookup(ctx context.Context, r Reader, tree OID, path string) (Entry, error) {
	at := Entry{Mode: ModeTree, OID: tree}
	if path == "" {
		return at, nil
	}
	for name := range strings.SplitSeq(path, "/") {
		if at.Mode != ModeTree {
			return Entry{}, nil
		}
		entries, err := readTree(ctx, r, at.OID)
		if err != nil {
			return Entry{}, err
		}
		found, ok := entries.Find(name)
		if !ok {
			return Entry{}, nil
		}
		at = found.Entry
	}
	return at, nil
}

// ListTree gives every entry below a tree that is not itself a tree, sorted by path bytewise.
func ListTree(ctx context.Context, r Reader, tree OID) ([]PathEntry, error) {
	var all []PathEntry
	err := eachLeaf(ctx, r, "", Entry{Mode: ModeTree, OID: tree}, func(path string, e Entry) {
		all = append(all, PathEntry{Path: path, Entry: e})
	})
	slices.SortFunc(all, func(a, b PathEntry) int { return strings.Compare(a.Path, b.Path) })
	return all, err
}

func eachLeaf(ctx context.Context, r Reader, path string, e Entry, visit func(string, Entry)) error {
	if e.IsZero() {
		return nil
	}
	if e.Mode != ModeTree {
		visit(path, e)
		return nil
	}
	entries, err := readTree(ctx, r, e.OID)
	if err != nil {
		return err
	}
	for _, child := range entries {
		if err := eachLeaf(ctx, r, joinPath(path, child.Name), child.Entry, visit); err != nil {
			return err
		}
	}
	return nil
}

// readTree knows the empty tree, which need not exist in a repository.
func readTree(ctx context.Context, r Reader, id OID) (Tree, error) {
	if id == EmptyTree {
		return nil, nil
	}
	return r.ReadTree(ctx, id)
}

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// DiffTrees gives the paths at which two trees differ, sorted bytewise; equal subtrees are not read and renames are not
// looked for. A file that became a directory is its deletion and the additions below it, and the reverse.
func DiffTrees(ctx context.Context, r Reader, a, b OID) ([]Change, error) {
	d := differ{r: r}
	if err := d.diff(ctx, "", Entry{Mode: ModeTree, OID: a}, Entry{Mode: ModeTree, OID: b}); err != nil {
		return nil, err
	}
	slices.SortFunc(d.changes, func(x, y Change) int { return strings.Compare(x.Path, y.Path) })
	return d.changes, nil
}

type differ struct {
	r       Reader
	changes []Change
}

func (d *differ) diff(ctx context.Context, path string, a, b Entry) error {
	switch {
	case a == b:
		return nil
	case a.Mode == ModeTree && b.Mode == ModeTree:
		return d.diffBoth(ctx, path, a.OID, b.OID)
	case a.Mode != ModeTree && b.Mode != ModeTree:
		d.changes = append(d.changes, Change{Path: path, Old: a, New: b})
		return nil
	}
	err := eachLeaf(ctx, d.r, path, a, func(p string, e Entry) {
		d.changes = append(d.changes, Change{Path: p, Old: e})
	})
	if err != nil {
		return err
	}
	return eachLeaf(ctx, d.r, path, b, func(p string, e Entry) {
		d.changes = append(d.changes, Change{Path: p, New: e})
	})
}

func (d *differ) diffBoth(ctx context.Context, dir string, a, b OID) error {
	left, err := readTree(ctx, d.r, a)
	if err != nil {
		return err
	}
	right, err := readTree(ctx, d.r, b)
	if err != nil {
		return err
	}
	i, j := 0, 0
	for i < len(left) || j < len(right) {
		var x, y TreeEntry
		order := mergeOrder(left[i:], right[j:])
		if order <= 0 {
			x = left[i]
			i++
		}
		if order >= 0 {
			y = right[j]
			j++
		}
		if err := d.diff(ctx, joinPath(dir, max(x.Name, y.Name)), x.Entry, y.Entry); err != nil {
			return err
		}
	}
	return nil
}

func mergeOrder(left, right Tree) int {
	switch {
	case len(left) == 0:
		return 1
	case len(right) == 0:
		return -1
	}
	return compareEntries(left[0], right[0])
}
