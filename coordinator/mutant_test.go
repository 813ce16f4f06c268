package coordinator_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// history is one way in which a set can come to be: the order of arrival, and a label for each patch.
type history struct {
	order  []int
	labels []coordinator.PatchID
}

// histories lists all orders of n patches, each under labels that rise and labels that fall.
func histories(n int) []history {
	var out []history
	for _, order := range permutations(n) {
		var up, down []coordinator.PatchID
		for i := range n {
			up, down = append(up, coordinator.PatchID(fmt.Sprint("p", i))), append(down, coordinator.PatchID(fmt.Sprint("p", n-i)))
		}
		out = append(out, history{order, up}, history{order, down})
	}
	return out
}

// decider says in words what becomes of a set, and to what tree what goes ahead composes.
type decider func(b *bench, base git.OID, list []*coordinator.Submission, h history) string

// firstDifference feeds a set to a decider in every history; it is empty where all of them come to one answer.
func firstDifference(b *bench, base git.OID, list []*coordinator.Submission, decide decider) string {
	want := ""
	for i, h := range histories(len(list)) {
		got := decide(b, base, list, h)
		if i == 0 {
			want = got
		}
		if got != want {
			return fmt.Sprintf("%v under %v: %s, not %s", h.order, h.labels, got, want)
		}
	}
	return ""
}

// arriving gives the members of a set in a history's order.
func arriving(list []*coordinator.Submission, h history) []coordinator.Member {
	var out []coordinator.Member
	for _, i := range h.order {
		out = append(out, labelled(list[i], h.labels[i]))
	}
	return out
}

// decideTogether is the engine: the set decides at once, and what goes ahead is applied at once.
func decideTogether(b *bench, base git.OID, list []*coordinator.Submission, h history) string {
	s, states := b.state(coordinator.Inputs{Target: base, Members: arriving(list, h)})
	var ready []*coordinator.Plan
	for _, i := range h.order {
		if states[list[i].Identity].Sealable() {
			ready = append(ready, states[list[i].Identity].Plan)
		}
	}
	round, err := b.engine.ComposeRound(b.t.Context(), base, ready)
	require.NoError(b.t, err)
	return string(s.StateDigest) + " " + string(round.Tree)
}

// firstArrivalWins is a queue: who comes later and meets somebody who is there already is the conflict.
func firstArrivalWins(b *bench, base git.OID, list []*coordinator.Submission, h history) string {
	return inTurn(b, base, arriving(list, h))
}

// smallestLabelWins is a queue by label.
func smallestLabelWins(b *bench, base git.OID, list []*coordinator.Submission, h history) string {
	queue := arriving(list, h)
	slices.SortFunc(queue, func(a, b coordinator.Member) int { return strings.Compare(string(a.Labels[0]), string(b.Labels[0])) })
	return inTurn(b, base, queue)
}

// inTurn takes patches one after another and keeps those that meet nobody who was kept.
func inTurn(b *bench, base git.OID, queue []coordinator.Member) string {
	var kept []coordinator.Member
	for _, m := range queue {
		_, states := b.state(coordinator.Inputs{Target: base, Members: append(slices.Clone(kept), m)})
		if states[m.Identity()].Sealable() {
			kept = append(kept, m)
		}
	}
	var out []string
	for _, m := range kept {
		out = append(out, string(m.Identity()))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// foldOneAfterAnother composes as cherry-picks do: each patch is merged by git onto what the ones before left.
func foldOneAfterAnother(b *bench, base git.OID, list []*coordinator.Submission, h history) string {
	commit, err := b.git.ReadCommit(b.t.Context(), base)
	require.NoError(b.t, err)
	objects := git.NewOverlay(b.git)
	tree := commit.Tree
	for _, i := range h.order {
		p, err := b.engine.Plan(b.t.Context(), base, list[i])
		require.NoError(b.t, err)
		for _, o := range p.Objects.Objects() {
			objects.Put(o.Type, o.Data)
		}
		merged, err := b.git.MergeTree(b.t.Context(), objects, commit.Tree, tree, p.Tree)
		require.NoError(b.t, err)
		require.True(b.t, merged.Clean)
		for _, o := range merged.Objects {
			objects.Put(o.Type, o.Data)
		}
		tree = merged.Tree
	}
	return string(tree)
}

// TestDecidersThatKnowAnOrderAreCaught holds the check of order independence against deciders that are wrong on purpose: it
// finds a difference for each, and none for the engine.
func TestDecidersThatKnowAnOrderAreCaught(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	distinct := texts{"f": tenLines}
	meeting := b.commit("", distinct)
	meet := []*coordinator.Submission{
		b.make(meeting, distinct, texts{"f": ten("two", "TWO")}, nil),
		b.make(meeting, distinct, texts{"f": ten("three", "THREE")}, nil),
		b.make(meeting, distinct, texts{"f": ten("nine", "NINE")}, nil),
	}
	repeating := texts{"f": "}\na\na\na\n}\na\n}\nb\n}\n"}
	repetitive := b.commit("", repeating)
	slide := []*coordinator.Submission{
		b.make(repetitive, repeating, texts{"f": "}\nA\na\na\n}\na\n}\nb\n}\n"}, nil),
		b.make(repetitive, repeating, texts{"f": "}\na\na\na\na\n}\na\n}\nb\n}\n"}, nil),
		b.make(repetitive, repeating, texts{"f": "}\na\na\n}\na\n}\na\n}\nb\n}\n"}, nil),
	}
	require.Empty(t, firstDifference(b, meeting, meet, decideTogether))
	require.Empty(t, firstDifference(b, repetitive, slide, decideTogether))
	require.NotEmpty(t, firstDifference(b, meeting, meet, firstArrivalWins))
	require.NotEmpty(t, firstDifference(b, meeting, meet, smallestLabelWins))
	require.NotEmpty(t, firstDifference(b, repetitive, slide, foldOneAfterAnother))
}
