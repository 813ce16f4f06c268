package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/checks"
)

// cores is a monotone oracle: a command fails on every subset that holds one of its sets.
type cores map[string][][]Identity

func (c cores) answer(q SubsetQuestion) SubsetAnswer {
	for _, core := range c[q.Command] {
		if containsAll(q.Subset, core) {
			return SubsetAnswer{q, checks.VerdictFailed}
		}
	}
	return SubsetAnswer{q, checks.VerdictPassed}
}

func containsAll(set, core []Identity) bool {
	have := map[Identity]bool{}
	for _, id := range set {
		have[id] = true
	}
	for _, id := range core {
		if !have[id] {
			return false
		}
	}
	return true
}

func independent(ids ...Identity) []BlameMember {
	var out []BlameMember
	for _, id := range ids {
		out = append(out, BlameMember{Identity: id})
	}
	return out
}

func blameOf(t *testing.T, in BlameInput, answer func(SubsetQuestion) SubsetAnswer) blameRun {
	t.Helper()
	b, err := NewBlame(in)
	require.NoError(t, err)
	return drive(t, b, answer)
}

func TestBlameNamesAPairThatFailsOnlyTogetherAndTheRestIsComposedAgain(t *testing.T) {
	t.Parallel()
	all := []Identity{"a", "b", "c", "d"}
	r := blameOf(t, BlameInput{
		Members: independent(all...), Budget: 100,
		Commands: []BlameCommand{{Command: "test", RequiredBy: all, OnTarget: true}},
	}, cores{"test": {{"a", "c"}}}.answer).result

	set := FailingSet{"test", []Identity{"a", "c"}, []Identity{"a", "c"}}
	require.Equal(t, []FailingSet{set}, r.Sets)
	require.Equal(t, []BlamedMember{{"a", []FailingSet{set}}, {"c", []FailingSet{set}}}, r.Blamed)
	require.Equal(t, []Identity{"b", "d"}, r.Cleared)
	require.Equal(t, []Reason{{Class: ClassBehavioral, Code: CodeCompositionFailed, With: "c", Command: "test"}}, r.Blamed[0].Reasons())
}

func TestBlameOfAPatchThatFailsAloneIsItsOwnCheckFailed(t *testing.T) {
	t.Parallel()
	all := []Identity{"a", "b", "c"}
	r := blameOf(t, BlameInput{
		Members: independent(all...), Budget: 100,
		Commands: []BlameCommand{{Command: "test", RequiredBy: all}},
	}, cores{"test": {{"b"}}}.answer).result
	require.Len(t, r.Blamed, 1)
	require.Equal(t, []Reason{{Class: ClassBehavioral, Code: CodeCheckFailed, Command: "test"}}, r.Blamed[0].Reasons())
	require.Equal(t, []Identity{"a", "c"}, r.Cleared)
}

func TestBlameOfAnotherPatchsCheckNamesBothAndAsksOnlyWhereItIsRequired(t *testing.T) {
	t.Parallel()
	r := blameOf(t, BlameInput{
		Members: independent("a", "b", "c"), Budget: 100,
		Commands: []BlameCommand{{Command: "new test of b", RequiredBy: []Identity{"b"}}},
	}, func(q SubsetQuestion) SubsetAnswer {
		require.Contains(t, q.Subset, Identity("b"))
		return cores{"new test of b": {{"a", "b"}}}.answer(q)
	}).result
	require.Equal(t, []FailingSet{{"new test of b", []Identity{"a", "b"}, []Identity{"a", "b"}}}, r.Sets)
	require.Equal(t, []Identity{"c"}, r.Cleared)
}

func TestBlameOfADependantLeavesItsDependencyAndOfADependencyHoldsTheDependant(t *testing.T) {
	t.Parallel()
	members := []BlameMember{{Identity: "base"}, {Identity: "next", DependsOn: []Identity{"base"}}, {Identity: "other"}}
	all := []Identity{"base", "next", "other"}
	in := BlameInput{Members: members, Budget: 100, Commands: []BlameCommand{{Command: "test", RequiredBy: all}}}

	r := blameOf(t, in, cores{"test": {{"next"}}}.answer).result
	require.Equal(t, []FailingSet{{"test", []Identity{"base", "next"}, []Identity{"next"}}}, r.Sets)
	require.Equal(t, CodeCheckFailed, r.Sets[0].Code())
	require.Equal(t, []Identity{"base", "other"}, r.Cleared)

	r = blameOf(t, in, cores{"test": {{"base"}}}.answer).result
	require.Equal(t, []FailingSet{{"test", []Identity{"base"}, []Identity{"base"}}}, r.Sets)
	require.Equal(t, []Identity{"next"}, r.Held)
	require.Equal(t, []Identity{"other"}, r.Cleared)
}

func TestBlameOfNobodyWhenTheTargetIsRed(t *testing.T) {
	t.Parallel()
	all := []Identity{"a", "b", "c"}
	for _, budget := range []int{0, 100} {
		r := blameOf(t, BlameInput{
			Members: independent(all...), Budget: budget,
			Commands: []BlameCommand{{Command: "lint", RequiredBy: all, OnTarget: true}, {Command: "test", RequiredBy: all, OnTarget: true}},
		}, cores{"test": {{}}, "lint": {{"a"}}}.answer)
		require.Equal(t, &BlameResult{Stops: []BlameStop{{CodeTargetRed, "test", []Identity{}}}, Runs: 4}, r.result)
		require.Equal(t, 2, r.levels, "composed tree, then target; nothing else is run")
	}
}

