package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// labelled gives a submission's member other labels.
func labelled(s *coordinator.Submission, labels ...coordinator.PatchID) coordinator.Member {
	return coordinator.Member{Submission: s, Labels: labels}
}

func TestADependencyIsNamedByIdentityOrByALabelThatStandsForOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	other := b.make(base, tree, texts{"g": ten("two", "TWO")}, nil)
	byID := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	byLabel := b.make(base, tree, texts{"f": ten("six", "SIX")}, map[string]any{"depends_on": []string{"first"}})
	in := coordinator.Inputs{Target: base, Members: []coordinator.Member{labelled(p, "first"), labelled(other, "second"), labelled(byID), labelled(byLabel)}}
	_, states := b.state(in)
	require.Equal(t, []string{"candidate", "candidate", "candidate", "candidate"}, outcomes(states, p, other, byID, byLabel))
	for _, s := range []*coordinator.Submission{byID, byLabel} {
		d := states[s.Identity].Decision
		require.Equal(t, []coordinator.Dependency{{Identity: p.Identity, Commit: states[p.Identity].Decision.Candidate.Commit}}, d.Dependencies)
		require.Equal(t, d.Dependencies[0].Commit, d.Candidate.Parent)
	}

	in.Members[1].Labels = append(in.Members[1].Labels, "first")
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "waiting:dependency_ambiguous"}, outcomes(states, byID, byLabel))
	in.Members = in.Members[1:]
	in.Members[0].Labels = nil
	_, states = b.state(in)
	require.Equal(t, []string{"waiting:dependency_unknown", "waiting:dependency_unknown"}, outcomes(states, byID, byLabel))
}

func TestAnIdentityMeansItselfWhoeverUsesItAsALabel(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	other := b.make(base, tree, texts{"g": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	_, states := b.state(coordinator.Inputs{Target: base, Members: []coordinator.Member{labelled(other, coordinator.PatchID(p.Identity)), labelled(p), labelled(q)}})
	require.Equal(t, []string{"candidate"}, outcomes(states, q))
}

func TestADependantWaitsWhileWhatItBuildsOnIsNoCandidate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines, coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"required_checks": []string{"run p"}})
	q := b.make(base, tree, texts{"g": ten("two", "TWO")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	r := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{string(q.Identity)}})
	rival := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	third := b.make(base, tree, texts{"f": ten("nine", "9")}, nil)
	in := at(base, p, q, r, third)

	_, states := b.state(in)
	require.Equal(t, []string{"due", "due", "due", "candidate"}, outcomes(states, p, q, r, third))
	require.NotNil(t, states[r.Identity].Plan, "it has a plan while the checks of what it builds on run")
	require.Empty(t, states[q.Identity].Asks)

	in.Verdicts = saying(map[string]coordinator.Verdict{"run p": "failed"})
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:check_failed", "waiting:blocked_by", "waiting:blocked_by", "candidate"}, outcomes(states, p, q, r, third))
	require.Equal(t, []coordinator.Identity{p.Identity}, states[q.Identity].Status.BlockedBy)

	in.Verdicts = saying(map[string]coordinator.Verdict{"run p": "passed"})
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "candidate", "conflict:same_lines", "conflict:same_lines"}, outcomes(states, p, q, r, third))

	in.Members = members(p, q, r, third, rival)
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:same_lines", "waiting:blocked_by", "waiting:blocked_by", "candidate", "conflict:same_lines"}, outcomes(states, p, q, r, third, rival),
		"what is blocked is compared with nobody")
}

