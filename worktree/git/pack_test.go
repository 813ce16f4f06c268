package git_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/worktree/git"
)

func packs(t require.TestingT, s *sandbox) []string {
	found, err := filepath.Glob(filepath.Join(s.dir, ".git/objects/pack/*.pack"))
	require.NoError(t, err)
	return found
}

func TestAPackIsSoundAndWrittenOnce(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	parent := s.commit(map[string]string{"a": "1"})
	r := s.open()
	o := git.NewOverlay(r)
	o.PutBlob([]byte("1"))
	tree := putFiles(t, o, map[string]string{"a": "2", "b/c": strings.Repeat("x", 1<<20), "empty/e": ""})
	who := git.Signature{Name: "A", Email: "a@b"}
	who.When = who.When.AddDate(2000, 0, 0)
	commit := o.PutCommit(git.Commit{Tree: tree, Parents: []git.OID{parent}, Author: who, Committer: who, Message: "m\n"})
	require.NoError(t, r.WritePack(t.Context(), o.Objects()))
	written := packs(t, s)
	require.Len(t, written, 1)
	list := s.git("verify-pack", "-v", written[0])
	require.NotContains(t, list, string(git.HashObject(git.TypeBlob, []byte("1"))), "what the repository has is left out")
	s.git("index-pack", "--verify", written[0])
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/heads/new", Old: git.ZeroOID, New: commit}}))
	require.Empty(t, s.git("fsck", "--strict", "--full"))
	for _, file := range []string{written[0], strings.TrimSuffix(written[0], "pack") + "idx"} {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o444), info.Mode())
	}
	require.NoError(t, r.WritePack(t.Context(), o.Objects()))
	require.Equal(t, written, packs(t, s))
	s.git("gc", "-q")
	require.NoError(t, r.WritePack(t.Context(), o.Objects()))
	require.Len(t, packs(t, s), 1)
	require.NoError(t, r.WritePack(t.Context(), nil))
	left, err := filepath.Glob(filepath.Join(s.dir, ".git/objects/pack/tmp_*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAnyObjectsMakeASoundPack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		contents := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 300), 1, 12).Draw(t, "contents")
		s := packSandbox(t)
		r, err := git.Open(t.Context(), s.dir, git.Options{Scratch: s.dir})
		require.NoError(t, err)
		defer func() { require.NoError(t, r.Close()) }()
		o := git.NewOverlay(r)
		for _, c := range contents {
			o.PutBlob(c)
		}
		require.NoError(t, r.WritePack(t.Context(), o.Objects()))
		out, err := s.try("", "index-pack", "--verify", packs(t, s)[0])
		require.NoError(t, err, out)
		for _, object := range o.Objects() {
			data, err := r.ReadBlob(t.Context(), object.OID)
			require.NoError(t, err)
			require.Equal(t, object.Data, data)
		}
	})
}

func packSandbox(t *rapid.T) *sandbox {
	dir, err := os.MkdirTemp("", "patchd-pack-test-")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	s := &sandbox{dir: dir, env: []string{searchPath(), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1"}}
	_, err = s.try("", "init", "-q")
	require.NoError(t, err)
	return s
}

func TestBytesThatAreNotTheirIdAreNotWritten(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	err := r.WritePack(t.Context(), []git.Object{{OID: someBlob, Type: git.TypeBlob, Data: []byte("x")}})
	var malformed *git.MalformedError
	require.ErrorAs(t, err, &malformed)
	require.Empty(t, packs(t, s))
}
