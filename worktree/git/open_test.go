package git_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestWhatCannotBeServedExactlyIsRefusedWithAHint(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		make func(t *testing.T) string
		what string
	}{
		"sha256": {func(t *testing.T) string {
			t.Helper()
			return newSandbox(t, "--object-format=sha256").dir
		}, "sha256"},
		"reftable": {func(t *testing.T) string {
			t.Helper()
			s := newSandbox(t)
			s.git("config", "core.repositoryformatversion", "1")
			s.git("config", "extensions.refStorage", "reftable")
			return s.dir
		}, "reftable"},
		"shallow": {func(t *testing.T) string {
			t.Helper()
			s := newSandbox(t)
			s.commit(map[string]string{"a": "1"})
			s.commit(map[string]string{"a": "2"})
			s.git("clone", "-q", "--depth=1", "file://"+s.dir, s.dir+"-clone")
			return s.dir + "-clone"
		}, "shallow"},
		"partial": {func(t *testing.T) string {
			t.Helper()
			s := newSandbox(t)
			s.commit(map[string]string{"a": "1"})
			s.git("config", "uploadpack.allowFilter", "true")
			s.git("clone", "-q", "--filter=blob:none", "file://"+s.dir, s.dir+"-clone")
			return s.dir + "-clone"
		}, "partial"},
		"old git": {func(t *testing.T) string {
			t.Helper()
			return newSandbox(t).dir
		}, "git 2.37.1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scratch := t.TempDir()
			opt := git.Options{Scratch: scratch}
			if name == "old git" {
				opt.GitBinary = filepath.Join(t.TempDir(), "git")
				require.NoError(t, os.WriteFile(opt.GitBinary, []byte("#!/bin/sh\necho git version 2.37.1\n"), 0o755))
			}
			_, err := git.Open(t.Context(), c.make(t), opt)
			var unsupported *git.UnsupportedError
			require.ErrorAs(t, err, &unsupported)
			require.Contains(t, unsupported.What, c.what)
			require.NotEmpty(t, unsupported.Hint)
			left, err := os.ReadDir(scratch)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
	_, err := git.Open(t.Context(), t.TempDir(), git.Options{Scratch: t.TempDir()})
	var none *git.NotRepositoryError
	require.ErrorAs(t, err, &none)
}

func TestEveryShapeOfRepositoryIsOpened(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	head := s.commit(map[string]string{"sub/deeper/a": "1"})
	s.git("worktree", "add", "-q", "--detach", s.dir+"-linked")
	s.git("clone", "-q", "--bare", s.dir, s.dir+"-bare")
	s.git("clone", "-q", "--shared", s.dir, s.dir+"-shared")
	s.git("clone", "-q", "--shared", s.dir+"-shared", s.dir+"-shared-again")
	s.git("init", "-q", "--separate-git-dir", s.dir+"-gitdir", s.dir+"-separate")
	separate := s.in(s.dir + "-separate")
	separate.git("pull", "-q", s.dir, "main")
	require.NoError(t, os.Symlink(s.dir, s.dir+"-symlink"))
	for _, dir := range []string{"", "/.git", "/sub/deeper", "-linked", "-linked/sub", "-bare", "-shared", "-shared-again", "-separate", "-symlink"} {
		t.Run("at"+strings.ReplaceAll(dir, "/", "_"), func(t *testing.T) {
			t.Parallel()
			r := openAt(t, s.dir+dir, git.Options{})
			commit, err := r.ReadCommit(t.Context(), head)
			require.NoError(t, err)
			_, err = r.ReadTree(t.Context(), commit.Tree)
			require.NoError(t, err)
			id, found, err := r.Resolve(t.Context(), "HEAD")
			require.NoError(t, err)
			require.True(t, found)
			require.Equal(t, head, id)
		})
	}
	linked := openAt(t, s.dir+"-linked/sub", git.Options{})
	require.Equal(t, s.dir+"-linked", linked.Dir())
	require.Equal(t, s.dir+"/.git", linked.CommonDir())
	require.NotEqual(t, linked.GitDir(), linked.CommonDir())
	list, err := linked.Worktrees(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, git.Worktree{Path: s.dir, Head: head, Branch: "refs/heads/main"}, list[0])
	require.Equal(t, git.Worktree{Path: s.dir + "-linked", Head: head}, list[1])
}

func TestARepositoryOfAnotherUserIsServed(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("giving files away takes root")
	}
	s := newSandbox(t)
	head := s.commit(map[string]string{"a": "1"})
	require.NoError(t, filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		require.NoError(t, err)
		return os.Lchown(path, 12345, 12345)
	}))
	_, err := s.try("", "status")
	require.Error(t, err, "plain git refuses it, so the test shows something")
	r := s.open()
	_, err = r.ReadCommit(t.Context(), head)
	require.NoError(t, err)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/x", Old: git.ZeroOID, New: head}}))
	_, err = r.Worktrees(t.Context())
	require.NoError(t, err)
}

func TestOurDirectoryGoesWithTheProcessThatMadeIt(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	scratch := t.TempDir()
	stale := filepath.Join(scratch, "patchd-git-stale")
	require.NoError(t, os.MkdirAll(filepath.Join(stale, "objects"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(stale, "in-use"), nil, 0o600))
	half := filepath.Join(scratch, "patchd-git-half-made")
	require.NoError(t, os.MkdirAll(half, 0o755))
	first, err := git.Open(t.Context(), s.dir, git.Options{Scratch: scratch})
	require.NoError(t, err)
	require.NoDirExists(t, stale)
	require.DirExists(t, half)
	second, err := git.Open(t.Context(), s.dir, git.Options{Scratch: scratch})
	require.NoError(t, err)
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Len(t, left, 3, "a directory in use is left alone")
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	left, err = os.ReadDir(scratch)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