func TestACircleOfDependenciesWaitsWholeAndHoldsBackOnlyWhatBuildsOnIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines, "h": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"depends_on": []string{"q"}})
	q := b.make(base, tree, texts{"g": ten("two", "TWO")}, map[string]any{"depends_on": []string{"p"}})
	r := b.make(base, tree, texts{"h": ten("two", "TWO")}, map[string]any{"depends_on": []string{"q"}})
	free := b.make(base, tree, texts{"h": ten("nine", "NINE")}, nil)
	in := coordinator.Inputs{Target: base, Members: []coordinator.Member{labelled(p, "p"), labelled(q, "q"), labelled(r, "r"), labelled(free)}}
	_, states := b.state(in)
	require.Equal(t, []string{"waiting:dependency_cycle", "waiting:dependency_cycle", "waiting:blocked_by", "candidate"}, outcomes(states, p, q, r, free))
	in.Members = in.Members[1:]
	_, states = b.state(in)
	require.Equal(t, []string{"waiting:dependency_unknown", "waiting:blocked_by"}, outcomes(states, q, r))
}

func TestASuccessorThatIsNotRejectedTakesThePlaceOfThePatch(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	old := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	next := b.make(base, tree, texts{"f": ten("two", "2")}, map[string]any{"supersedes": []string{string(old.Identity)}})
	last := b.make(base, tree, texts{"f": ten("two", "zwei")}, map[string]any{"supersedes": []string{string(next.Identity)}})
	bad := b.make(base, tree.with(texts{"f": ten("one", "1")}), texts{"f": ten("three", "3")}, map[string]any{"supersedes": []string{string(old.Identity)}})
	child := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{string(old.Identity)}})

	_, states := b.state(at(base, old, next, child))
	require.Equal(t, []string{"superseded", "candidate", "candidate"}, outcomes(states, old, next, child))
	require.Equal(t, next.Identity, states[old.Identity].Status.SupersededBy)
	require.Equal(t, next.Identity, states[child.Identity].Decision.Dependencies[0].Identity, "a dependency is followed to its successor")

	_, states = b.state(at(base, old, next, last, child))
	require.Equal(t, []string{"superseded", "superseded", "candidate"}, outcomes(states, old, next, last))
	require.Equal(t, last.Identity, states[child.Identity].Decision.Dependencies[0].Identity)

	_, states = b.state(at(base, old, bad, child))
	require.Equal(t, []string{"candidate", "rejected:patch_does_not_apply", "candidate"}, outcomes(states, old, bad, child), "a rejected successor takes nobody's place")

	s, _ := b.state(at(base, old, child))
	after, _ := b.state(at(base, old, bad, child))
	require.Equal(t, s, after)
}

func TestADependencyWithTwoSuccessorsIsAmbiguousAndTheyContend(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	old := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	one := b.make(base, tree, texts{"f": ten("two", "2")}, map[string]any{"supersedes": []string{string(old.Identity)}})
	two := b.make(base, tree, texts{"f": ten("two", "zwei")}, map[string]any{"supersedes": []string{string(old.Identity)}})
	child := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{string(old.Identity)}})
	_, states := b.state(at(base, old, one, two, child))
	require.Equal(t, []string{"superseded", "conflict:same_lines", "conflict:same_lines", "waiting:dependency_ambiguous"}, outcomes(states, old, one, two, child))
}

func TestPatchesThatSupersedeEachOtherInACircleAllStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"supersedes": []string{"q"}})
	q := b.make(base, tree, texts{"f": ten("six", "SIX")}, map[string]any{"supersedes": []string{"p"}})
	third := b.make(base, tree, texts{"f": ten("nine", "NINE")}, nil)
	r := b.make(base, tree, texts{"f": ten("four", "FOUR")}, map[string]any{"supersedes": []string{string(third.Identity), "r"}})
	_, states := b.state(coordinator.Inputs{Target: base, Members: []coordinator.Member{labelled(p, "p"), labelled(q, "q"), labelled(third), labelled(r, "r")}})
	require.Equal(t, []string{"candidate", "candidate", "superseded", "candidate"}, outcomes(states, p, q, third, r))
}

func TestALabelGivenAgainToTheSuccessorStandsForTheSuccessor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	old := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	next := b.make(base, tree, texts{"f": ten("two", "2")}, map[string]any{"supersedes": []string{"p-204"}})
	child := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{"p-204"}})
	_, states := b.state(coordinator.Inputs{Target: base, Members: []coordinator.Member{labelled(old, "p-204"), labelled(next, "p-204"), labelled(child)}})
	require.Equal(t, []string{"superseded", "candidate", "candidate"}, outcomes(states, old, next, child))
}

