package worktree

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

// TestTheRepetitiveFileNeverGivesTwoTrees takes three patches of which every pair commutes for git, while six
// orders of cherry-picks give two trees. Pending together, the one in the middle meets both others; landed one
// after another in any order, nothing lands over what it meets.
func TestTheRepetitiveFileNeverGivesTwoTrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.tree(files{"f": "}\na\na\na\n}\na\n}\nb\n}\n"})
	sides := []*Side{
		w.side(b, w.tree(files{"f": "}\nA\na\na\n}\na\n}\nb\n}\n"})),
		w.side(b, w.tree(files{"f": "}\na\na\na\na\n}\na\n}\nb\n}\n"})),
		w.side(b, w.tree(files{"f": "}\na\na\n}\na\n}\na\n}\nb\n}\n"})),
	}
	_, contacts, err := Compose(t.Context(), w.ov, b, sides, Rules{})
	require.NoError(t, err)
	require.Len(t, contacts, 2)
	require.Equal(t, []string{"placement_ambiguous f"}, codes(contacts[0].Reasons))
	require.Equal(t, []string{"placement_ambiguous f"}, codes(contacts[1].Reasons))
	require.Equal(t, [][2]int{{0, 1}, {1, 2}}, [][2]int{{contacts[0].Left, contacts[0].Right}, {contacts[1].Left, contacts[1].Right}})

	landed := map[git.OID]bool{}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var unmet []*Side // what is not in contact with the one that goes first
		for _, i := range order {
			if order[0] != 1 && i != 1 || order[0] == 1 && i == 1 {
				unmet = append(unmet, sides[i])
			}
		}
		tree, reviewed := w.landAll(t, Rules{}, b, unmet, true)
		require.False(t, reviewed)
		_, reviewed = w.landAll(t, Rules{}, b, append(unmet, sides[map[bool]int{true: 0, false: 1}[order[0] == 1]]), true)
		require.True(t, reviewed, "what meets something landed goes to a person")
		landed[tree] = true
	}
	require.Len(t, landed, 2, "the first and the third together, or the second alone")
}
