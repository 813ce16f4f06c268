package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
)

func TestWhatBuildsOnAContendedPatchIsBlockedAtWhateverLevelTheOtherStands(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines, "h": tenLines}
	base := b.commit("", tree)
	a := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	onA := b.make(base, tree, texts{"g": ten("two", "TWO")}, map[string]any{"depends_on": []string{string(a.Identity)}})
	d := b.make(base, tree, texts{"h": ten("two", "TWO")}, nil)
	c := b.make(base, tree, texts{"f": ten("two", "2")}, map[string]any{"depends_on": []string{string(d.Identity)}})
	_, states := b.state(at(base, a, onA, d, c))
	require.Equal(t, []string{"conflict:same_lines", "waiting:blocked_by", "candidate", "conflict:same_lines"}, outcomes(states, a, onA, d, c))
	require.Equal(t, []coordinator.Identity{c.Identity}, contends(states, a))

	rival := b.make(base, tree, texts{"h": ten("two", "2")}, nil)
	_, states = b.state(at(base, a, onA, d, c, rival))
	require.Equal(t, []string{"candidate", "candidate", "conflict:same_lines", "waiting:blocked_by", "conflict:same_lines"}, outcomes(states, a, onA, d, c, rival),
		"who is blocked frees what it would have met")
}

func TestWhereEachOfTwoWouldHaveToContendForTheOtherToBeFreeBothDo(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	a := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	d := b.make(base, tree, texts{"g": ten("two", "TWO")}, nil)
	onA := b.make(base, tree, texts{"g": ten("two", "2")}, map[string]any{"depends_on": []string{string(a.Identity)}})
	onD := b.make(base, tree, texts{"f": ten("two", "2")}, map[string]any{"depends_on": []string{string(d.Identity)}})
	_, states := b.state(at(base, a, d, onA, onD))
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines", "waiting:blocked_by", "waiting:blocked_by"}, outcomes(states, a, d, onA, onD))
	require.Equal(t, []coordinator.Identity{onD.Identity}, contends(states, a))
	require.Equal(t, []coordinator.Identity{a.Identity}, contends(states, onD), "both are named, though one waits for more than that")

	_, states = b.state(at(base, a, d, onA))
	require.Equal(t, []string{"candidate", "conflict:same_lines", "conflict:same_lines"}, outcomes(states, a, d, onA))

	in := at(base, a, d, onA, onD)
	_, states = b.state(in)
	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionChoose, a, states[a.Identity].Open[0])}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "conflict:same_lines", "conflict:same_lines"}, outcomes(states, a, d, onA), "a person breaks the circle")
	require.Equal(t, coordinator.CodeBlockedBy, states[onD.Identity].Status.Waiting.Code)
}

func TestAChoiceIsOverAllContendersAtWhateverLevel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	below := b.make(base, tree, texts{"g": ten("two", "2")}, nil)
	r := b.make(base, tree, texts{"f": ten("two", "zwei")}, map[string]any{"depends_on": []string{string(below.Identity)}})
	in := at(base, p, q, below, r)
	_, states := b.state(in)
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines", "candidate", "conflict:same_lines"}, outcomes(states, p, q, below, r))
	require.Len(t, states[p.Identity].Open, 1)
	require.Len(t, states[p.Identity].Open[0].Contenders, 2)
	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionChoose, p, states[p.Identity].Open[0])}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "conflict:same_lines", "candidate", "conflict:same_lines"}, outcomes(states, p, q, below, r))
}

func TestDeclaredLinesOfAPendingPatchCountInPairs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	owned := map[string]any{"owned_hunks": []any{map[string]any{"path": "f", "start": 2, "end": 6}}}
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, owned)
	q := b.make(base, tree, texts{"f": ten("six", "SIX")}, nil)
	r := b.make(base, tree, texts{"f": ten("nine", "NINE")}, nil)
	_, states := b.state(at(base, p, q, r))
	require.Equal(t, []string{"conflict:owned_range_changed", "conflict:owned_range_changed", "candidate"}, outcomes(states, p, q, r))

	moved := b.commit(base, texts{"f": "zero\nnull\n" + ten("ten", "TEN")})
	_, states = b.state(at(moved, p, q, r))
	require.Equal(t, []string{"conflict:owned_range_changed", "conflict:owned_range_changed", "conflict:adjacent_lines"}, outcomes(states, p, q, r), "claims are carried to the target")
	require.Equal(t, coordinator.LineRange{4, 8}, *states[p.Identity].Status.Contention[0].BaseLines)

	below := b.make(base, tree, texts{"f": "zero\n" + tenLines}, nil)
	q = b.make(base, tree, texts{"f": ten("six", "SIX")}, map[string]any{"depends_on": []string{string(below.Identity)}})
	r = b.make(base, tree, texts{"f": ten("seven", "SEVEN")}, map[string]any{"depends_on": []string{string(below.Identity)}})
	_, states = b.state(at(base, p, below, q))
	require.Equal(t, []string{"conflict:owned_range_changed", "candidate", "conflict:owned_range_changed"}, outcomes(states, p, below, q), "and past what the other builds on")
	_, states = b.state(at(base, p, below, r))
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, p, below, r))
}

func TestCreatedPathsOfPendingPatchesThatCannotStandTogetherContend(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	for _, pair := range [][2]string{{"new/a", "new/A"}, {"new", "new/a"}, {"New/a", "new/b"}, {"\u00e9", "e\u0301"}} {
		p := b.make(base, tree, texts{pair[0]: "p\n"}, nil)
		q := b.make(base, tree, texts{pair[1]: "q\n"}, nil)
		_, states := b.state(at(base, p, q))
		require.Equal(t, []string{"conflict:add_add", "conflict:add_add"}, outcomes(states, p, q), "%q", pair)
	}
	same := b.make(base, tree, texts{"new": "p\n"}, nil)
	again := b.make(base, tree, texts{"new": "p\n"}, map[string]any{"title": "The same under another title"})
	_, states := b.state(at(base, same, again))
	require.Equal(t, []string{"candidate", "candidate"}, outcomes(states, same, again), "identical edits raise nothing")
}

func TestWhatRoundsFoundHoldsWhileAllConcernedAreInTheSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines, "h": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"g": ten("two", "TWO")}, nil)
	r := b.make(base, tree, texts{"h": ten("two", "TWO")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	next := b.make(base, tree, texts{"g": ten("two", "2")}, map[string]any{"supersedes": []string{string(q.Identity)}})
	in := at(base, p, q, r)
	for _, s := range []*coordinator.Submission{p, q} {
		in.Blames = append(in.Blames, coordinator.RecordedBlame{
			Identity: s.Identity, Target: base, Code: coordinator.CodeCompositionFailed, Command: "run", Subset: []coordinator.Identity{p.Identity, q.Identity},
		})
	}
	_, states := b.state(in)
	require.Equal(t, coordinator.OutcomeConflict, states[p.Identity].Status.Outcome)
	require.Equal(t, string(q.Identity), states[p.Identity].Status.Blame[0].With)
	require.Equal(t, coordinator.CodeBlockedBy, states[r.Identity].Status.Waiting.Code)
	require.Empty(t, coordinator.Sealable(states))

	in.Members = members(p, q, r, next)
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "superseded", "candidate", "candidate"}, outcomes(states, p, q, r, next), "one of the two has left the set")
	in.Members, in.Target = members(p, q, r), b.commit(base, tree.with(texts{"new": "n\n"}))
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, p, q, r), "another target, another question")
}
