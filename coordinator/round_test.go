package coordinator_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// plans are what a state made of patches.
func plans(t *testing.T, states coordinator.States, list ...*coordinator.Submission) []*coordinator.Plan {
	t.Helper()
	var out []*coordinator.Plan
	for _, s := range list {
		require.NotNil(t, states[s.Identity].Plan, "%s: %v", s.Identity.Short(), outcomes(states, s))
		out = append(out, states[s.Identity].Plan)
	}
	return out
}

// content is a whole tree as text.
func content(t *testing.T, r git.Reader, tree git.OID) texts {
	t.Helper()
	entries, err := git.ListTree(t.Context(), r, tree)
	require.NoError(t, err)
	out := texts{}
	for _, e := range entries {
		blob, err := r.ReadBlob(t.Context(), e.OID)
		require.NoError(t, err)
		out[e.Path] = string(blob)
	}
	return out
}

func TestARoundIsOneCommitAPatchDependenciesFirstThenByIdentity(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("five", "FIVE")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	r := b.make(base, tree, texts{"g": ten("two", "TWO")}, nil)
	s := b.make(base, tree, texts{"f": ten("nine", "NINE")}, nil)
	_, states := b.state(at(base, p, q, r, s))
	list := plans(t, states, q, s, r, p)
	round, err := b.engine.ComposeRound(t.Context(), base, list)
	require.NoError(t, err)
	first := []coordinator.Identity{p.Identity, r.Identity, s.Identity}
	slices.Sort(first)
	var order []coordinator.Identity
	parent := base
	for _, c := range round.Commits {
		order = append(order, c.Identity)
		commit, err := round.Objects.ReadCommit(t.Context(), c.Commit)
		require.NoError(t, err)
		require.Equal(t, []git.OID{parent}, commit.Parents)
		require.Equal(t, c.Tree, commit.Tree)
		parent = c.Commit
	}
	require.Equal(t, append(first, q.Identity), order)
	require.Equal(t, parent, round.Head)
	require.Equal(t, texts{"f": ten("two", "TWO", "five", "FIVE", "nine", "NINE"), "g": ten("two", "TWO")}, content(t, round.Objects, round.Tree))

	slices.Reverse(list)
	again, err := b.engine.ComposeRound(t.Context(), base, list)
	require.NoError(t, err)
	require.Equal(t, round.Commits, again.Commits)

	part, err := b.engine.ComposeRound(t.Context(), base, coordinator.Subset(list, coordinator.Closed([]coordinator.Identity{q.Identity}, states)))
	require.NoError(t, err)
	require.Equal(t, states[q.Identity].Decision.Candidate.Commit, part.Head, "a closed subset of one chain is that patch's candidate")
	none, err := b.engine.ComposeRound(t.Context(), base, nil)
	require.NoError(t, err)
	require.Equal(t, base, none.Head)
}

func TestWhatDoesNotLieApartIsNotComposed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("three", "THREE")}, nil)
	_, states := b.state(at(base, p, q))
	_, err := b.engine.ComposeRound(t.Context(), base, plans(t, states, p, q))
	var apart *coordinator.NotComposableError
	require.ErrorAs(t, err, &apart)
	require.ElementsMatch(t, []coordinator.Identity{p.Identity, q.Identity}, []coordinator.Identity{apart.Left, apart.Right})
}

func TestBlocksOfAUnionPathStandInOneOrderHoweverTheyLand(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"CHANGES": "# Changes\n\n* old\n", coordinator.PolicyPath: "version: 1\nmerge:\n  union: [CHANGES]\n"}
	base := b.commit("", tree)
	var list []*coordinator.Submission
	for _, entry := range []string{"* b\n", "* c\n", "* a\n"} {
		list = append(list, b.make(base, tree, texts{"CHANGES": "# Changes\n\n" + entry + "* old\n"}, nil))
	}
	_, states := b.state(at(base, list...))
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, list...))
	round, err := b.engine.ComposeRound(t.Context(), base, plans(t, states, list...))
	require.NoError(t, err)
	want := "# Changes\n\n* a\n* b\n* c\n* old\n"
	require.Equal(t, want, content(t, round.Objects, round.Tree)["CHANGES"])
	for _, order := range permutations(3) {
		target := base
		for _, i := range order {
			_, states := b.state(at(target, list[i]))
			target = b.candidate(states, list[i])
		}
		commit, err := b.git.ReadCommit(t.Context(), target)
		require.NoError(t, err)
		require.Equal(t, want, content(t, b.git, commit.Tree)["CHANGES"], "landed as %v", order)
	}
}

// permutations lists all orders of n things.
func permutations(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, shorter := range permutations(n - 1) {
		for at := range n {
			out = append(out, slices.Insert(slices.Clone(shorter), at, n-1))
		}
	}
	return out
}

// cuts lists all ways of cutting a sequence into rounds, as the sizes of the rounds.
func cuts(n int) [][]int {
	if n == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for first := 1; first <= n; first++ {
		for _, rest := range cuts(n - first) {
			out = append(out, append([]int{first}, rest...))
		}
	}
	return out
}

// landing is what became of a set that landed in rounds without a person.
type landing struct {
	landed map[coordinator.Identity]bool
	tree   git.OID
	kept   []string // what became of each patch that did not land
}

