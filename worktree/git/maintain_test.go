package git_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestManySmallPacksBecomeFewAndNothingIsLost(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.commit(map[string]string{"a": "1"})
	s.git("repack", "-q", "-a", "-d")
	r := openAt(t, s.dir, git.Options{CacheBytes: 1})
	var ids []git.OID
	for i := range 40 {
		o := git.NewOverlay(r)
		ids = append(ids, o.PutBlob([]byte("unreachable "+strconv.Itoa(i))))
		require.NoError(t, r.WritePack(t.Context(), o.Objects()))
	}
	many, err := r.Packs()
	require.NoError(t, err)
	require.Equal(t, 41, many)
	for range 2 {
		require.NoError(t, r.Consolidate(t.Context(), 64<<20))
	}
	few, err := r.Packs()
	require.NoError(t, err)
	require.LessOrEqual(t, few, 2)
	for _, id := range ids {
		_, err := r.ReadBlob(t.Context(), id)
		require.NoError(t, err)
	}
	require.Empty(t, strings.TrimSpace(s.git("fsck", "--full", "--no-dangling")))
	require.NoError(t, r.WritePack(t.Context(), []git.Object{{OID: ids[0], Type: git.TypeBlob, Data: []byte("unreachable 0")}}))
	again, err := r.Packs()
	require.NoError(t, err)
	require.Equal(t, few, again)
}
