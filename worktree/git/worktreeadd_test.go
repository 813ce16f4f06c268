package git_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWorktreeIsAsGitWouldAddIt(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	commit := s.commit(map[string]string{"a": "1\n"})
	r, dir := s.open(), filepath.Join(t.TempDir(), "tree")
	admin, err := r.AddWorktree(t.Context(), dir, commit)
	require.NoError(t, err)
	require.Equal(t, admin, s.in(dir).git("rev-parse", "--absolute-git-dir"))
	require.Equal(t, string(commit), s.in(dir).git("rev-parse", "HEAD"))
	require.Equal(t, fmt.Sprintf("worktree %s\nHEAD %s\ndetached", dir, commit), strings.TrimSpace(strings.Split(s.git("worktree", "list", "--porcelain"), "\n\n")[1]))
	s.git("worktree", "prune", "--expire=now")
	s.in(dir).git("checkout", "-q", "--force", "HEAD")
	require.FileExists(t, filepath.Join(dir, "a"))

	_, err = r.AddWorktree(t.Context(), dir, commit)
	require.ErrorIs(t, err, os.ErrExist)
	again := filepath.Join(t.TempDir(), "tree") // another directory of the same name
	other, err := r.AddWorktree(t.Context(), again, commit)
	require.NoError(t, err)
	require.NotEqual(t, admin, other)
	for _, gone := range []string{dir, again} {
		require.NoError(t, r.RemoveWorktree(t.Context(), gone))
		require.NoError(t, r.RemoveWorktree(t.Context(), gone), "again is no error")
	}
	left, err := filepath.Glob(filepath.Join(s.dir, ".git", "*worktree*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

// Every git command that asks which branches are checked out dies of a record that is half there.
func TestNobodySeesHalfAWorktree(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	commit := s.commit(map[string]string{"a": "1\n"})
	r, dir := s.open(), t.TempDir()
	var done atomic.Bool
	ended := make(chan error, 1)
	go func() {
		defer done.Store(true)
		var err error
		for n := 0; n < 200 && err == nil; n++ {
			_, err = r.AddWorktree(t.Context(), filepath.Join(dir, strconv.Itoa(n)), commit)
		}
		ended <- err
	}()
	for !done.Load() {
		out, err := s.try("", "worktree", "list")
		require.NoError(t, err, out)
	}
	require.NoError(t, <-ended)
}

func TestARemovalThatWasCutShortIsFinished(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	commit := s.commit(map[string]string{"a": "1\n"})
	r, dir := s.open(), filepath.Join(t.TempDir(), "tree")
	admin, err := r.AddWorktree(t.Context(), dir, commit)
	require.NoError(t, err)
	require.NoError(t, os.Remove(filepath.Join(admin, "gitdir")))
	require.Len(t, strings.Split(s.git("worktree", "list"), "\n"), 1)
	require.NoError(t, r.RemoveWorktree(t.Context(), dir))
	require.NoDirExists(t, dir)
	require.NoDirExists(t, admin)
}
