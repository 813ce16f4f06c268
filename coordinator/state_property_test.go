package coordinator_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// scene is a drawn set at a target.
type scene struct {
	base   git.OID
	tree   texts
	target git.OID
	list   []*coordinator.Submission
	in     coordinator.Inputs
}

// drawLines draws a text: of distinct lines, or of few that come again and again.
func drawLines(t *rapid.T, label string) string {
	if rapid.Bool().Draw(t, label+" repeats") {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"}\n", "a\n", "b\n", "\n"}), 3, 12).Draw(t, label), "")
	}
	return tenLines
}

// drawEdit changes a text in one place: it replaces, deletes or inserts lines like those that are there.
func drawEdit(t *rapid.T, text, label string) string {
	lines := splitLines(text)
	at := rapid.IntRange(0, len(lines)).Draw(t, label+" at")
	drop := rapid.IntRange(0, min(2, len(lines)-at)).Draw(t, label+" drop")
	fresh := rapid.SliceOfN(rapid.SampledFrom([]string{"}\n", "a\n", "new\n", label + "\n"}), 0, 2).Draw(t, label+" insert")
	return strings.Join(slices.Concat(lines[:at], fresh, lines[at+drop:]), "")
}

// drawChange changes one or two files, or adds one.
func drawChange(t *rapid.T, tree texts, label string) texts {
	out := texts{}
	for i := range rapid.IntRange(1, 2).Draw(t, label+" files") {
		path := rapid.SampledFrom([]string{"f", "f", "f", "g", "new", "NEW"}).Draw(t, fmt.Sprint(label, i, " path"))
		out[path] = drawEdit(t, tree[path], fmt.Sprint(label, i))
		if _, there := tree[path]; !there && out[path] == "" {
			out[path] = label + "\n"
		}
	}
	if _, both := out["new"]; both {
		delete(out, "NEW")
	}
	return out
}

// drawScene draws a base, a target that may have moved on, and patches that meet, depend on each other, fail or supersede.
func drawScene(t *rapid.T, b *bench, most int) scene {
	s := scene{tree: texts{"f": drawLines(t, "f"), "g": drawLines(t, "g"), coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n"}}
	s.base = b.commit("", s.tree)
	s.target = s.base
	if rapid.Bool().Draw(t, "moved") {
		s.target = b.commit(s.base, s.tree.with(drawChange(t, s.tree, "target")))
	}
	for i := range rapid.IntRange(2, most).Draw(t, "patches") {
		label := fmt.Sprint("p", i)
		change := drawChange(t, s.tree, label)
		if len(s.tree.patchTo(s.tree.with(change))) == 0 {
			continue
		}
		more := map[string]any{"title": label}
		if n := len(s.list); n > 0 {
			other := string(s.list[rapid.IntRange(0, n-1).Draw(t, label+" other")].Identity)
			switch rapid.IntRange(0, 7).Draw(t, label+" link") {
			case 0, 1, 2:
				more["depends_on"] = []string{other}
			case 3:
				more["supersedes"] = []string{other}
			}
		}
		if rapid.IntRange(0, 4).Draw(t, label+" checked") == 0 {
			more["required_checks"] = []string{"run " + rapid.SampledFrom([]string{"passed", "failed", "open"}).Draw(t, label+" check")}
		}
		s.list = append(s.list, b.make(s.base, s.tree, change, more))
	}
	s.in = at(s.target, s.list...)
	s.in.Verdicts = saying(map[string]coordinator.Verdict{"run passed": "passed", "run failed": "failed"})
	return s
}

// drawRulings settles some of the cases that are open in a state.
func drawRulings(t *rapid.T, states coordinator.States) coordinator.Rulings {
	var out coordinator.Rulings
	add := func(action coordinator.Action, id coordinator.Identity, c coordinator.Case) {
		if !rapid.Bool().Draw(t, string(action)) {
			return
		}
		digest, err := c.Digest()
		require.NoError(t, err)
		out = append(out, coordinator.Resolution{Action: action, Identity: id, Case: digest})
	}
	for _, id := range slices.Sorted(maps.Keys(states)) {
		j := states[id]
		for _, c := range j.Open {
			add(coordinator.ActionChoose, id, c)
		}
		for _, c := range j.Together {
			add(coordinator.ActionAccept, id, c)
		}
		if j.Plan == nil {
			continue
		}
		if c, ok := j.Plan.CaseFor(coordinator.ActionAccept); ok {
			add(coordinator.ActionAccept, id, c)
		}
	}
	return out
}

// shuffled is the same set by another history: in another order, with repeats, under other labels.
func shuffled(t *rapid.T, in coordinator.Inputs) coordinator.Inputs {
	again := slices.Clone(in.Members)
	if len(again) > 0 {
		again = append(again, rapid.SampledFrom(again).Draw(t, "repeated"))
	}
	in.Members = slices.Clone(rapid.Permutation(again).Draw(t, "order"))
	for i := range in.Members {
		in.Members[i].Labels = []coordinator.PatchID{coordinator.PatchID(rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "label"))}
	}
	return in
}

func TestPublishedStateIsAFunctionOfTheSetAlone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScene(rt, b, 6)
		want, _ := b.fresh(s.in)
		got, states := b.state(shuffled(rt, s.in))
		require.Equal(rt, want, got)
		requireSymmetric(rt, states)

		for range 2 {
			s.in.Rulings = append(s.in.Rulings, drawRulings(rt, states)...)
			want, _ = b.fresh(s.in)
			again := shuffled(rt, s.in)
			again.Rulings = rapid.Permutation(s.in.Rulings).Draw(rt, "rulings")
			got, states = b.state(again)
			require.Equal(rt, want, got, "under rulings")
			requireSymmetric(rt, states)
			_, err := b.engine.ComposeRound(t.Context(), s.target, sealable(states))
			require.NoError(rt, err, "what people settled can be composed")
		}
		if len(s.in.Members) == 0 {
			return
		}
		gone := rapid.IntRange(0, len(s.in.Members)-1).Draw(rt, "withdrawn")
		left := s.in
		left.Members = slices.Delete(slices.Clone(s.in.Members), gone, gone+1)
		want, _ = b.fresh(left)
		got, states = b.state(shuffled(rt, left))
		require.Equal(rt, want, got, "after a withdrawal")
		requireSymmetric(rt, states)
	})
}

