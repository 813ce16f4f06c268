package git_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/worktree/git"
)

// genPath draws from few names, so that files, directories and names between them in order meet.
func genPath() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a-b", "a.b", "a0", "b"}), 1, 3).Draw(t, "parts")
		return strings.Join(parts, "/")
	})
}

func genFiles() *rapid.Generator[map[string]string] {
	return rapid.Custom(func(t *rapid.T) map[string]string {
		files := map[string]string{}
		for _, path := range rapid.SliceOfN(genPath(), 0, 8).Draw(t, "paths") {
			if _, collides := collision(files, path); !collides {
				files[path] = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "content")
			}
		}
		return files
	})
}

// collision reports whether a file at path cannot stand beside the others.
func collision(files map[string]string, path string) (string, bool) {
	for other := range files {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return other, true
		}
	}
	return "", false
}

// testingT is *testing.T or *rapid.T.
type testingT interface {
	require.TestingT
	Context() context.Context
}

func putFiles(t testingT, o *git.Overlay, files map[string]string) git.OID {
	var edits []git.TreeEdit
	for path, content := range files {
		edits = append(edits, git.TreeEdit{Path: path, Entry: git.Entry{Mode: git.ModeFile, OID: o.PutBlob([]byte(content))}})
	}
	tree, err := git.EditTree(t.Context(), o, git.EmptyTree, edits)
	require.NoError(t, err)
	return tree
}

func TestEditTreeEqualsGitsIndex(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	for _, content := range []string{"1", "2"} {
		s.gitIn(content, "hash-object", "-w", "--stdin")
	}
	rapid.Check(t, func(t *rapid.T) {
		before, after := genFiles().Draw(t, "before"), genFiles().Draw(t, "after")
		o := git.NewOverlay(r)
		base := putFiles(t, o, before)
		var edits []git.TreeEdit
		for path := range before {
			if _, stays := after[path]; !stays {
				edits = append(edits, git.TreeEdit{Path: path})
			}
		}
		for path, content := range after {
			if before[path] != content {
				edits = append(edits, git.TreeEdit{Path: path, Entry: git.Entry{Mode: git.ModeFile, OID: o.PutBlob([]byte(content))}})
			}
		}
		edits = rapid.Permutation(edits).Draw(t, "order")
		got, err := git.EditTree(t.Context(), o, base, edits)
		require.NoError(t, err)
		require.Equal(t, putFiles(t, o, after), got)
		require.Equal(t, gitTree(s, t, after), got)
		requireDiff(t, o, base, got, before, after)
	})
}

// gitTree asks git's index for the tree of the files.
func gitTree(s *sandbox, t *rapid.T, files map[string]string) git.OID {
	index := s.in(s.dir, "GIT_INDEX_FILE="+filepath.Join(s.dir, ".git", "test-index"))
	_, err := index.try("", "read-tree", "--empty")
	require.NoError(t, err)
	var script strings.Builder
	for path, content := range files {
		fmt.Fprintf(&script, "100644 %s\t%s\n", git.HashObject(git.TypeBlob, []byte(content)), path)
	}
	_, err = index.try(script.String(), "update-index", "--add", "--index-info")
	require.NoError(t, err)
	out, err := index.try("", "write-tree")
	require.NoError(t, err)
	return git.OID(strings.TrimSpace(out))
}

func requireDiff(t *rapid.T, r git.Reader, a, b git.OID, before, after map[string]string) {
	changes, err := git.DiffTrees(t.Context(), r, a, b)
	require.NoError(t, err)
	var want []string
	for path, content := range before {
		if after[path] != content {
			want = append(want, path)
		}
	}
	for path := range after {
		if before[path] == "" {
			want = append(want, path)
		}
	}
	slices.Sort(want)
	var got []string
	for _, c := range changes {
		got = append(got, c.Path)
		require.Equal(t, before[c.Path] == "", c.Old.IsZero())
		require.Equal(t, after[c.Path] == "", c.New.IsZero())
	}
	require.Equal(t, want, got)
	list, err := git.ListTree(t.Context(), r, b)
	require.NoError(t, err)
	require.Len(t, list, len(after))
	for _, e := range list {
		found, err := git.Lookup(t.Context(), r, b, e.Path)
		require.NoError(t, err)
		require.Equal(t, e.Entry, found)
	}
}

