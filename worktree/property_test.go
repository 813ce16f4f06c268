package worktree

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/worktree/git"
)

// drawTree draws a small tree with repeated lines, a few names and an occasional executable.
func drawTree(t *rapid.T) files {
	out := files{}
	for _, name := range []string{"a", "b", "d/c", "D/c"}[:rapid.IntRange(1, 3).Draw(t, "files")] {
		out[name] = drawText(t, "base "+name)
	}
	return out
}

func drawText(t *rapid.T, label string) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"x\n", "y\n", "z\n", "1\n", "2\n", "3\n"}), 0, 14).Draw(t, label), "")
}

// change draws a change of a tree: lines edited, files added, deleted, renamed or made executable.
func change(t *rapid.T, base files, label string) files {
	out := files{}
	maps.Copy(out, base)
	for i := range rapid.IntRange(1, 3).Draw(t, label+" changes") {
		paths := sortedKeys(out)
		if len(paths) == 0 {
			break
		}
		at := fmt.Sprint(label, i)
		path := rapid.SampledFrom(paths).Draw(t, at+" path")
		switch rapid.IntRange(0, 9).Draw(t, at+" what") {
		case 0:
			delete(out, path)
		case 1:
			to := rapid.SampledFrom([]string{"n", "N", "m/a"}).Draw(t, at+" to")
			if _, taken := out[to]; !taken {
				out[to] = out[path]
				delete(out, path)
			}
		case 2:
			to := rapid.SampledFrom([]string{"n", "N", "m/a"}).Draw(t, at+" new")
			if _, taken := out[to]; !taken {
				out[to] = drawText(t, at)
			}
		default:
			out[path] = editLines(t, out[path], at)
		}
	}
	_, lower := out["n"]
	if _, upper := out["N"]; lower && upper {
		delete(out, "N") // a change that collides with itself is refused before it is compared
	}
	return out
}

func editLines(t *rapid.T, text, label string) string {
	lines := strings.SplitAfter(text, "\n")
	at := rapid.IntRange(0, len(lines)-1).Draw(t, label+" line")
	drop := rapid.IntRange(0, min(2, len(lines)-1-at)).Draw(t, label+" drop")
	fresh := rapid.SliceOfN(rapid.SampledFrom([]string{"x\n", "y\n", "new\n", "}\n"}), 0, 2).Draw(t, label+" insert")
	return strings.Join(slices.Concat(lines[:at], fresh, lines[at+drop:]), "")
}

// noTargets leaves out what swapping the sides may change.
func noTargets(reasons []Reason) []Reason {
	out := slices.Clone(reasons)
	for i := range out {
		out[i].TargetLines = [2]int{}
	}
	return sortReasons(out)
}

func TestCompareIsSymmetric(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		base := drawTree(rt)
		b := w.tree(base)
		left, right := w.side(b, w.tree(change(rt, base, "left"))), w.side(b, w.tree(change(rt, base, "right")))
		rules := Rules{}
		if rapid.Bool().Draw(rt, "union") {
			rules.Union = func(string) bool { return true }
		}
		one, err := Compare(t.Context(), w.ov, left, right, rules)
		require.NoError(rt, err)
		two, err := Compare(t.Context(), w.ov, right, left, rules)
		require.NoError(rt, err)
		require.Equal(rt, noTargets(one.Reasons), noTargets(two.Reasons))
		require.Equal(rt, one.Shared, two.Shared)
		require.Equal(rt, one.Alike, two.Alike)
		require.Equal(rt, one.NeedsOpinion(), two.NeedsOpinion())
		self, err := Compare(t.Context(), w.ov, left, left, rules)
		require.NoError(rt, err)
		require.Empty(rt, self.Reasons, "a change is alike with itself")
	})
}

func TestCompositionKnowsNoOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		base := drawTree(rt)
		b := w.tree(base)
		rules := Rules{}
		if rapid.Bool().Draw(rt, "union") {
			rules.Union = func(string) bool { return true }
		}
		var sides []*Side
		for i := range rapid.IntRange(1, 4).Draw(rt, "sides") {
			sides = append(sides, w.side(b, w.tree(change(rt, base, fmt.Sprint("side", i)))))
		}
		tree, contacts, err := Compose(t.Context(), w.ov, b, sides, rules)
		require.NoError(rt, err)
		order := rapid.Permutation(sides).Draw(rt, "order")
		again, contactsAgain, err := Compose(t.Context(), w.ov, b, order, rules)
		require.NoError(rt, err)
		require.Equal(rt, tree, again)
		require.Len(rt, contactsAgain, len(contacts))
		require.Equal(rt, len(contacts) > 0, tree == "")
		if len(sides) == 1 {
			require.Equal(rt, sides[0].Result, tree)
		}
	})
}