// sealable are the plans that a default seal takes.
func sealable(states coordinator.States) []*coordinator.Plan {
	var out []*coordinator.Plan
	for _, id := range coordinator.Sealable(states) {
		out = append(out, states[id].Plan)
	}
	return out
}

// requireSymmetric holds contention against the contract: both are named, for the same reasons, unless one was chosen to go
// ahead; and nobody builds on what contends.
func requireSymmetric(t require.TestingT, states coordinator.States) {
	for id, j := range states {
		for _, r := range j.Status.Contention {
			other := states[coordinator.Identity(r.With)]
			require.NotNil(t, other)
			r.With = string(id)
			if len(other.Status.Resolved) == 0 {
				require.Contains(t, other.Status.Contention, r)
			}
		}
		if j.Decision == nil {
			continue
		}
		for _, d := range j.Decision.Dependencies {
			require.Empty(t, states[d.Identity].Status.Contention, "nobody builds on what contends")
		}
	}
}

func TestWithdrawingTheOnlyContenderFreesAPatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScene(rt, b, 4)
		_, states := b.state(s.in)
		for _, p := range s.list {
			with := contends(states, p)
			if len(with) != 1 || states[p.Identity].Status.Waiting != nil {
				continue
			}
			left := s.in
			left.Members = slices.DeleteFunc(slices.Clone(s.in.Members), func(m coordinator.Member) bool { return m.Identity() == with[0] })
			_, after := b.state(left)
			for _, r := range contends(after, p) {
				require.Contains(rt, freed(states, with[0]), r, "only who was held back by the one that left can be met now")
			}
		}
	})
}

// freed lists who may be compared again once a patch has left: those that were in conflict with it, depended on it or were
// superseded by it, and what was blocked.
func freed(states coordinator.States, gone coordinator.Identity) []coordinator.Identity {
	var out []coordinator.Identity
	for id, j := range states {
		if id != gone && (j.Status.Waiting != nil || j.Status.SupersededBy != "") {
			out = append(out, id)
		}
	}
	return out
}

func TestAComposedTreeKnowsNoOrderAndOfTwoIsWhatGitMakes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		s := drawScene(rt, b, 5)
		_, states := b.state(s.in)
		list := sealable(states)
		round, err := b.engine.ComposeRound(t.Context(), s.target, list)
		require.NoError(rt, err)
		again, err := b.engine.ComposeRound(t.Context(), s.target, rapid.Permutation(list).Draw(rt, "order"))
		require.NoError(rt, err)
		require.Equal(rt, round.Commits, again.Commits)
		require.Len(rt, round.Commits, len(list))
		for i, p := range list {
			for _, q := range list[:i] {
				if len(p.Decision.Dependencies)+len(q.Decision.Dependencies) > 0 {
					continue
				}
				requireGitAgrees(rt, b, s.target, p, q)
			}
		}
	})
}

func requireGitAgrees(t require.TestingT, b *bench, target git.OID, p, q *coordinator.Plan) {
	round, err := b.engine.ComposeRound(b.t.Context(), target, []*coordinator.Plan{p, q})
	require.NoError(t, err)
	merged, err := b.git.MergeTree(b.t.Context(), round.Objects, p.Decision.Target.Tree, p.Tree, q.Tree)
	require.NoError(t, err)
	require.True(t, merged.Clean)
	require.Equal(t, merged.Tree, round.Tree)
}

// TestWhatLandsIsOneTreeHoweverItIsCut lands, for all that a set has ready, one round or several in any order: whatever lands
// without a person is the same tree whenever the same patches have landed.
func TestWhatLandsIsOneTreeHoweverItIsCut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	rapid.Check(t, func(rt *rapid.T) {
		tree := texts{"f": drawLines(rt, "f")}
		base := b.commit("", tree)
		var list []*coordinator.Submission
		for i := range 3 {
			next := drawEdit(rt, tree["f"], fmt.Sprint("p", i))
			if next != tree["f"] && next != "" {
				list = append(list, b.make(base, tree, texts{"f": next}, nil))
			}
		}
		trees := map[string]git.OID{}
		for _, order := range permutations(len(list)) {
			sizes := rapid.SampledFrom(cuts(len(list))).Draw(rt, "cut")
			got := b.landInRounds(base, list, order, sizes, rapid.Bool().Draw(rt, "pending"))
			key := fmt.Sprint(slices.Sorted(maps.Keys(got.landed)))
			if known, ok := trees[key]; ok {
				require.Equal(rt, known, got.tree, "%s landed, in another way", key)
			}
			trees[key] = got.tree
		}
	})
}
