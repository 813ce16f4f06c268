package git

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// TreeEdit sets what stands at a path. The zero Entry removes a file; removing what is not there, or what is a
// directory, changes nothing, as in git's index. An Entry of ModeTree puts a whole directory there.
type TreeEdit struct {
	Path string
	Entry
}

// EditTree gives the tree with the edits made, reading and writing only the subtrees on their paths; directories that
// become empty vanish. All edits are made at once: the order of edits is of no account, and two of one path must agree.
// A file where a directory is needed, or the reverse, left after all edits, is a *CollisionError.
func EditTree(ctx context.Context, o *Overlay, tree OID, edits []TreeEdit) (OID, error) {
	root := &editNode{}
	for _, e := range edits {
		if err := root.add(e); err != nil {
			return "", fmt.Errorf("edit tree: %w", err)
		}
	}
	entry, err := root.apply(ctx, o, "", Entry{Mode: ModeTree, OID: tree})
	if err != nil {
		return "", fmt.Errorf("edit tree: %w", err)
	}
	if entry.IsZero() {
		return o.PutTree(nil)
	}
	return entry.OID, nil
}

// editNode is one name on the way to edited paths.
type editNode struct {
	edit     *Entry
	children map[string]*editNode
}

func (n *editNode) add(e TreeEdit) error {
	at := n
	for name := range strings.SplitSeq(e.Path, "/") {
		if name == "" || name == "." || name == ".." {
			return malformedTree("path %q", e.Path)
		}
		if at.children == nil {
			at.children = map[string]*editNode{}
		}
		next := at.children[name]
		if next == nil {
			next = &editNode{}
			at.children[name] = next
		}
		at = next
	}
	if at.edit != nil && *at.edit != e.Entry {
		return fmt.Errorf("two edits of %q disagree", e.Path)
	}
	entry := e.Entry
	at.edit = &entry
	return nil
}

// apply gives what stands at path after the edits at and below it; old is what stood there.
func (n *editNode) apply(ctx context.Context, o *Overlay, path string, old Entry) (Entry, error) {
	file, dir := old, Entry{}
	if old.Mode == ModeTree {
		file, dir = Entry{}, old
	}
	if n.edit != nil {
		if n.edit.Mode == ModeTree {
			file, dir = Entry{}, *n.edit
		} else {
			file = *n.edit
		}
	}
	if len(n.children) > 0 {
		var err error
		if dir, err = n.applyChildren(ctx, o, path, dir); err != nil {
			return Entry{}, err
		}
	}
	switch {
	case dir.IsZero() || dir.OID == EmptyTree:
		return file, nil
	case file.IsZero():
		return dir, nil
	}
	return Entry{}, &CollisionError{Path: path}
}

func (n *editNode) applyChildren(ctx context.Context, o *Overlay, path string, dir Entry) (Entry, error) {
	var old Tree
	if !dir.IsZero() {
		var err error
		if old, err = readTree(ctx, o, dir.OID); err != nil {
			return Entry{}, err
		}
	}
	edited := make(Tree, 0, len(old)+len(n.children))
	for _, e := range old {
		if _, touched := n.children[e.Name]; !touched {
			edited = append(edited, e)
		}
	}
	for _, name := range n.names() {
		before, _ := old.Find(name)
		after, err := n.children[name].apply(ctx, o, joinPath(path, name), before.Entry)
		if err != nil {
			return Entry{}, err
		}
		if !after.IsZero() {
			edited = append(edited, TreeEntry{Name: name, Entry: after})
		}
	}
	return putDirectory(o, dir, old, edited)
}

// putDirectory keeps the old directory when nothing in it changed.
func putDirectory(o *Overlay, dir Entry, old, edited Tree) (Entry, error) {
	if len(edited) == 0 {
		return Entry{}, nil
	}
	edited.Sort()
	if slices.Equal(old, edited) {
		return dir, nil
	}
	id, err := o.PutTree(edited)
	return Entry{Mode: ModeTree, OID: id}, err
}

func (n *editNode) names() []string {
	names := make([]string, 0, len(n.children))
	for name := range n.children {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
