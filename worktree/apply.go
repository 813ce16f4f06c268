package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// Applied is what a patch makes of its base.
type Applied struct {
	Tree    git.OID
	Changes []git.Change   // the raw difference of base and Tree, sorted by path
	Renames []Rename       // the renames and copies that the patch declares, sorted by new path
	Lines   map[string]int // where in the patch the section of a path begins
}

// Rename is one file under two names. Similarity is in percent.
type Rename struct {
	Old, New   string
	Similarity int
	Copy       bool
}

// Apply applies a patch to its base exactly: every hunk at its stated line, every context byte equal, object ids
// of index lines equal to the base's and the result's. Nothing is searched for and nothing is fuzzed. New objects
// go to ov only. A patch that does not fit is a *diff.Error: patch_does_not_apply, diff_malformed for a hunk
// without the context that the base has, diff_empty when nothing changes, path_unsafe for a file in a
// directory's place, diff_too_large for a result over the limits.
func Apply(ctx context.Context, ov *git.Overlay, base git.OID, p *diff.Patch, limits diff.Limits) (*Applied, error) {
	a := &applier{ov: ov, base: base, limits: limits, gone: map[string]bool{}, result: map[string]git.Entry{}}
	out := &Applied{Lines: map[string]int{}}
	for i := range p.Files {
		if f := &p.Files[i]; f.Op == diff.OpDelete || f.Op == diff.OpRename {
			a.gone[f.Old] = true
			a.result[f.Old] = git.Entry{}
		}
	}
	for i := range p.Files {
		f := &p.Files[i]
		if err := a.file(ctx, f); err != nil {
			return nil, err
		}
		note(out, f)
	}
	edits := make([]git.TreeEdit, 0, len(a.result))
	for _, path := range sortedKeys(a.result) {
		edits = append(edits, git.TreeEdit{Path: path, Entry: a.result[path]})
	}
	var err error
	if out.Tree, err = git.EditTree(ctx, ov, base, edits); err != nil {
		return nil, collisionRefused(err, out.Lines)
	}
	if out.Changes, err = git.DiffTrees(ctx, ov, base, out.Tree); err != nil {
		return nil, fmt.Errorf("compare base and result: %w", err)
	}
	if len(out.Changes) == 0 {
		return nil, &diff.Error{Code: diff.CodeEmpty, Message: "the patch changes nothing", Hint: "submit at least one change"}
	}
	sortRenames(out.Renames)
	return out, nil
}

// note records where a section stands and which rename it declares.
func note(out *Applied, f *diff.File) {
	for _, path := range []string{f.Old, f.New} {
		if path != "" && out.Lines[path] == 0 {
			out.Lines[path] = f.Line
		}
	}
	if f.Op == diff.OpRename || f.Op == diff.OpCopy {
		out.Renames = append(out.Renames, Rename{Old: f.Old, New: f.New, Similarity: f.Similarity, Copy: f.Op == diff.OpCopy})
	}
}

// collisionRefused turns a file in a directory's place into path_unsafe.
func collisionRefused(err error, lines map[string]int) error {
	var collision *git.CollisionError
	if !errors.As(err, &collision) {
		return fmt.Errorf("write the patch's tree: %w", err)
	}
	line := lines[collision.Path]
	for path, at := range lines {
		if line == 0 && strings.HasPrefix(path, collision.Path+"/") {
			line = at
		}
	}
	return &diff.Error{
		Code: diff.CodePathUnsafe, Path: collision.Path, Line: line, Value: collision.Path,
		Message: "a file would stand where a directory is, or be written through one", Hint: "remove what stands there in the same patch",
	}
}

// applier holds the state of one application.
type applier struct {
	ov     *git.Overlay
	base   git.OID
	limits diff.Limits
	gone   map[string]bool // base paths that some section removes
	result map[string]git.Entry
}

// misfit is a patch_does_not_apply error.
func misfit(f *diff.File, line int, value, message, hint string) error {
	if line == 0 {
		line = f.Line
	}
	return &diff.Error{Code: diff.CodeDoesNotApply, Path: f.Path(), Line: line, Value: value, Message: message, Hint: hint}
}

const staleHint = "make the patch against the base commit that the manifest names"

// file applies one section.
func (a *applier) file(ctx context.Context, f *diff.File) error {
	var old git.Entry
	var content []byte
	if f.Old != "" {
		var err error
		if old, content, err = a.oldFile(ctx, f); err != nil {
			return err
		}
	}
	if f.New != "" && f.New != f.Old {
		if err := a.vacant(ctx, f); err != nil {
			return err
		}
	}
	result, err := a.content(f, content)
	if err != nil {
		return err
	}
	if f.Op == diff.OpDelete {
		return checkDeleted(f, old, content, result)
	}
	entry, err := a.entry(f, old, result)
	if err != nil {
		return err
	}
	a.result[f.New] = entry
	return nil
}

