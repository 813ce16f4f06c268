package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

const tenLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

func TestACleanMergeIsGits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	o := git.NewOverlay(r)
	base := s.tree(map[string]string{"f": tenLines, "other/x": "1"})
	ours := putFiles(t, o, map[string]string{"f": "0\n" + tenLines, "other/x": "1", "new": "n"})
	theirs := s.tree(map[string]string{"f": tenLines + "11\n", "other/x": "2"})
	got, err := r.MergeTree(t.Context(), o, base, ours, theirs)
	require.NoError(t, err)
	require.True(t, got.Clean)
	require.Empty(t, got.Conflicts)
	require.Equal(t, putFiles(t, o, map[string]string{"f": "0\n" + tenLines + "11\n", "other/x": "2", "new": "n"}), got.Tree)
	found, err := git.Lookup(t.Context(), got.Reader(o), got.Tree, "f")
	require.NoError(t, err)
	data, err := got.Reader(o).ReadBlob(t.Context(), found.OID)
	require.NoError(t, err)
	require.Equal(t, "0\n"+tenLines+"11\n", string(data))
	has, err := r.Has(t.Context(), got.Tree)
	require.NoError(t, err)
	require.False(t, has, "nothing reaches the repository")
	before := r.Processes()
	swapped, err := r.MergeTree(t.Context(), o, base, theirs, ours)
	require.NoError(t, err)
	require.EqualValues(t, 1, r.Processes()-before, "one process, once the readers are up")
	require.Equal(t, got.Tree, swapped.Tree)
}

func TestAConflictNamesItsStages(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	base := s.tree(map[string]string{"f": tenLines, "gone": tenLines + "gone\n"})
	ours := s.tree(map[string]string{"f": strings.Replace(tenLines, "5", "five", 1)})
	theirs := s.tree(map[string]string{"f": strings.Replace(tenLines, "5", "V", 1), "gone": tenLines + "kept\n"})
	r := s.open()
	got, err := r.MergeTree(t.Context(), nil, base, ours, theirs)
	require.NoError(t, err)
	require.False(t, got.Clean)
	var stages []string
	for _, c := range got.Conflicts {
		require.Equal(t, git.ModeFile, c.Mode)
		require.True(t, c.OID.Valid())
		stages = append(stages, c.Path+strings.Repeat("+", c.Stage))
	}
	require.Equal(t, []string{"f+", "f++", "f+++", "gone+", "gone+++"}, stages)
	kinds := map[string][]string{}
	for _, m := range got.Messages {
		kinds[m.Type] = m.Paths
	}
	require.Equal(t, []string{"f"}, kinds["CONFLICT (contents)"])
	require.Equal(t, []string{"gone"}, kinds["CONFLICT (modify/delete)"])
	found, err := git.Lookup(t.Context(), got.Reader(r), got.Tree, "f")
	require.NoError(t, err)
	data, err := got.Reader(r).ReadBlob(t.Context(), found.OID)
	require.NoError(t, err)
	require.Contains(t, string(data), "<<<<<<< ")
}

func TestRenamesAreFoundAndMovedDirectoriesAreNot(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	base := s.tree(map[string]string{"d/f": tenLines, "d/g": tenLines + "g\n"})
	ours := s.tree(map[string]string{"e/f": tenLines, "e/g": tenLines + "g\n"})
	theirs := s.tree(map[string]string{"d/f": tenLines + "11\n", "d/g": tenLines + "g\n", "d/new": "n"})
	got, err := s.open().MergeTree(t.Context(), nil, base, ours, theirs)
	require.NoError(t, err)
	require.True(t, got.Clean)
	require.Equal(t, s.tree(map[string]string{"e/f": tenLines + "11\n", "e/g": tenLines + "g\n", "d/new": "n"}), got.Tree)
}

func TestTreesThatAreEmptyOrMissing(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	tree := s.tree(map[string]string{"f": "1"})
	got, err := r.MergeTree(t.Context(), nil, git.EmptyTree, tree, git.EmptyTree)
	require.NoError(t, err)
	require.True(t, got.Clean)
	require.Equal(t, tree, got.Tree)
	_, err = r.MergeTree(t.Context(), nil, tree, tree, git.OID(strings.Repeat("1", 40)))
	require.Error(t, err)
}

// hostility is something local to a repository or a person; affects says whether plain git's merge there heeds it.
type hostility struct {
	affects bool
	plant   func(s *sandbox) *sandbox
}

