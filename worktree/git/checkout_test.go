package git_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestACheckoutAdvancesOnlyWhereNothingIsLost(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	from := s.commit(map[string]string{"a": "1\n", "b": "1\n", ".gitattributes": "*.crlf text eol=crlf\n", "x.crlf": "1\n"})
	to := s.commit(map[string]string{"a": "2\n", "new/file": "n\n", "x.crlf": "2\n"})
	s.git("reset", "-q", "--hard", string(from))
	hook := filepath.Join(s.dir, ".git/hooks/post-checkout")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ntouch "+s.dir+"/hook-ran\n"), 0o755))
	r := s.open()
	var dirty *git.DirtyCheckoutError

	s.write("a", "mine\n")
	require.ErrorAs(t, r.CanFollow(t.Context(), s.dir, from, to), &dirty)
	require.Contains(t, dirty.Reason, "M a")
	s.git("add", "a")
	require.ErrorAs(t, r.CanFollow(t.Context(), s.dir, from, to), &dirty)
	require.Error(t, r.Follow(t.Context(), s.dir, from, to))
	require.Equal(t, "mine\n", s.read("a"))
	s.git("reset", "-q", "--hard")

	s.write("new/file", "untracked\n")
	require.ErrorAs(t, r.CanFollow(t.Context(), s.dir, from, to), &dirty)
	require.Contains(t, dirty.Reason, "new/file")
	require.Error(t, r.Follow(t.Context(), s.dir, from, to))
	require.Equal(t, "untracked\n", s.read("new/file"))
	require.Equal(t, "1\n", s.read("a"), "nothing is half done")
	require.NoError(t, os.RemoveAll(filepath.Join(s.dir, "new")))

	require.NoError(t, r.CanFollow(t.Context(), s.dir, from, to))
	require.Equal(t, "1\n", s.read("a"), "asking writes nothing")
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/heads/main", Old: from, New: to}}))
	require.NoError(t, r.Follow(t.Context(), s.dir, from, to))
	require.Equal(t, "2\r\n", s.read("x.crlf"), "line ends as the user has them")
	require.Empty(t, s.git("status", "--porcelain"))
	require.NoFileExists(t, filepath.Join(s.dir, "hook-ran"))
}

func (s *sandbox) read(path string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, path))
	require.NoError(s.t, err)
	return string(data)
}