func TestDiffTreesEqualsGitsRawDiff(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	a := s.tree(map[string]string{"f": "1", "d/x": "1", "d/y": "2", "e/deep/z": "3", "same/s": "s", "a-b": "1"})
	b := s.tree(map[string]string{"f/now/dir": "1", "d": "file", "e/deep/z": "4", "same/s": "s", "a/b": "1", "a-b": "2"})
	var want []string
	for field := range strings.SplitSeq(s.git("diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", string(a), string(b)), "\n") {
		want = append(want, field)
	}
	changes, err := git.DiffTrees(t.Context(), s.open(), a, b)
	require.NoError(t, err)
	var got []string
	for _, c := range changes {
		got = append(got, rawLine(c))
	}
	slices.Sort(want)
	slices.Sort(got)
	require.Equal(t, want, got)
}

func rawLine(c git.Change) string {
	status, old, fresh := "M", c.Old.OID, c.New.OID
	if c.Old.IsZero() {
		status, old = "A", git.ZeroOID
	}
	if c.New.IsZero() {
		status, fresh = "D", git.ZeroOID
	}
	return fmt.Sprintf(":%s %s %s %s %s\t%s", c.Old.Mode, c.New.Mode, old, fresh, status, c.Path)
}

func TestAFileWhereADirectoryIsNeededCollides(t *testing.T) {
	t.Parallel()
	o := git.NewOverlay(nil)
	blob := git.Entry{Mode: git.ModeFile, OID: o.PutBlob([]byte("1"))}
	base := putFiles(t, o, map[string]string{"file": "1", "dir/x": "1", "dir/y": "1"})
	for name, c := range map[string]struct {
		edits []git.TreeEdit
		at    string
	}{
		"below a file":               {[]git.TreeEdit{{Path: "file/x", Entry: blob}}, "file"},
		"a file over a directory":    {[]git.TreeEdit{{Path: "dir", Entry: blob}}, "dir"},
		"one file of two is removed": {[]git.TreeEdit{{Path: "dir", Entry: blob}, {Path: "dir/x"}}, "dir"},
		"within the edits":           {[]git.TreeEdit{{Path: "new", Entry: blob}, {Path: "new/x", Entry: blob}}, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := git.EditTree(t.Context(), o, base, c.edits)
			var collides *git.CollisionError
			require.ErrorAs(t, err, &collides)
			require.Equal(t, c.at, collides.Path)
		})
	}
	_, err := git.EditTree(t.Context(), o, base, []git.TreeEdit{{Path: "a/../b", Entry: blob}})
	require.Error(t, err)
	_, err = git.EditTree(t.Context(), o, base, []git.TreeEdit{{Path: "a", Entry: blob}, {Path: "a"}})
	require.Error(t, err)
}

func TestEditsThatChangeNothingKeepTheTree(t *testing.T) {
	t.Parallel()
	o := git.NewOverlay(nil)
	base := putFiles(t, o, map[string]string{"file": "1", "dir/x": "1"})
	got, err := git.EditTree(t.Context(), o, base, []git.TreeEdit{{Path: "none"}, {Path: "dir"}, {Path: "dir/none/at/all"}})
	require.NoError(t, err)
	require.Equal(t, base, got)
	got, err = git.EditTree(t.Context(), o, base, []git.TreeEdit{{Path: "file"}, {Path: "dir/x"}})
	require.NoError(t, err)
	require.Equal(t, git.EmptyTree, got)
	sub, err := git.Lookup(t.Context(), o, base, "dir")
	require.NoError(t, err)
	got, err = git.EditTree(t.Context(), o, git.EmptyTree, []git.TreeEdit{{Path: "moved", Entry: sub}})
	require.NoError(t, err)
	require.Equal(t, putFiles(t, o, map[string]string{"moved/x": "1"}), got)
}