// landInRounds seals parts of a set one after another: of each part what can be composed lands, and what is left is decided
// again at the new target. pending says that the whole set is there from the beginning; else each round's patches come with it.
func (b *bench) landInRounds(target git.OID, list []*coordinator.Submission, order, sizes []int, pending bool) landing {
	b.t.Helper()
	out := landing{landed: map[coordinator.Identity]bool{}}
	var there []*coordinator.Submission
	if pending {
		there = list
	}
	for _, size := range sizes {
		var part []*coordinator.Submission
		for _, i := range order[:size] {
			part = append(part, list[i])
		}
		order = order[size:]
		if !pending {
			there = append(there, part...)
		}
		_, states := b.state(at(target, there...))
		var ready []*coordinator.Plan
		for _, s := range part {
			if states[s.Identity].Sealable() {
				ready = append(ready, states[s.Identity].Plan)
			}
		}
		round, err := b.engine.ComposeRound(b.t.Context(), target, ready)
		require.NoError(b.t, err)
		b.keep(round.Objects)
		target, out.tree = round.Head, round.Tree
		for _, p := range ready {
			out.landed[p.Identity()] = true
		}
		there = slices.DeleteFunc(slices.Clone(there), func(s *coordinator.Submission) bool { return out.landed[s.Identity] })
	}
	_, states := b.state(at(target, there...))
	out.kept = outcomes(states, there...)
	return out
}

// TestTheRepetitiveFileGivesOneTreeOrTheSameConflicts takes three patches of which every pair commutes for git, while six
// orders of cherry-picks give two trees. The insertion into the run can stand anywhere in it, so it meets both others: pending
// together none of the three goes ahead without a person, however they are cut into rounds; and one after another nothing
// lands over what it meets.
func TestTheRepetitiveFileGivesOneTreeOrTheSameConflicts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	file := "}\na\na\na\n}\na\n}\nb\n}\n"
	tree := texts{"f": file}
	base := b.commit("", tree)
	list := []*coordinator.Submission{
		b.make(base, tree, texts{"f": "}\nA\na\na\n}\na\n}\nb\n}\n"}, nil),
		b.make(base, tree, texts{"f": "}\na\na\na\na\n}\na\n}\nb\n}\n"}, nil),
		b.make(base, tree, texts{"f": "}\na\na\n}\na\n}\na\n}\nb\n}\n"}, nil),
	}
	both := texts{"f": "}\nA\na\n}\na\n}\na\n}\nb\n}\n"}
	for _, order := range permutations(3) {
		for _, sizes := range cuts(3) {
			together := b.landInRounds(base, list, order, sizes, true)
			require.Empty(t, together.landed, "%v in rounds of %v", order, sizes)
			require.Equal(t, []string{"conflict:placement_ambiguous", "conflict:placement_ambiguous", "conflict:placement_ambiguous"}, together.kept)

			coming := b.landInRounds(base, list, order, sizes, false)
			switch {
			case coming.landed[list[1].Identity]:
				require.Len(t, coming.landed, 1, "%v in rounds of %v", order, sizes)
				require.Equal(t, list[1], list[order[0]], "it lands only where it came alone and first")
			case coming.landed[list[0].Identity] && coming.landed[list[2].Identity]:
				require.Equal(t, both, content(t, b.git, coming.tree))
			}
			for _, what := range coming.kept {
				require.Equal(t, "conflict:placement_ambiguous", what)
			}
		}
	}
}

func TestADefaultSealLeavesOutWhatGovernsTheRepositoryAndWhatBuildsOnIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, coordinator.PolicyPath: "version: 1\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n"}, nil)
	q := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	r := b.make(base, tree, texts{"f": ten("nine", "NINE")}, nil)
	in := at(base, p, q, r)
	_, states := b.state(in)
	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionApprove, p, open(t, states, p, coordinator.ActionApprove))}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, p, q, r))
	require.Equal(t, []coordinator.Identity{r.Identity}, coordinator.Sealable(states))
	require.True(t, states[p.Identity].Plan.Governs())
	broken := b.make(base, tree, texts{coordinator.PolicyPath: "version: [\n"}, nil)
	_, states = b.state(at(base, broken))
	require.Equal(t, []string{"waiting:policy_invalid"}, outcomes(states, broken), "the policy in its result must parse")
}

func TestARoundsCommandsSayWhoRequiresThem(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines, coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n  rules:\n    - paths: [g]\n      run: [run policy]\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"required_checks": []string{"run own", "run both"}})
	q := b.make(base, tree, texts{"g": ten("two", "TWO")}, map[string]any{"required_checks": []string{"run both"}})
	_, states := b.state(at(base, p, q))
	round, err := b.engine.ComposeRound(t.Context(), base, plans(t, states, p, q))
	require.NoError(t, err)
	both := []coordinator.Identity{min(p.Identity, q.Identity), max(p.Identity, q.Identity)}
	require.Equal(t, []coordinator.BlameCommand{
		{Command: "run both", RequiredBy: both},
		{Command: "run own", RequiredBy: []coordinator.Identity{p.Identity}},
		{Command: "run policy", RequiredBy: []coordinator.Identity{q.Identity}, OnTarget: true},
	}, round.Commands)
}

func TestWhatFailedIsNotSealedThoughWhatItBuildsOnIsStillUnchecked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"new": "n\n"}, map[string]any{"required_checks": []string{"run open"}})
	q := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"required_checks": []string{"run failed"}, "depends_on": []string{string(p.Identity)}})
	r := b.make(base, tree, texts{"f": ten("three", "THREE")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	in := at(base, p, q, r)
	in.Verdicts = saying(map[string]coordinator.Verdict{"run failed": "failed"})
	_, states := b.state(in)
	require.Equal(t, []string{"due", "due", "due"}, outcomes(states, p, q, r))
	require.ElementsMatch(t, []coordinator.Identity{p.Identity, r.Identity}, coordinator.Sealable(states))
}
