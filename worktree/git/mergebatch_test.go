package git_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestManyMergesInOneProcessAreWhatEachIsAlone(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	o := git.NewOverlay(r)
	base := s.tree(map[string]string{"f": tenLines, "gone": tenLines + "gone\n"})
	sides := []git.OID{
		base,
		s.tree(map[string]string{"f": strings.Replace(tenLines, "5", "five", 1)}),
		putFiles(t, o, map[string]string{"f": strings.Replace(tenLines, "5", "V", 1), "gone": tenLines + "kept\n"}),
		putFiles(t, o, map[string]string{"f": tenLines + "11\n", "moved": tenLines + "gone\n"}),
		git.EmptyTree,
	}
	var merges []git.Merge
	for _, ours := range sides {
		for _, theirs := range sides {
			merges = append(merges, git.Merge{Base: base, Ours: ours, Theirs: theirs})
		}
	}
	before := r.Processes()
	results, err := r.MergeTrees(t.Context(), o, merges)
	require.NoError(t, err)
	require.LessOrEqual(t, r.Processes()-before, int64(3), "one merges, two may have to be started for reading")
	require.Len(t, results, len(merges))
	for i, m := range merges {
		want, err := r.MergeTree(t.Context(), o, m.Base, m.Ours, m.Theirs)
		require.NoError(t, err)
		got := results[i]
		for _, object := range want.Objects {
			require.Contains(t, got.Objects, object)
		}
		want.Objects, got.Objects = nil, nil
		require.Equal(t, want, got)
	}
	none, err := r.MergeTrees(t.Context(), o, nil)
	require.NoError(t, err)
	require.Empty(t, none)
}
