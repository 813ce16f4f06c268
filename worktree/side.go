package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// FileChange is what one side does to one file of the base. Values are shared: nothing in them may be changed.
type FileChange struct {
	Src, Dst   string    // path at the base ("" for a created file) and in the result ("" for a deleted one)
	Old, New   git.Entry // what stands at Src and at Dst
	Similarity int       // percent, when Src and Dst are a detected rename

	// Text says that every content the change has is text that could be read: then Base holds the base's lines
	// (none for a created file) and Edits the pinned line diff. Loaded says that the contents were looked at.
	Text, Loaded bool
	Base         [][]byte
	Edits        []diff.Edit
	// Steps are the edits one commit after another, each of the lines that the one before leaves: only union
	// paths have them, and only when the side was read commit by commit.
	Steps [][]diff.Edit
}

// Path names the change: the path of the result, or of the deleted file.
func (f *FileChange) Path() string {
	if f.Dst != "" {
		return f.Dst
	}
	return f.Src
}

// IsRename reports whether the file has another path than at the base.
func (f *FileChange) IsRename() bool { return f.Src != "" && f.Dst != "" && f.Src != f.Dst }

// key identifies the file among the changes of several sides: by its base path, else by the created path.
func (f *FileChange) key() string {
	if f.Src != "" {
		return "=" + f.Src
	}
	return "+" + f.Dst
}

// Side is what one change does to a base tree. A Side that was read for the sake of another one may leave out
// files that the other does not touch; Result is always the whole result. Sides are immutable.
type Side struct {
	Base, Result git.OID // trees
	Files        []FileChange

	adds bool // the whole difference adds some path
}

// Paths gives every path that the side touches, both names of a rename, sorted.
func (s *Side) Paths() []string {
	set := map[string]bool{}
	for i := range s.Files {
		f := &s.Files[i]
		for _, path := range []string{f.Src, f.Dst} {
			if path != "" {
				set[path] = true
			}
		}
	}
	return sortedKeys(set)
}

// Renames gives the side's renames, sorted by new path.
func (s *Side) Renames() []Rename {
	var out []Rename
	for i := range s.Files {
		if f := &s.Files[i]; f.IsRename() {
			out = append(out, Rename{Old: f.Src, New: f.Dst, Similarity: f.Similarity})
		}
	}
	sortRenames(out)
	return out
}

// File gives the change that has path as its base or result path.
func (s *Side) File(path string) (*FileChange, bool) {
	for i := range s.Files {
		if f := &s.Files[i]; f.Src == path || f.Dst == path {
			return f, true
		}
	}
	return nil, false
}

// removes tells which base paths are gone in the result.
func (s *Side) removes() map[string]bool {
	gone, kept := map[string]bool{}, map[string]bool{}
	for i := range s.Files {
		f := &s.Files[i]
		if f.Src != "" && f.Src != f.Dst {
			gone[f.Src] = true
		}
		kept[f.Dst] = true
	}
	maps.DeleteFunc(gone, func(path string, _ bool) bool { return kept[path] })
	return gone
}

// NewSide reads the difference of two trees as a side: renames are found and every text is diffed.
func NewSide(ctx context.Context, r git.Reader, base, result git.OID) (*Side, error) {
	changes, err := git.DiffTrees(ctx, r, base, result)
	if err != nil {
		return nil, fmt.Errorf("compare trees: %w", err)
	}
	return SideOf(ctx, r, base, result, changes)
}

// SideOf is NewSide for a difference that is known already.
func SideOf(ctx context.Context, r git.Reader, base, result git.OID, changes []git.Change) (*Side, error) {
	files, err := pairUp(ctx, r, changes, changes)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := load(ctx, r, &files[i]); err != nil {
			return nil, err
		}
	}
	return &Side{Base: base, Result: result, Files: files, adds: addsAny(changes)}, nil
}

// addsAny reports whether some change adds a path.
func addsAny(changes []git.Change) bool {
	return slices.ContainsFunc(changes, func(c git.Change) bool { return c.Old.IsZero() })
}

// pairUp makes file changes of raw changes, with deletions and additions that are renames joined. Additions of
// all that are renames of a given deletion join the result.
func pairUp(ctx context.Context, r git.Reader, changes, all []git.Change) ([]FileChange, error) {
	var gone, made []git.Change
	for _, c := range changes {
		if c.New.IsZero() {
			gone = append(gone, c)
		}
	}
	if len(gone) > 0 {
		for _, c := range all {
			if c.Old.IsZero() {
				made = append(made, c)
			}
		}
	}
	renames, err := findRenames(ctx, r, gone, made, all)
	if err != nil {
		return nil, err
	}
	renamedFrom, renamedTo := map[string]renamed{}, map[string]bool{}
	for _, m := range renames {
		renamedFrom[m.old.Path], renamedTo[m.new.Path] = m, true
	}
	var files []FileChange
	for _, c := range changes {
		switch m, moved := renamedFrom[c.Path]; {
		case moved:
			files = append(files, FileChange{Src: c.Path, Dst: m.new.Path, Old: c.Old, New: m.new.New, Similarity: m.percent()})
		case c.New.IsZero():
			files = append(files, FileChange{Src: c.Path, Old: c.Old})
		case c.Old.IsZero() && !renamedTo[c.Path]:
			files = append(files, FileChange{Dst: c.Path, New: c.New})
		case !c.Old.IsZero():
			files = append(files, FileChange{Src: c.Path, Dst: c.Path, Old: c.Old, New: c.New})
		}
	}
	slices.SortFunc(files, func(a, b FileChange) int {
		if c := strings.Compare(a.Path(), b.Path()); c != 0 {
			return c
		}
		return strings.Compare(a.Src, b.Src)
	})
	return files, nil
}

// load reads the contents of a change and diffs them when they are text.
func load(ctx context.Context, r git.Reader, f *FileChange) error {
	f.Loaded = true
	before, okOld, err := textOf(ctx, r, f.Old)
	if err != nil {
		return err
	}
	after, okNew, err := textOf(ctx, r, f.New)
	if err != nil || !okOld || !okNew {
		return err
	}
	f.Text = true
	f.Base = before
	if f.Old.OID != f.New.OID {
		f.Edits = diff.Edits(before, after)
	}
	return nil
}

// textOf reads an entry's lines; ok is false for what is no text file. An absent entry is an empty text.
func textOf(ctx context.Context, r git.Reader, e git.Entry) (lines [][]byte, ok bool, err error) {
	if e.IsZero() {
		return nil, true, nil
	}
	if !e.Mode.IsFile() {
		return nil, false, nil
	}
	content, err := r.ReadBlob(ctx, e.OID)
	var tooLarge *git.LimitError
	if errors.As(err, &tooLarge) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read content: %w", err)
	}
	if diff.IsBinary(content) {
		return nil, false, nil
	}
	return diff.Lines(content), true, nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func sortRenames(renames []Rename) {
	slices.SortFunc(renames, func(a, b Rename) int {
		if c := strings.Compare(a.New, b.New); c != 0 {
			return c
		}
		return strings.Compare(a.Old, b.Old)
	})
}