// TestEveryWayOfLandingGivesOneTree lands three changes that compose, one after another in any order: each is
// rebased over what landed before it. A commit's own diff can align repeated lines otherwise than the patch did,
// which may cost a review; but where nothing is reviewed, the last tree is the composition.
func TestEveryWayOfLandingGivesOneTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		base := files{"a": drawText(rt, "a"), "b": drawText(rt, "b")}
		b := w.tree(base)
		var sides []*Side
		for i := range 3 {
			next := files{"a": editLines(rt, base["a"], fmt.Sprint("a", i)), "b": base["b"]}
			if rapid.Bool().Draw(rt, "both") {
				next["b"] = editLines(rt, base["b"], fmt.Sprint("b", i))
			}
			if tree := w.tree(next); tree != b {
				sides = append(sides, w.side(b, tree))
			}
		}
		want, contacts, err := Compose(t.Context(), w.ov, b, sides, Rules{})
		require.NoError(rt, err)
		if len(contacts) > 0 {
			return
		}
		order := rapid.Permutation(sides).Draw(rt, "order")
		if got, reviewed := w.landAll(rt, Rules{}, b, order, false); !reviewed && got != want {
			_, reviewed = w.landAll(rt, Rules{}, b, order, true)
			require.True(rt, reviewed || w.gitObjects(rt, sides), "two trees, and nobody is asked")
		}
	})
}

// landAll lands the sides one after another. It stops, reviewed, where one has a reason; git is asked on demand.
func (w *world) landAll(t require.TestingT, rules Rules, base git.OID, sides []*Side, askGit bool) (tree git.OID, reviewed bool) {
	start := w.commit(base)
	at, tree := start, base
	for _, side := range sides {
		since, err := ReadSince(w.t.Context(), w.ov, start, at)
		require.NoError(t, err)
		var reasons []Reason
		if askGit {
			out, err := Rebase(w.t.Context(), RebaseInput{Overlay: w.ov, Merger: w.repo, Patch: side, Since: since, Rules: rules})
			require.NoError(t, err)
			reasons, tree = out.Reasons, out.Tree
		} else {
			var c *Comparison
			c, tree = w.rebaseWithoutGit(t, rules, side, since)
			reasons = c.Reasons
		}
		if len(reasons) > 0 {
			return "", true
		}
		at = w.commit(tree, at)
	}
	return tree, false
}

// gitObjects reports whether git merges some pair of the sides otherwise than the line rules do.
func (w *world) gitObjects(t require.TestingT, sides []*Side) bool {
	for i, left := range sides {
		for _, right := range sides[:i] {
			c, err := Compare(w.t.Context(), w.ov, left, right, Rules{})
			require.NoError(t, err)
			tree, _, err := Compose(w.t.Context(), w.ov, left.Base, []*Side{left, right}, Rules{})
			require.NoError(t, err)
			reasons, err := Opinion(w.t.Context(), w.repo, w.ov, c, left, right, tree)
			require.NoError(t, err)
			if len(reasons) > 0 {
				return true
			}
		}
	}
	return false
}

// rebaseWithoutGit composes a patch onto a target by the line rules alone.
func (w *world) rebaseWithoutGit(t require.TestingT, rules Rules, patch *Side, since *Since) (*Comparison, git.OID) {
	target, err := since.SideFor(w.t.Context(), w.ov, patch)
	require.NoError(t, err)
	c, err := Compare(w.t.Context(), w.ov, patch, target, rules)
	require.NoError(t, err)
	tree, err := c.onto(w.t.Context(), w.ov, target.Result)
	require.NoError(t, err)
	return c, tree
}

func TestCarriedEditsMakeTheRebasedTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		base := drawTree(rt)
		b := w.tree(base)
		patch := w.side(b, w.tree(change(rt, base, "patch")))
		mid := change(rt, base, "mid")
		since := w.since(b, w.tree(mid), w.tree(change(rt, mid, "target")))
		target, err := since.SideFor(t.Context(), w.ov, patch)
		require.NoError(rt, err)
		c, err := Compare(t.Context(), w.ov, patch, target, Rules{})
		require.NoError(rt, err)
		taken, err := occupied(t.Context(), w.ov, patch, target.Result)
		require.NoError(rt, err)
		if !c.merges() || len(taken) > 0 {
			return
		}
		tree, err := c.onto(t.Context(), w.ov, target.Result)
		require.NoError(rt, err)
		carried, err := Carry(t.Context(), w.ov, &Result{Tree: tree, Target: target, comparison: c})
		require.NoError(rt, err)
		again, contacts, err := Compose(t.Context(), w.ov, target.Result, []*Side{carried}, Rules{})
		require.NoError(rt, err)
		require.Empty(rt, contacts)
		require.Equal(rt, tree, again)
		for i := range carried.Files {
			if f := &carried.Files[i]; f.Text && f.Dst != "" {
				require.Equal(rt, w.text(f.New), applied(f))
			}
		}
	})
}

// text reads an entry's content.
func (w *world) text(e git.Entry) string {
	content, err := w.ov.ReadBlob(w.t.Context(), e.OID)
	require.NoError(w.t, err)
	return string(content)
}
