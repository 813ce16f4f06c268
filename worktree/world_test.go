package worktree

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// world is a real repository with an overlay in which a test builds trees from plain text.
type world struct {
	t    *testing.T
	repo *git.Repo
	ov   *git.Overlay
}

// files describes a tree: path to content. A content that begins with "link:" is a symbolic link, with "exec:" an
// executable, with "sub:" a submodule.
type files map[string]string

func newWorld(t *testing.T) *world {
	t.Helper()
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "git", "init", "-q", "-b", "main", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	repo, err := git.Open(t.Context(), dir, git.Options{Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, repo.Close()) })
	return &world{t: t, repo: repo, ov: git.NewOverlay(repo)}
}

// entry writes one file of a description.
func (w *world) entry(content string) git.Entry {
	kind, rest, found := strings.Cut(content, ":")
	switch {
	case found && kind == "link":
		return git.Entry{Mode: git.ModeSymlink, OID: w.ov.PutBlob([]byte(rest))}
	case found && kind == "exec":
		return git.Entry{Mode: git.ModeExecutable, OID: w.ov.PutBlob([]byte(rest))}
	case found && kind == "sub":
		return git.Entry{Mode: git.ModeGitlink, OID: git.OID(rest)}
	}
	return git.Entry{Mode: git.ModeFile, OID: w.ov.PutBlob([]byte(content))}
}

// tree writes a tree.
func (w *world) tree(f files) git.OID {
	w.t.Helper()
	var edits []git.TreeEdit
	for path, content := range f {
		edits = append(edits, git.TreeEdit{Path: path, Entry: w.entry(content)})
	}
	tree, err := git.EditTree(w.t.Context(), w.ov, git.EmptyTree, edits)
	require.NoError(w.t, err)
	return tree
}

// read gives a tree as a description.
func (w *world) read(tree git.OID) files {
	w.t.Helper()
	entries, err := git.ListTree(w.t.Context(), w.ov, tree)
	require.NoError(w.t, err)
	out := files{}
	for _, e := range entries {
		if e.Mode == git.ModeGitlink {
			out[e.Path] = "sub:" + string(e.OID)
			continue
		}
		content, err := w.ov.ReadBlob(w.t.Context(), e.OID)
		require.NoError(w.t, err)
		out[e.Path] = map[git.Mode]string{git.ModeSymlink: "link:", git.ModeExecutable: "exec:"}[e.Mode] + string(content)
	}
	return out
}

// commit writes a commit.
func (w *world) commit(tree git.OID, parents ...git.OID) git.OID {
	return w.ov.PutCommit(git.Commit{Tree: tree, Parents: parents, Author: Patchd(stamp), Committer: Patchd(stamp), Message: "m\n"})
}

// side reads the difference of two trees.
func (w *world) side(base, result git.OID) *Side {
	w.t.Helper()
	s, err := NewSide(w.t.Context(), w.ov, base, result)
	require.NoError(w.t, err)
	return s
}

// since commits the base and the steps after it and reads what happened.
func (w *world) since(base git.OID, steps ...git.OID) *Since {
	w.t.Helper()
	a := w.commit(base)
	at := a
	for _, tree := range steps {
		at = w.commit(tree, at)
	}
	s, err := ReadSince(w.t.Context(), w.ov, a, at)
	require.NoError(w.t, err)
	return s
}

// rebase puts the change from base to patch onto the last of the steps.
func (w *world) rebase(rules Rules, base, patch git.OID, steps ...git.OID) *Result {
	w.t.Helper()
	out, err := Rebase(w.t.Context(), RebaseInput{Overlay: w.ov, Merger: w.repo, Patch: w.side(base, patch), Since: w.since(base, steps...), Rules: rules})
	require.NoError(w.t, err)
	return out
}

// apply parses and applies a patch.
func (w *world) apply(base git.OID, text string) (*Applied, error) {
	w.t.Helper()
	p, err := diff.Parse([]byte(text), diff.DefaultLimits())
	if err != nil {
		return nil, err
	}
	return Apply(w.t.Context(), w.ov, base, p, diff.DefaultLimits())
}

// codes lists the reasons' codes with their paths.
func codes(reasons []Reason) []string {
	var out []string
	for _, r := range reasons {
		out = append(out, string(r.Code)+" "+r.Path)
	}
	return out
}

// applied gives a text change's result.
func applied(f *FileChange) string { return string(diff.Join(diff.Apply(f.Base, f.Edits))) }
