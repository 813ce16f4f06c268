package ownership_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/ownership"
)

func TestFilesThatCanReferToTheOtherSideAreLoaded(t *testing.T) {
	t.Parallel()
	left := []string{"a/x.go", "a/y.go", "README.md", "b/z.py"}
	right := []string{"a/x.go", "a/w.go", "c/v.go", "a/deep/u.go", "d/t.rs", "data.json"}
	l := ownership.NewLoading()
	require.Equal(t, []string{"a/x.go", "a/w.go", "a/y.go", "a/deep/u.go", "c/v.go"}, l.Files(left, right, 10))
	require.Equal(t, []string{"a/x.go", "a/w.go"}, l.Files(left, right, 1), "shared files are always in")
	require.Equal(t, l.Files(left, right, 3), l.Files(right, left, 3))
}
