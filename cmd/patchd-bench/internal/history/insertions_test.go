package history

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/diff"
)

func TestInsertionsAreCarriedBackPastThoseOfEarlierCommits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		base, parent, commit, want string
		ok                         bool
	}{
		"at the same gap, after the earlier one":      {"a\nz\n", "a\n1\nz\n", "a\n1\n2\nz\n", "a\n2\nz\n", true},
		"at the same gap, before the earlier one":     {"a\nz\n", "a\n1\nz\n", "a\n2\n1\nz\n", "a\n2\nz\n", true},
		"within what the earlier one inserted":        {"a\nz\n", "a\n1\n3\nz\n", "a\n1\n2\n3\nz\n", "a\n2\nz\n", true},
		"further down than an earlier deletion":       {"a\nb\nc\nz\n", "a\nz\n", "a\nz\nnew\n", "a\nb\nc\nz\nnew\n", true},
		"within lines that replaced others":           {"a\nb\nz\n", "a\n1\n2\nz\n", "a\n1\nnew\n2\nz\n", "", false},
		"a replacement is more than an insertion":     {"a\nz\n", "a\n1\nz\n", "a\n2\nz\n", "", false},
		"two at one gap of the base keep their order": {"a\nz\n", "a\n1\nz\n", "a\n2\n1\n3\nz\n", "a\n2\n3\nz\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := func(s string) [][]byte { return diff.Lines([]byte(s)) }
			got, ok := insertions(lines(c.parent), lines(c.base), lines(c.commit))
			require.Equal(t, c.ok, ok)
			if ok {
				require.Equal(t, c.want, string(bytes.TrimRight(got, "\x00")))
			}
		})
	}
}
