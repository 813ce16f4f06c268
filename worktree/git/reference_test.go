package git_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestTheReferenceWorktreeAgreesWithTheMergeInMemory(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.write(".git/info/attributes", "* -merge\n")
	s.git("config", "core.autocrlf", "true")
	s.git("config", "merge.default", "nothing")
	attributes := "* text eol=crlf ident\nunion merge=union\nlocked -merge\n* filter=bad\n"
	common := map[string]string{".gitattributes": attributes, "f": tenLines, "crlf": "a\r\n$Id$\r\n", "union": "1\n", "locked": tenLines, "d/x": tenLines + "x\n"}
	change := func(files map[string]string) git.OID {
		all := maps.Clone(common)
		for path, content := range files {
			if all[path] = content; content == "" {
				delete(all, path)
			}
		}
		return s.tree(all)
	}
	base := change(nil)
	cases := map[string][2]git.OID{
		"lines":         {change(map[string]string{"f": "0\n" + tenLines}), change(map[string]string{"f": tenLines + "11\n", "crlf": "b\r\n"})},
		"locked":        {change(map[string]string{"locked": "0\n" + tenLines}), change(map[string]string{"locked": tenLines + "11\n"})},
		"rename":        {change(map[string]string{"d/x": "", "e/y": tenLines + "x\n"}), change(map[string]string{"d/x": tenLines + "x\ny\n"})},
		"deletion":      {change(map[string]string{"f": ""}), change(map[string]string{"d/x": ""})},
		"conflict":      {change(map[string]string{"union": "2\n"}), change(map[string]string{"union": "3\n"})},
		"modify/delete": {change(map[string]string{"f": ""}), change(map[string]string{"f": "x\n"})},
		"nothing":       {base, change(map[string]string{"new/file": "n"})},
	}
	scratch := t.TempDir()
	r := openAt(t, s.dir, git.Options{Scratch: scratch})
	dir := filepath.Join(t.TempDir(), "reference")
	ref, err := r.NewReference(t.Context(), dir)
	require.NoError(t, err)
	for name, c := range cases {
		want, err := r.MergeTree(t.Context(), nil, base, c[0], c[1])
		require.NoError(t, err, name)
		got, err := ref.Merge(t.Context(), base, c[0], c[1])
		require.NoError(t, err, name)
		require.Equal(t, want.Clean, got.Clean, name)
		require.Equal(t, name != "conflict" && name != "modify/delete", got.Clean, name)
		if got.Clean {
			require.Equal(t, want.Tree, got.Tree, name)
			_, err = git.ListTree(t.Context(), ref, got.Tree)
			require.NoError(t, err)
		} else {
			require.NotEmpty(t, got.Conflicts, name)
		}
		patch, err := r.DiffBytes(t.Context(), base, c[0])
		require.NoError(t, err)
		applied, err := ref.Apply(t.Context(), base, patch)
		if name == "nothing" {
			require.Error(t, err, "an empty patch")
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c[0], applied, name)
	}
	_, err = ref.Apply(t.Context(), base, []byte(strings.Repeat("nonsense\n", 3)))
	var failed *git.CommandError
	require.ErrorAs(t, err, &failed)
	require.Len(t, strings.Split(s.git("worktree", "list"), "\n"), 1, "the user's repository knows nothing of it")
	openAt(t, s.dir, git.Options{Scratch: scratch})
	_, err = ref.Merge(t.Context(), base, base, base)
	require.NoError(t, err, "another process that cleans up spares it")
	require.NoError(t, ref.Close())
	require.NoDirExists(t, dir)
}

func TestAReferenceThatCannotBeMadeLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	scratch := t.TempDir()
	r := openAt(t, s.dir, git.Options{Scratch: scratch})
	taken := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(taken, "file"), nil, 0o644))
	_, err := r.NewReference(t.Context(), taken)
	require.ErrorContains(t, err, "exists")
	require.FileExists(t, filepath.Join(taken, "file"))
	left, err := os.ReadDir(scratch)
	require.NoError(t, err)
	require.Len(t, left, 1)
}
