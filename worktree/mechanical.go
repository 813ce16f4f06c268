package worktree

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// MergeFile is the mechanical merge of one path that a reason names.
type MergeFile struct {
	Path    string
	Mode    git.Mode
	Content []byte
	Blob    git.OID // the content's object id; the object is in the overlay
	// HasMarkers says that a person has to choose: the content holds conflict markers, or, when Whole is set, it is
	// the patch's version of a file that cannot be merged by lines.
	HasMarkers bool
	Whole      bool
}

// mechanical works out the merge of every path that a reason names, by path.
func mechanical(ctx context.Context, ov *git.Overlay, reasons []Reason, c *Comparison, patch *Side, tree git.OID) ([]MergeFile, error) {
	files := map[string]MergeFile{}
	colliding := c.collidingPaths()
	paths := map[string]bool{}
	for _, reason := range reasons {
		paths[reason.Path] = true
		for path := range colliding {
			if reason.Code == AddAdd && nearPath(path, reason.Path) {
				paths[path] = true
			}
		}
	}
	byPath := c.sharedByPath()
	for _, path := range sortedKeys(paths) {
		f, ok, err := mergeFile(ctx, ov, byPath[path], path, colliding[path], patch, tree)
		if err != nil {
			return nil, err
		}
		if ok {
			files[f.Path] = f
		}
	}
	out := make([]MergeFile, 0, len(files))
	for _, path := range sortedKeys(files) {
		f := files[path]
		f.Blob = ov.PutBlob(f.Content)
		out = append(out, f)
	}
	return out, nil
}

// sharedByPath finds the file that both sides change by any of its paths.
func (c *Comparison) sharedByPath() map[string]*meeting {
	out := map[string]*meeting{}
	for _, m := range c.meetings {
		if !m.shared() {
			continue
		}
		for _, path := range m.paths() {
			out[path] = m
		}
	}
	return out
}

// mergeFile merges one path that a reason names; m is its file when both sides change it. ok is false when
// nothing stands there.
func mergeFile(ctx context.Context, ov *git.Overlay, m *meeting, path string, colliding bool, patch *Side, tree git.OID) (f MergeFile, ok bool, err error) {
	switch {
	case m != nil && m.blocked():
		f, err = m.marked(ctx, ov)
		return f, true, err
	case m != nil && m.dst != "":
		path = m.dst
	}
	e, err := git.Lookup(ctx, ov, patch.Result, path)
	if err != nil {
		return MergeFile{}, false, fmt.Errorf("look up %q: %w", path, err)
	}
	if !colliding && tree != "" {
		if e, err = git.Lookup(ctx, ov, tree, path); err != nil {
			return MergeFile{}, false, fmt.Errorf("look up %q: %w", path, err)
		}
	}
	if e.IsZero() || e.Mode == git.ModeTree {
		return MergeFile{}, false, nil
	}
	content, err := contentOf(ctx, ov, e)
	return MergeFile{Path: path, Mode: e.Mode, Content: content, HasMarkers: colliding, Whole: colliding}, true, err
}

// marked merges a file whose two versions cannot both hold.
func (m *meeting) marked(ctx context.Context, ov *git.Overlay) (MergeFile, error) {
	l, r := m.left, m.right
	f := MergeFile{Path: l.Path(), Mode: l.New.Mode, HasMarkers: true}
	if l.Dst == "" {
		f.Path, f.Mode = r.Path(), r.New.Mode
	}
	mergeable := m.lines != nil || l.Text && r.Text && !m.hasAny(Binary, Submodule)
	if !mergeable {
		f.Whole = true
		if l.Dst == "" {
			return f, nil
		}
		content, err := contentOf(ctx, ov, l.New)
		f.Content = content
		return f, err
	}
	ours, _, err := textOf(ctx, ov, l.New)
	if err != nil {
		return f, err
	}
	theirs, _, err := textOf(ctx, ov, r.New)
	if err != nil {
		return f, err
	}
	if l.Dst == "" || r.Dst == "" {
		f.Content = bothWhole(ours, theirs)
		return f, nil
	}
	f.Content, f.HasMarkers = diff.Merge3(l.Base, ours, theirs, diff.DefaultLabels())
	f.HasMarkers = f.HasMarkers || m.hasAny(RenameRename, ModeChange)
	return f, nil
}

// bothWhole writes two versions, one of which is gone, as one conflict.
func bothWhole(ours, theirs [][]byte) []byte {
	var out bytes.Buffer
	labels := diff.DefaultLabels()
	write := func(marker string, lines [][]byte) {
		out.WriteString(marker + "\n")
		out.Write(diff.Join(lines))
		if n := out.Len(); out.Bytes()[n-1] != '\n' {
			out.WriteByte('\n')
		}
	}
	write("<<<<<<< "+labels.Ours, ours)
	write("=======", theirs)
	out.WriteString(">>>>>>> " + labels.Theirs + "\n")
	return out.Bytes()
}

// hasAny reports whether one of the codes is among the file's reasons.
func (m *meeting) hasAny(codes ...ReasonCode) bool {
	for _, r := range m.reasons {
		if slices.Contains(codes, r.Code) {
			return true
		}
	}
	return false
}
