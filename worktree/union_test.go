package worktree

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func unionOf(names ...string) Rules {
	return Rules{Union: func(path string) bool { return slices.Contains(names, path) }}
}

const changelog = "# Changes\n\n## Next\n- zero\n\n## 1.0\n- one\n"

func TestUnionPathsTakeInsertionsSideBySide(t *testing.T) {
	t.Parallel()
	add := func(entry string) files { return files{"C": edit(changelog, "## Next\n", "## Next\n"+entry)} }
	for _, c := range []struct {
		name          string
		patch, target files
		want          files
		reasons       []string
	}{
		{"in byte order, whichever landed", add("- b\n"), add("- a\n"), add("- a\n- b\n"), nil},
		{"in byte order, the other way round", add("- a\n"), add("- b\n"), add("- a\n- b\n"), nil},
		{"equal blocks count once", add("- a\n"), add("- a\n"), add("- a\n"), nil},
		{"blocks stay whole", add("- b\n  more\n"), add("- a\n  more\n"), add("- a\n  more\n- b\n  more\n"), nil},
		{"a replaced line still conflicts", files{"C": edit(changelog, "- zero\n", "- nought\n")}, files{"C": edit(changelog, "- zero\n", "- nil\n")}, nil, []string{"same_lines C"}},
		{"an insertion beside a replaced line", add("- a\n"), files{"C": edit(changelog, "- zero\n", "- nil\n")}, add("- a\n"), []string{"adjacent_lines C"}},
		{"a line without newline is no whole line", files{"C": changelog + "- x"}, files{"C": changelog + "- y"}, nil, []string{"same_lines C"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			base := w.tree(files{"C": changelog})
			got := w.rebase(unionOf("C"), base, w.tree(c.patch), w.tree(c.target))
			require.Equal(t, c.reasons, codes(got.Reasons))
			require.False(t, got.AskedGit, "git's opinion is not asked on union paths")
			if c.reasons == nil {
				require.Equal(t, c.want, w.read(got.Tree))
			}
			tree, contacts, err := Compose(t.Context(), w.ov, base, []*Side{w.side(base, w.tree(c.patch)), w.side(base, w.tree(c.target))}, unionOf("C"))
			require.NoError(t, err)
			if c.reasons == nil {
				require.Empty(t, contacts)
				require.Equal(t, got.Tree, tree, "landed since the base or pending: the same tree")
			} else {
				require.Len(t, contacts, 1)
			}
		})
	}
}

func TestUnionBlocksOfEachCommitStayWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := func(entries ...string) files {
		return files{"C": edit(changelog, "## Next\n", "## Next\n"+strings.Join(entries, ""))}
	}
	base := w.tree(files{"C": changelog})
	got := w.rebase(unionOf("C"), base, w.tree(text("- b\n")), w.tree(text("- c\n")), w.tree(text("- a\n", "- c\n")))
	require.Empty(t, got.Reasons)
	require.Equal(t, text("- a\n", "- b\n", "- c\n"), w.read(got.Tree))
	got = w.rebase(Rules{}, base, w.tree(text("- b\n")), w.tree(text("- c\n")))
	require.Equal(t, []string{"same_lines C"}, codes(got.Reasons), "without the policy two insertions at one gap conflict")
}

// TestUnionLandsInAnyOrderAsComposed holds that changelog entries reach one tree however they land.
func TestUnionLandsInAnyOrderAsComposed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	reviewed, composed := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		base := files{"C": changelog}
		b := w.tree(base)
		lines := strings.SplitAfter(changelog, "\n")
		var sides []*Side
		for i := range rapid.IntRange(2, 4).Draw(rt, "sides") {
			at := rapid.SampledFrom([]int{2, 3, 4, 6}).Draw(rt, fmt.Sprint("gap", i))
			entry := rapid.SampledFrom([]string{"- a\n", "- b\n", "- c\n", "- d\n  more\n", "- d\n  less\n", "- e\n\n", "\n- f\n"}).Draw(rt, fmt.Sprint("entry", i))
			sides = append(sides, w.side(b, w.tree(files{"C": strings.Join(slices.Concat(lines[:at], []string{entry}, lines[at:]), "")})))
		}
		want, contacts, err := Compose(t.Context(), w.ov, b, sides, unionOf("C"))
		require.NoError(rt, err)
		if len(contacts) > 0 {
			return
		}
		composed++
		got, review := w.landAll(rt, unionOf("C"), b, rapid.Permutation(sides).Draw(rt, "order"), false)
		if review {
			reviewed++
			return
		}
		require.Equal(rt, w.read(want), w.read(got))
	})
	require.Less(t, reviewed*10, composed, "few of them are reviewed")
}