// oldFile reads the base's file and holds the section's mode and object id against it.
func (a *applier) oldFile(ctx context.Context, f *diff.File) (git.Entry, []byte, error) {
	old, err := git.Lookup(ctx, a.ov, a.base, f.Old)
	if err != nil {
		return old, nil, fmt.Errorf("look up %q: %w", f.Old, err)
	}
	switch {
	case old.IsZero() || old.Mode == git.ModeTree:
		return old, nil, misfit(f, 0, f.Old, "the file does not exist at the base", staleHint)
	case f.OldMode != 0 && git.Mode(f.OldMode) != old.Mode:
		return old, nil, misfit(f, 0, git.Mode(f.OldMode).String(), "the file's mode at the base is "+old.Mode.String(), staleHint)
	case f.OldOID != "" && !strings.HasPrefix(string(old.OID), f.OldOID):
		return old, nil, misfit(f, 0, f.OldOID, "the index line names another content than the base has", staleHint)
	}
	content, err := contentOf(ctx, a.ov, old)
	return old, content, err
}

// contentOf reads an entry as a diff shows it: a submodule is one line that names its commit.
func contentOf(ctx context.Context, r git.Reader, e git.Entry) ([]byte, error) {
	if e.Mode == git.ModeGitlink {
		return []byte(subprojectPrefix + string(e.OID) + "\n"), nil
	}
	content, err := r.ReadBlob(ctx, e.OID)
	if err != nil {
		return nil, fmt.Errorf("read content: %w", err)
	}
	return content, nil
}

const subprojectPrefix = "Subproject commit "

// vacant refuses to create what exists at the base and is not removed by the same patch.
func (a *applier) vacant(ctx context.Context, f *diff.File) error {
	there, err := git.Lookup(ctx, a.ov, a.base, f.New)
	if err != nil {
		return fmt.Errorf("look up %q: %w", f.New, err)
	}
	if !there.IsZero() && there.Mode != git.ModeTree && !a.gone[f.New] {
		return misfit(f, 0, f.New, "the file exists at the base already", staleHint)
	}
	return nil
}

// checkDeleted holds a deletion against the base: what is deleted must be what the patch shows.
func checkDeleted(f *diff.File, old git.Entry, content, result []byte) error {
	shown := len(f.Hunks) > 0 || f.Binary != nil
	switch {
	case shown && len(result) > 0:
		return misfit(f, 0, "", "the deletion leaves content behind", staleHint)
	case !shown && len(content) > 0 && f.OldOID != string(old.OID):
		return misfit(f, 0, f.OldOID, "the deletion does not show the content that it deletes", "make the patch with git diff --binary --full-index")
	case f.NewOID != "" && strings.Trim(f.NewOID, "0") != "":
		return misfit(f, 0, f.NewOID, "the index line names a content for a deleted file", staleHint)
	}
	return nil
}

// entry gives what stands at the section's new path, checked against the index line.
func (a *applier) entry(f *diff.File, old git.Entry, result []byte) (git.Entry, error) {
	mode := git.Mode(f.NewMode)
	switch {
	case mode != 0:
	case old.Mode != 0:
		mode = old.Mode
	default:
		mode = git.ModeFile
	}
	var id git.OID
	if mode == git.ModeGitlink {
		line, ok := strings.CutSuffix(strings.TrimPrefix(string(result), subprojectPrefix), "\n")
		if id = git.OID(line); !ok || !id.Valid() || len(line)+len(subprojectPrefix)+1 != len(result) {
			return git.Entry{}, misfit(f, 0, string(result[:min(len(result), 80)]), "the submodule's content names no commit", "write it as git diff does")
		}
	} else {
		if a.limits.BlobBytes > 0 && int64(len(result)) > a.limits.BlobBytes {
			return git.Entry{}, &diff.Error{Code: diff.CodeTooLarge, Path: f.Path(), Line: f.Line, Message: "the resulting file is too large", Hint: fmt.Sprintf("at most %d bytes are taken", a.limits.BlobBytes)}
		}
		id = a.ov.PutBlob(result)
	}
	if f.NewOID != "" && !strings.HasPrefix(string(id), f.NewOID) {
		return git.Entry{}, misfit(f, 0, f.NewOID, "the index line names another content than the patch makes", staleHint)
	}
	if f.Op == diff.OpAdd && f.OldOID != "" && strings.Trim(f.OldOID, "0") != "" {
		return git.Entry{}, misfit(f, 0, f.OldOID, "the index line names a base content for an added file", staleHint)
	}
	return git.Entry{Mode: mode, OID: id}, nil
}