func TestALandedDependencyIsSatisfiedAndALandedSuccessorKeepsItsPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	old := b.make(base, tree, texts{"g": ten("one", "1")}, nil)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"supersedes": []string{string(old.Identity)}})
	child := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{"p"}})
	_, states := b.state(at(base, p, child))
	plan := states[p.Identity].Plan
	b.keep(plan.Objects)
	landed := plan.Decision.Candidate.Commit

	landing := coordinator.Landing{Identity: p.Identity, Labels: []coordinator.PatchID{"p"}, Supersedes: []string{string(old.Identity)}, Commit: string(landed), Counts: true}
	in := at(landed, old, child)
	in.Members[1].Labels = nil
	in.Members[0].Labels = nil
	in.Landings = []coordinator.Landing{landing}
	_, states = b.state(in)
	require.Equal(t, []string{"superseded", "candidate"}, outcomes(states, old, child))
	require.Empty(t, states[child.Identity].Decision.Dependencies)
	require.Equal(t, landed, states[child.Identity].Decision.Candidate.Parent)

	in = at(base, p, old, child) // taken back by force
	in.Members[1].Labels, in.Members[2].Labels = nil, nil
	landing.Counts = false
	in.Landings = []coordinator.Landing{landing}
	_, states = b.state(in)
	require.Equal(t, []string{"waiting:landing_reverted", "superseded", "waiting:blocked_by"}, outcomes(states, p, old, child))
}

func TestAPatchThatTheTargetCarriesSatisfiesThoseThatNameIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	child := b.make(base, tree, texts{"f": ten("nine", "NINE")}, map[string]any{"depends_on": []string{string(p.Identity)}})
	plan, err := b.engine.Plan(t.Context(), base, p)
	require.NoError(t, err)
	b.keep(plan.Objects)
	_, states := b.state(at(plan.Decision.Candidate.Commit, child))
	require.Equal(t, []string{"candidate"}, outcomes(states, child), "whoever landed it")
	_, states = b.state(at(base, child))
	require.Equal(t, []string{"waiting:dependency_unknown"}, outcomes(states, child))
}

// revertedTo is a recorded landing that is no ancestor of the target.
func revertedTo(s *coordinator.Submission, commit git.OID) coordinator.Landing {
	return coordinator.Landing{Identity: s.Identity, Commit: string(commit)}
}

func TestALandingThatWasTakenBackWaitsForAPersonEachTime(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	rival := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	first, second := b.commit(base, tree.with(texts{"a": "1\n"})), b.commit(base, tree.with(texts{"a": "2\n"}))
	in := at(base, p, rival)
	in.Landings = []coordinator.Landing{revertedTo(p, first)}
	_, states := b.state(in)
	require.Equal(t, []string{"waiting:landing_reverted", "candidate"}, outcomes(states, p, rival))

	c, err := b.engine.ReopenCase(t.Context(), base, p, in.Landings)
	require.NoError(t, err)
	require.Equal(t, open(t, states, p, coordinator.ActionReopen), c)
	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionReopen, p, c)}
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines"}, outcomes(states, p, rival), "it is one of the set again")

	in.Landings = append(in.Landings, revertedTo(p, second))
	_, states = b.state(in)
	require.Equal(t, []string{"waiting:landing_reverted", "candidate"}, outcomes(states, p, rival), "what was reopened once does not land again by itself")
}

func TestWhatTheTargetCarriesHasLandedUntilAPersonReopensIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	plan, err := b.engine.Plan(t.Context(), base, p)
	require.NoError(t, err)
	b.keep(plan.Objects)
	reverted := b.commit(plan.Decision.Candidate.Commit, tree)
	in := at(reverted, p)
	_, states := b.state(in)
	require.Equal(t, []string{"waiting:already_landed"}, outcomes(states, p))
	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionReopen, p, open(t, states, p, coordinator.ActionReopen))}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate"}, outcomes(states, p))
}
