package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
)

// ruling is a resolution of a case.
func ruling(t *testing.T, action coordinator.Action, s *coordinator.Submission, c coordinator.Case) coordinator.Resolution {
	t.Helper()
	digest, err := c.Digest()
	require.NoError(t, err)
	return coordinator.Resolution{Action: action, Identity: s.Identity, Case: digest}
}

// open is the case of a patch's own record that an action may settle.
func open(t *testing.T, states coordinator.States, s *coordinator.Submission, action coordinator.Action) coordinator.Case {
	t.Helper()
	require.NotNil(t, states[s.Identity].Plan)
	c, ok := states[s.Identity].Plan.CaseFor(action)
	require.True(t, ok, "%s has nothing to %s", s.Identity.Short(), action)
	return c
}

func TestAnAcceptedConflictContendsLikeACandidate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": "a\na\nb\nc\nd\ne\nf\ng\nh\n"}
	base := b.commit("", tree)
	target := b.commit(base, texts{"f": "A\na\nb\nc\nd\ne\nf\ng\nh\n"})
	p := b.make(base, tree, texts{"f": "a\na\na\nb\nc\nd\ne\nf\ng\nh\n"}, nil) // slides over the line that was changed
	q := b.make(target, texts{"f": "A\na\nb\nc\nd\ne\nf\ng\nh\n"}, texts{"f": "A\na\nB\nc\nd\ne\nf\ng\nh\n"}, nil)
	in := at(target, p, q)
	_, states := b.state(in)
	require.Equal(t, []string{"conflict:placement_ambiguous", "candidate"}, outcomes(states, p, q))

	accepted := ruling(t, coordinator.ActionAccept, p, open(t, states, p, coordinator.ActionAccept))
	in.Rulings = coordinator.Rulings{accepted}
	_, states = b.state(in)
	require.Equal(t, coordinator.OutcomeConflict, states[p.Identity].Status.Outcome)
	require.Equal(t, []coordinator.Identity{q.Identity}, contends(states, p))
	require.Equal(t, []coordinator.Identity{p.Identity}, contends(states, q))

	in.Members = members(p)
	_, states = b.state(in)
	require.Equal(t, []string{"candidate"}, outcomes(states, p))
	require.NotEmpty(t, states[p.Identity].Decision.Resolved)
}

const twoFuncs = "package p\n\nfunc f() int {\n\ta := 1\n\tb := 2\n\tc := 3\n\treturn a + b + c\n}\n\nfunc g() int { return 0 }\n"

func TestAContendedPairWhoseLinesLieApartCanBeAcceptedTogether(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f.go": twoFuncs}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f.go": replaced(twoFuncs, "a := 1", "a := 10")}, nil)
	q := b.make(base, tree, texts{"f.go": replaced(twoFuncs, "c := 3", "c := 30")}, nil)
	in := at(base, p, q)
	_, states := b.state(in)
	require.Equal(t, []string{"conflict:same_symbol", "conflict:same_symbol"}, outcomes(states, p, q))
	c, ok := states[p.Identity].PairCase(q.Identity)
	require.True(t, ok)
	other, ok := states[q.Identity].PairCase(p.Identity)
	require.True(t, ok)
	require.Equal(t, c, other, "one case, from both sides")
	require.NotEmpty(t, c.Blobs[0].Blob, "it names what comes of both")

	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionAccept, q, c)}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "candidate"}, outcomes(states, p, q))
	require.Equal(t, []coordinator.Case{c}, states[p.Identity].Status.Resolved)
	require.Equal(t, []coordinator.Case{c}, states[q.Identity].Status.Resolved)
	round, err := b.engine.ComposeRound(t.Context(), base, []*coordinator.Plan{states[p.Identity].Plan, states[q.Identity].Plan})
	require.NoError(t, err)
	require.Len(t, round.Commits, 2)

	elsewhere := b.commit(base, tree.with(texts{"g": "g\n"}))
	in.Target = elsewhere
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "candidate"}, outcomes(states, p, q), "the case is the same at another target")
	in.Target = b.commit(base, texts{"f.go": replaced(twoFuncs, "return 0", "return 1")})
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:same_symbol", "conflict:same_symbol"}, outcomes(states, p, q), "another result is another case")
}

func TestTheChosenGoesAheadTheOthersStayAndANewContenderVoidsTheChoice(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	r := b.make(base, tree, texts{"f": ten("two", "zwei")}, nil)
	in := at(base, p, q)
	_, states := b.state(in)
	require.Empty(t, states[p.Identity].Together, "same lines cannot be applied at once")
	require.Len(t, states[p.Identity].Open, 1)
	choice := ruling(t, coordinator.ActionChoose, p, states[p.Identity].Open[0])
	in.Rulings = coordinator.Rulings{choice}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "conflict:same_lines"}, outcomes(states, p, q))
	require.Len(t, states[p.Identity].Status.Resolved, 1)

	in.Members = members(p, q, r)
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines", "conflict:same_lines"}, outcomes(states, p, q, r))
	in.Members = members(q, p)
	_, states = b.state(in)
	require.Equal(t, []string{"candidate", "conflict:same_lines"}, outcomes(states, p, q), "the case comes back, and the choice holds again")

	in.Rulings = append(in.Rulings, ruling(t, coordinator.ActionChoose, q, states[q.Identity].Open[0]))
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines"}, outcomes(states, p, q), "choices that contradict each other decide nothing")
}

func TestAnApprovalHoldsForTheContentThatWasApproved(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, coordinator.PolicyPath: "version: 1\nowners:\n  - paths: ['f']\n    approvers: [ann]\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	in := at(base, p)
	_, states := b.state(in)
	require.Equal(t, []string{"conflict:owner_approval"}, outcomes(states, p))
	approval := ruling(t, coordinator.ActionApprove, p, open(t, states, p, coordinator.ActionApprove))
	in.Rulings = coordinator.Rulings{approval}
	_, states = b.state(in)
	require.Equal(t, []string{"candidate"}, outcomes(states, p))
	in.Target = b.commit(base, tree.with(texts{"g": "g\n"}))
	_, states = b.state(in)
	require.Equal(t, []string{"candidate"}, outcomes(states, p), "a target that moves elsewhere leaves it standing")
	in.Target = b.commit(base, tree.with(texts{"f": ten("nine", "NINE")}))
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:owner_approval"}, outcomes(states, p), "another result needs another approval")
}

func TestACaseIsASet(t *testing.T) {
	t.Parallel()
	one := coordinator.Case{Identities: []coordinator.Identity{"b", "a"}, Codes: []coordinator.Code{"y", "x", "y"}}
	two := coordinator.Case{Identities: []coordinator.Identity{"a", "b", "a"}, Codes: []coordinator.Code{"x", "y"}}
	first, err := one.Digest()
	require.NoError(t, err)
	second, err := two.Digest()
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.Equal(t, []coordinator.Code{"y", "x", "y"}, one.Codes, "digesting a case leaves it as it is")
	require.Equal(t, two.Sorted(), one.Sorted())
}
