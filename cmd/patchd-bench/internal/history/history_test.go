package history_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/cmd/patchd-bench/internal/gitrun"
	"patchd/cmd/patchd-bench/internal/history"
	"patchd/worktree/git"
)

// origin is a repository with a few commits and merges.
type origin struct {
	t *testing.T
	gitrun.Git
}

func newReal(t *testing.T) *origin {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "app")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	r := &origin{t, gitrun.In(dir, os.Getenv("PATH"))}
	r.must("init", "-q", "-b", "main")
	r.commit(map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "b": "b\n", "c": "c\n"})
	return r
}

func (r *origin) must(args ...string) string {
	r.t.Helper()
	out, err := r.Line(r.t.Context(), args...)
	require.NoError(r.t, err)
	return out
}

func (r *origin) commit(files map[string]string) git.OID {
	r.t.Helper()
	for name, text := range files {
		require.NoError(r.t, os.WriteFile(filepath.Join(r.Dir(), name), []byte(text), 0o600))
	}
	r.must("add", "-A")
	r.must("commit", "-q", "-m", "change")
	return git.OID(r.must("rev-parse", "HEAD"))
}

func (r *origin) scratch() (*history.Scratch, *git.Repo) {
	r.t.Helper()
	s, err := history.NewScratch(r.t.Context(), r.Dir(), r.t.TempDir(), os.Getenv("PATH"))
	require.NoError(r.t, err)
	repo, err := git.Open(r.t.Context(), s.Dir, git.Options{})
	require.NoError(r.t, err)
	r.t.Cleanup(func() { _ = repo.Close() })
	return s, repo
}

func TestMergesWithASharedPathAreCasesAndSortedByWhatBecameOfThem(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	branch := func(name string, theirs, ours map[string]string, merge func()) {
		r.must("checkout", "-q", "-b", name)
		r.commit(theirs)
		r.must("checkout", "-q", "main")
		r.commit(ours)
		merge()
	}
	branch("clean", map[string]string{"a": "1\n2\n3\n4\n5\n6\n7\n8\nnine\n"}, map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n9\n"}, func() {
		r.must("merge", "-q", "--no-edit", "clean")
	})
	branch("apart", map[string]string{"b": "B\n"}, map[string]string{"c": "C\n"}, func() { r.must("merge", "-q", "--no-edit", "apart") })
	branch("fixed", map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\nNINE\n"}, map[string]string{"a": "ONE\n2\n3\n4\n5\n6\n7\n8\nnine\n"}, func() {
		r.must("merge", "-q", "--no-commit", "fixed")
		r.commit(map[string]string{"b": "mended\n"})
	})
	branch("textual", map[string]string{"b": "theirs\n"}, map[string]string{"b": "ours\n"}, func() {
		_, code, err := r.Status(t.Context(), nil, "merge", "-q", "textual")
		require.NoError(t, err)
		require.Equal(t, 1, code)
		r.commit(map[string]string{"b": "both\n"})
	})
	s, _ := r.scratch()
	found, err := history.Merges(t.Context(), s, history.MergeOptions{Seed: 1})
	require.NoError(t, err)
	kinds := map[history.Kind]int{}
	for _, m := range found {
		kinds[m.Kind]++
		require.Equal(t, m.Kind == history.KindTextual, m.GitTree == "")
	}
	require.Equal(t, map[history.Kind]int{history.KindClean: 1, history.KindFixed: 1, history.KindTextual: 1}, kinds)
}

func TestAPickIsARealChangeOnAnOlderBaseThatLeadsToTheRealTree(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	base := git.OID(r.must("rev-parse", "HEAD"))
	target := r.commit(map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\n9\n"})
	commit := r.commit(map[string]string{"a": "one\n2\n3\n4\n5\n6\n7\n8\nnine\n", "b": "B\n"})
	s, repo := r.scratch()
	picks, err := history.Picks(t.Context(), s, repo, history.PickOptions{N: 5, MinEdits: 1, MaxEdits: 9, Window: 5, Scan: 10, Shared: true})
	require.NoError(t, err)
	require.Len(t, picks, 1)
	p := picks[0]
	require.Equal(t, []git.OID{commit, target, base}, []git.OID{p.Commit, p.Target, p.Base})
	require.Equal(t, []string{"a", "b"}, p.Paths)
	require.Equal(t, []string{"a"}, p.Shared)
	require.Equal(t, 2, p.Edits)
	require.Equal(t, r.must("rev-parse", "HEAD^{tree}"), string(p.Tree))
	require.Contains(t, string(p.Diff), "-9\n+nine\n")
	require.NotContains(t, string(p.Diff), "one", "what happened since the base is no part of the patch")
}

func TestAWindowTakesConsecutiveCommitsAsPatchesOnOneBase(t *testing.T) {
	t.Parallel()
	r := newReal(t)
	base := git.OID(r.must("rev-parse", "HEAD"))
	r.commit(map[string]string{"b": "b\nfirst\n"})
	r.commit(map[string]string{"b": "b\nfirst\nsecond\n"}) // an insertion past an earlier one
	r.commit(map[string]string{"b": "b\nFIRST\nsecond\n"}) // an edit of what the window wrote
	s, repo := r.scratch()
	windows, err := history.Windows(t.Context(), s, repo, history.WindowOptions{Size: 3, N: 1})
	require.NoError(t, err)
	require.Len(t, windows, 1)
	require.Equal(t, base, windows[0].Base)
	require.Equal(t, 1, windows[0].Builds)
	require.Len(t, windows[0].Picks, 2)
	require.Contains(t, string(windows[0].Picks[1].Diff), " b\n+second\n")
}
