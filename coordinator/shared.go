package coordinator

import (
	"context"
	"fmt"

	"patchd/ownership"
	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// sharedFiles are the files of one tree that both sides change, as ownership compares them.
func sharedFiles(ctx context.Context, r git.Reader, left, right *worktree.Side) ([]ownership.File, error) {
	var out []ownership.File
	for i := range left.Files {
		ours := &left.Files[i]
		if ours.Src == "" {
			continue
		}
		theirs, both := right.File(ours.Src)
		if !both || theirs.Src != ours.Src {
			continue
		}
		f, err := sharedFile(ctx, r, ours, theirs)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
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
