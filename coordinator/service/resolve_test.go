package service_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git/gittest"
)

// resolve does something about a patch's record as it is now.
func (w *world) resolve(key string, action coordinator.Action, with ...string) {
	w.t.Helper()
	p, err := w.svc.Patch(w.t.Context(), "", "", key)
	require.NoError(w.t, err)
	_, err = w.svc.Resolve(w.t.Context(), service.ResolveRequest{By: w.tester(), Key: key, Action: action, With: with, Why: "looked at it", ExpectedVersion: p.Version})
	require.NoError(w.t, err)
	w.quiet()
}

func TestTheChosenGoesAheadUntilANewOneMeetsIt(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	b := w.labelled("b", base, gittest.Tree{"f": edited("two", "2\n")}, nil)
	w.quiet()
	before, err := w.svc.Patch(t.Context(), "", "", "a")
	require.NoError(t, err)
	w.resolve("a", coordinator.ActionChoose, "b")
	require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome)
	require.Equal(t, coordinator.OutcomeConflict, w.status(b).Outcome)

	c := w.labelled("c", base, gittest.Tree{"f": edited("two", "zwei\n")}, nil)
	w.quiet()
	for _, id := range []coordinator.Identity{a, b, c} {
		require.Equal(t, coordinator.OutcomeConflict, w.status(id).Outcome, "a new contender is another case")
	}
	_, err = w.svc.Resolve(t.Context(), service.ResolveRequest{By: w.tester(), Key: "a", Action: coordinator.ActionChoose, Why: "too late", ExpectedVersion: before.Version})
	var answer *service.Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, service.ErrStale, answer.Code, "what was read has changed since")
	w.withdraw("c")
	w.quiet()
	require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome, "it holds again where the case is equal")
	r := w.sealed()
	require.Equal(t, []coordinator.Identity{a}, members(r, ""))
	w.land(r.Number)
	w.quiet()
	require.Equal(t, coordinator.OutcomeConflict, w.wait(b).Outcome)
	w.verified()
}

func TestAPairWhoseLinesLieApartIsAcceptedTogether(t *testing.T) {
	t.Parallel()
	w := serving(t)
	const source = "package p\n\nfunc f() int {\n\ta := 1\n\tb := 2\n\tc := 3\n\td := 4\n\treturn a + b + c + d\n}\n"
	base := w.Commit("base", gittest.Tree{"f.go": source})
	a := w.labelled("a", base, gittest.Tree{"f.go": strings.Replace(source, "a := 1", "a := 10", 1)}, nil)
	b := w.labelled("b", base, gittest.Tree{"f.go": strings.Replace(source, "d := 4", "d := 40", 1)}, nil)
	w.quiet()
	require.Equal(t, coordinator.CodeSameSymbol, w.status(a).Contention[0].Code)
	w.resolve("a", coordinator.ActionAccept, "b")
	require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome)
	require.Equal(t, coordinator.OutcomeCandidate, w.status(b).Outcome)
	r := w.sealed()
	require.Equal(t, ascending(a, b), members(r, ""))
	w.land(r.Number)
	require.Equal(t, strings.Replace(strings.Replace(source, "a := 1", "a := 10", 1), "d := 4", "d := 40", 1), w.Git("show", "main:f.go")+"\n")
	w.quiet()
	w.verified()
}

func TestWhatAPersonRejectedIsOutUntilReopened(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	b := w.labelled("b", base, gittest.Tree{"f": edited("two", "2\n")}, nil)
	w.quiet()
	w.resolve("a", coordinator.ActionReject)
	require.Equal(t, coordinator.OutcomeCandidate, w.status(b).Outcome, "nobody contends with what is rejected")
	r := w.sealed()
	require.Equal(t, []coordinator.Identity{b}, members(r, ""))
	w.resolve("a", coordinator.ActionReopen)
	require.Equal(t, coordinator.OutcomeConflict, w.status(a).Outcome)
	w.resolve("a", coordinator.ActionComment)
	w.resolve("b", coordinator.ActionReject)
	require.Equal(t, "superseded", w.round(r.Number).Status)
	require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome)
	w.verified()
}

func TestAResolutionNeedsAReasonAndSomethingOpen(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	w.quiet()
	for _, in := range []service.ResolveRequest{
		{Action: coordinator.ActionAccept},
		{Action: coordinator.ActionAccept, Why: "w"},
		{Action: coordinator.ActionAccept, Why: "w", Command: "sh x"},
		{Action: coordinator.ActionChoose, Why: "w"},
		{Action: coordinator.ActionApprove, Why: "w"},
		{Action: coordinator.ActionReopen, Why: "w"},
		{Action: coordinator.ActionSubmit, Why: "w"},
		{Action: "other", Why: "w"},
	} {
		in.By, in.Key = w.tester(), "a"
		_, err := w.svc.Resolve(t.Context(), in)
		var answer *service.Error
		require.ErrorAs(t, err, &answer, "%+v", in)
	}
	require.Empty(t, w.entries("resolution"))
}
