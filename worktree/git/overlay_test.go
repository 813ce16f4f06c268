package git_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestAnOverlayThatAdoptsAnotherReadsWhatItHolds(t *testing.T) {
	t.Parallel()
	from := git.NewOverlay(nil)
	blob := from.PutBlob([]byte("one\n"))
	made, err := from.PutTree(git.Tree{{Name: "a", Entry: git.Entry{Mode: git.ModeFile, OID: blob}}})
	require.NoError(t, err)
	data, err := git.EncodeTree(git.Tree{{Name: "b", Entry: git.Entry{Mode: git.ModeFile, OID: blob}}})
	require.NoError(t, err)
	raw := from.Put(git.TypeTree, data)

	to := git.NewOverlay(nil)
	to.PutBlob([]byte("two\n"))
	to.Adopt(from)
	to.Adopt(to)
	to.Adopt(nil)
	require.Len(t, to.Objects(), 4)
	require.Len(t, from.Objects(), 3, "the other is left as it was")
	for _, want := range []struct {
		id   git.OID
		name string
	}{{made, "a"}, {raw, "b"}, {raw, "b"}} {
		tree, err := to.ReadTree(t.Context(), want.id)
		require.NoError(t, err)
		require.Equal(t, want.name, tree[0].Name)
	}
}