func TestBlameAsksTheTargetOnlyWherePolicyOrTrailersDo(t *testing.T) {
	t.Parallel()
	all := []Identity{"a", "b"}
	r := blameOf(t, BlameInput{
		Members: independent(all...), Budget: 100,
		Commands: []BlameCommand{{Command: "own", RequiredBy: all}},
	}, func(q SubsetQuestion) SubsetAnswer {
		require.NotEmpty(t, q.Subset)
		return cores{"own": {{}}}.answer(q)
	}).result
	require.Len(t, r.Sets, 2, "each fails alone")
	require.Empty(t, r.Cleared)
}

func TestBlameBeyondTheBudgetIsWideAndNamesTheCommand(t *testing.T) {
	t.Parallel()
	all := []Identity{"a", "b", "c", "d", "e", "f", "g", "h"}
	r := blameOf(t, BlameInput{
		Members: independent(all...), Budget: 20,
		Commands: []BlameCommand{{Command: "slow", RequiredBy: all}, {Command: "unit", RequiredBy: all}},
	}, cores{"slow": {{"a", "b"}, {"c", "d"}, {"e", "f"}}, "unit": {{"h"}}}.answer).result
	require.Equal(t, []string{"slow"}, r.Unfinished)
	require.Equal(t, []FailingSet{{"unit", []Identity{"h"}, []Identity{"h"}}}, r.Sets, "the cheap search is finished")
	require.Equal(t, all[:7], r.Wide)
	require.Empty(t, r.Cleared)
}

func TestBlameSendsAllWhoTakePartInAContradictionToTheQueue(t *testing.T) {
	t.Parallel()
	all := []Identity{"a", "b", "c"}
	r := blameOf(t, BlameInput{
		Members: independent(all...), Budget: 100,
		Commands: []BlameCommand{{Command: "test", RequiredBy: all}},
	}, func(q SubsetQuestion) SubsetAnswer { // b is broken and a mends it; b and c break something else, whatever a does
		fails := containsAll(q.Subset, []Identity{"b", "c"}) || containsAll(q.Subset, []Identity{"b"}) && len(q.Subset) == 1
		if fails {
			return SubsetAnswer{q, checks.VerdictFailed}
		}
		return SubsetAnswer{q, checks.VerdictPassed}
	}).result
	require.Equal(t, []Contradiction{{"test", []Identity{"b"}, []Identity{"a", "b"}}}, r.Contradictions)
	require.Equal(t, []Identity{"a", "b"}, r.Wide)
	require.Equal(t, []Identity{"c"}, r.Cleared)
	require.Empty(t, r.Blamed)
}

func TestBlameJoinsWhatIsSaidOfOneQuestionTwice(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ a, b, want Verdict }{
		{checks.VerdictPassed, checks.VerdictFailed, checks.VerdictNondeterministic},
		{checks.VerdictInconclusive, checks.VerdictPassed, checks.VerdictPassed},
		{checks.VerdictInconclusive, VerdictAccepted, VerdictAccepted},
		{checks.VerdictFailed, VerdictAccepted, checks.VerdictFailed},
		{checks.VerdictNondeterministic, checks.VerdictPassed, checks.VerdictNondeterministic},
	} {
		require.Equal(t, c.want, joinVerdicts(c.a, c.b))
		require.Equal(t, c.want, joinVerdicts(c.b, c.a))
	}
}

func TestBlameTakesAReviewersAcceptanceForAPass(t *testing.T) {
	t.Parallel()
	r := blameOf(t, BlameInput{
		Members: independent("a"), Commands: []BlameCommand{{Command: "test", RequiredBy: []Identity{"a"}}},
	}, func(q SubsetQuestion) SubsetAnswer { return SubsetAnswer{q, VerdictAccepted} })
	require.Equal(t, []Identity{"a"}, r.result.Cleared)
}

func TestBlameRefusesARoundThatIsNotWellFormed(t *testing.T) {
	t.Parallel()
	a := []Identity{"a"}
	for name, in := range map[string]BlameInput{
		`member "a" is listed twice`:            {Members: independent("a", "a")},
		`"x" is no member of the round`:         {Members: []BlameMember{{Identity: "a", DependsOn: []Identity{"x"}}}},
		`member "a" depends on itself`:          {Members: []BlameMember{{"a", []Identity{"b"}}, {"b", a}}},
		`requirers of "t": "x" is no member`:    {Members: independent("a"), Commands: []BlameCommand{{Command: "t", RequiredBy: []Identity{"x"}}}},
		`command "t" is listed twice`:           {Members: independent("a"), Commands: []BlameCommand{{Command: "t", RequiredBy: a}, {Command: "t", RequiredBy: a}}},
		`coupled pair: "x" is no member of the`: {Members: independent("a"), Coupled: [][2]Identity{{"a", "x"}}},
	} {
		_, err := NewBlame(in)
		require.ErrorContains(t, err, name)
	}
}