func hostilities() map[string]hostility {
	attributes := func(path, content string) func(*sandbox) *sandbox {
		return func(s *sandbox) *sandbox { s.write(path, content); return s }
	}
	config := func(args ...string) func(*sandbox) *sandbox {
		return func(s *sandbox) *sandbox { s.git(append([]string{"config"}, args...)...); return s }
	}
	return map[string]hostility{
		"info/attributes":      {true, attributes(".git/info/attributes", "* -merge\n")},
		"untracked attributes": {true, attributes(".gitattributes", "* -merge\n")},
		"merge.default": {true, func(s *sandbox) *sandbox {
			s.git("config", "merge.bad.driver", "false")
			return config("merge.default", "bad")(s)
		}},
		"core.attributesFile": {true, func(s *sandbox) *sandbox {
			s.write(".git/mine", "* -merge\n")
			return config("core.attributesFile", filepath.Join(s.dir, ".git/mine"))(s)
		}},
		"home": {true, func(s *sandbox) *sandbox {
			home := s.t.TempDir()
			require.NoError(s.t, os.WriteFile(filepath.Join(home, ".gitconfig"), []byte("[core]\n attributesFile = ~/a\n"), 0o644))
			require.NoError(s.t, os.WriteFile(filepath.Join(home, "a"), []byte("* -merge\n"), 0o644))
			return s.in(s.dir, "HOME="+home)
		}},
		"environment": {true, func(s *sandbox) *sandbox {
			s.write(".git/mine", "* -merge\n")
			return s.in(s.dir, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=core.attributesFile", "GIT_CONFIG_VALUE_0="+s.dir+"/.git/mine")
		}},
		"replace ref": {true, func(s *sandbox) *sandbox {
			s.git("replace", s.git("rev-parse", "left:f"), s.git("rev-parse", "right:f"))
			return s
		}},
		"graft": {true, func(s *sandbox) *sandbox {
			s.write(".git/info/grafts", s.git("rev-parse", "left")+"\n")
			return s
		}},
		"filter": {false, func(s *sandbox) *sandbox {
			s.write(".git/info/attributes", "* filter=bad\n")
			s.git("config", "filter.bad.required", "true")
			return config("filter.bad.clean", "false")(s)
		}},
		"hooks": {false, func(s *sandbox) *sandbox {
			s.write(".git/bad/reference-transaction", "#!/bin/sh\nexit 1\n")
			return config("core.hooksPath", filepath.Join(s.dir, ".git/bad"))(s)
		}},
		"renames off": {false, config("merge.renames", "false")},
	}
}

func TestNothingLocalReachesAMerge(t *testing.T) {
	t.Parallel()
	for name, h := range hostilities() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			s.commit(map[string]string{"f": tenLines})
			s.git("branch", "base")
			s.git("checkout", "-q", "-b", "left")
			s.commit(map[string]string{"f": "0\n" + tenLines})
			s.git("checkout", "-q", "-b", "right", "base")
			s.commit(map[string]string{"f": tenLines + "11\n"})
			want := s.tree(map[string]string{"f": "0\n" + tenLines + "11\n"})
			base, left, right := s.oid("base^{tree}"), s.oid("left^{tree}"), s.oid("right^{tree}")
			plain := h.plant(s)
			out, err := plain.try("", "merge-tree", "--write-tree", "left", "right")
			require.Equal(t, h.affects, err != nil || strings.TrimSpace(out) != string(want), "plain git: %s", out)
			got, err := s.open().MergeTree(t.Context(), nil, base, left, right)
			require.NoError(t, err)
			require.True(t, got.Clean)
			require.Equal(t, want, got.Tree)
		})
	}
}

func TestOurOwnEnvironmentReachesNoGit(t *testing.T) { //nolint:paralleltest // sets the environment
	s := newSandbox(t)
	one := s.commit(map[string]string{"f": tenLines})
	base := s.oid("HEAD^{tree}")
	other := s.tree(map[string]string{"f": tenLines + "x\n"})
	for name, value := range map[string]string{
		"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere", "GIT_INDEX_FILE": "/nowhere/i", "GIT_OBJECT_DIRECTORY": "/nowhere", "GIT_COMMON_DIR": "/nowhere",
		"GIT_CONFIG_COUNT": "x", "GIT_CONFIG_PARAMETERS": "broken", "GIT_NAMESPACE": "ns", "GIT_ALTERNATE_OBJECT_DIRECTORIES": "/nowhere", "GIT_CEILING_DIRECTORIES": s.dir,
	} {
		t.Setenv(name, value)
	}
	r := s.open()
	_, err := r.ReadCommit(t.Context(), one)
	require.NoError(t, err)
	got, err := r.MergeTree(t.Context(), nil, base, other, base)
	require.NoError(t, err)
	require.Equal(t, other, got.Tree)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/x", New: one}}))
	require.FileExists(t, filepath.Join(s.dir, ".git/refs/patchd/x"))
	tree, err := r.WorktreeTree(t.Context(), s.dir, one)
	require.NoError(t, err)
	require.Equal(t, base, tree)
}

func TestAnOddlyNamedRepositoryMerges(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"with space", "with:colon", `with"quote`, "with\\back", "-dash", "star*[x]", "ünï"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			dir := filepath.Join(filepath.Dir(s.dir), name)
			require.NoError(t, os.Rename(s.dir, dir))
			s.dir = dir
			base, ours := s.tree(map[string]string{"f": "1"}), s.tree(map[string]string{"f": "2"})
			r := openAt(t, dir, git.Options{Scratch: filepath.Join(t.TempDir(), name)})
			got, err := r.MergeTree(t.Context(), nil, base, ours, base)
			require.NoError(t, err)
			require.Equal(t, ours, got.Tree)
		})
	}
}
