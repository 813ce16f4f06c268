package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

const (
	callee  = "package p\n\n// Parse reads a header.\nfunc Parse(s string) int {\n\tn := len(s)\n\treturn n + 1\n}\n"
	renamed = "package p\n\n// ReadHeader reads a header.\nfunc ReadHeader(s string) int {\n\tn := len(s)\n\treturn n + 1\n}\n"
	caller  = "package p\n\nfunc Use() int {\n\treturn 1\n}\n"
	calling = "package p\n\nfunc Use() int {\n\treturn 1\n}\n\nfunc More() int {\n\treturn Parse(\"x\")\n}\n"
)

func TestARenameHereAndANewCallerThereMeetAcrossFiles(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"a.go": callee, "b.go": caller, "c.go": "package p\n\nfunc Other() int {\n\treturn 3\n}\n"})
	rename := b.Change(base, gittest.Tree{"a.go": renamed})
	call := b.Change(base, gittest.Tree{"b.go": calling})
	harmless := b.Change(base, gittest.Tree{"c.go": "package p\n\nfunc Other() int {\n\treturn 33\n}\n"})

	b.Checkout(base)
	called := b.Commit("a caller landed", gittest.Tree{"b.go": calling})
	d := b.decide(called, b.submit(base, rename, nil))
	require.Equal(t, coordinator.OutcomeConflict, d.Outcome)
	require.Equal(t, coordinator.ClassStructural, d.Conflict.Class, "%v", d.Codes())
	require.Contains(t, []coordinator.Code{coordinator.CodeReferenceBroken, coordinator.CodeSymbolRenamed}, d.Codes()[0])

	b.Checkout(base)
	gone := b.Commit("the rename landed", gittest.Tree{"a.go": renamed})
	require.Equal(t, d.Codes(), b.decide(gone, b.submit(base, call, nil)).Codes(), "the other way round")
	require.Equal(t, coordinator.OutcomeCandidate, b.decide(gone, b.submit(base, harmless, nil)).Outcome)

	_, states, err := b.engine.State(t.Context(), coordinator.Inputs{
		Target: git.OID(base), Members: []coordinator.Member{
			{Submission: b.submit(base, rename, nil)}, {Submission: b.submit(base, call, nil)}, {Submission: b.submit(base, harmless, nil)},
		},
	})
	require.NoError(t, err)
	contending := 0
	for _, j := range states {
		if len(j.Status.Contention) > 0 {
			contending++
		}
	}
	require.Equal(t, 2, contending, "pending patches meet across files too, and the third is nobody's business")
}

func TestCoupledEditsAreReportedAndDecideNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	source := "package p\n\nfunc scale(n int) int {\n\treturn n * 2\n}\n\nfunc Area(w, h int) int {\n\treturn scale(w) * scale(h)\n}\n"
	base := b.Commit("base", gittest.Tree{"a.go": source})
	one := b.submit(base, b.Change(base, gittest.Tree{"a.go": "package p\n\nfunc scale(n int) int {\n\treturn n * 3\n}\n\nfunc Area(w, h int) int {\n\treturn scale(w) * scale(h)\n}\n"}), nil)
	two := b.submit(base, b.Change(base, gittest.Tree{"a.go": "package p\n\nfunc scale(n int) int {\n\treturn n * 2\n}\n\nfunc Area(w, h int) int {\n\treturn 4 * scale(w) * scale(h)\n}\n"}), nil)
	_, states, err := b.engine.State(t.Context(), coordinator.Inputs{Target: git.OID(base), Members: []coordinator.Member{{Submission: one}, {Submission: two}}})
	require.NoError(t, err)
	for id, other := range map[coordinator.Identity]coordinator.Identity{one.Identity: two.Identity, two.Identity: one.Identity} {
		require.Equal(t, coordinator.OutcomeCandidate, states[id].Status.Outcome)
		require.NotEmpty(t, states[id].Status.Coupled)
		require.Equal(t, string(other), states[id].Status.Coupled[0].With)
	}
}

func TestASectionOfAUnionPathIsNobodysSymbol(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	log := "# Changes\n\n## Unreleased\n\n* first\n"
	base := b.Commit("base", gittest.Tree{"CHANGELOG.md": log, ".patchd.yml": "version: 1\nmerge: {union: [CHANGELOG.md]}\n"})
	one := b.submit(base, b.Change(base, gittest.Tree{"CHANGELOG.md": log + "* one\n"}), nil)
	two := b.submit(base, b.Change(base, gittest.Tree{"CHANGELOG.md": log + "* two\n"}), nil)
	_, states, err := b.engine.State(t.Context(), coordinator.Inputs{Target: git.OID(base), Members: []coordinator.Member{{Submission: one}, {Submission: two}}})
	require.NoError(t, err)
	require.Equal(t, coordinator.OutcomeCandidate, states[one.Identity].Status.Outcome)
	require.Equal(t, coordinator.OutcomeCandidate, states[two.Identity].Status.Outcome)
}
