package history

import (
	"bytes"
	"context"
	"slices"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// insertAnyway mends a conflicted carry where the commit only inserts whole lines into the files in conflict: their places are
// carried back to the base, past what earlier commits inserted there. It gives the tree, or none where that cannot be done.
func insertAnyway(ctx context.Context, over *git.Overlay, merged git.MergeResult, parent, base, commit git.OID) (git.OID, error) {
	paths := map[string]bool{}
	for _, c := range merged.Conflicts {
		paths[c.Path] = true
	}
	var edits []git.TreeEdit
	for path := range paths {
		var entries [3]git.Entry
		var texts [3][][]byte
		for i, tree := range []git.OID{parent, base, commit} {
			var err error
			if entries[i], err = git.Lookup(ctx, over, tree, path); err != nil {
				return "", err
			}
			if !entries[i].Mode.IsFile() {
				return "", nil
			}
			content, err := over.ReadBlob(ctx, entries[i].OID)
			if err != nil {
				return "", err
			}
			texts[i] = diff.Lines(content)
		}
		result, ok := insertions(texts[0], texts[1], texts[2])
		if !ok {
			return "", nil
		}
		edits = append(edits, git.TreeEdit{Path: path, Entry: git.Entry{Mode: entries[1].Mode, OID: over.PutBlob(result)}})
	}
	return git.EditTree(ctx, over, merged.Tree, edits)
}

// insertions makes in base the insertions that lead from parent to commit; false where something else does.
func insertions(parent, base, commit [][]byte) ([]byte, bool) {
	since := diff.Edits(base, parent)
	var carried []diff.Edit
	for _, e := range diff.Edits(parent, commit) {
		if e.Start != e.End {
			return nil, false
		}
		gap, ok := gapInBase(since, e.Start)
		if !ok {
			return nil, false
		}
		if n := len(carried); n > 0 && carried[n-1].Start == gap {
			carried[n-1].New = slices.Concat(carried[n-1].New, e.New)
			continue
		}
		carried = append(carried, diff.Edit{Start: gap, End: gap, New: e.New})
	}
	return bytes.Join(diff.Apply(base, carried), nil), true
}

// gapInBase carries a gap between lines back through edits; false where it lies within lines that replaced others.
func gapInBase(edits []diff.Edit, gap int) (int, bool) {
	shift := 0 // how much further a line stands than in the base
	for _, e := range edits {
		start := e.Start + shift
		end := start + len(e.New)
		switch {
		case gap < start:
			return gap - shift, true
		case gap == start:
			return e.Start, true
		case gap < end && e.Start != e.End:
			return 0, false
		case gap <= end:
			return e.End, true
		}
		shift += len(e.New) - (e.End - e.Start)
	}
	return gap - shift, true
}
