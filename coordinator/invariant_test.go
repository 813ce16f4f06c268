package coordinator_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

func TestTwoFilesOfOneInvariantAreJudgedByAPersonOrByItsCheck(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	policy := "version: 1\ninvariants:\n  - {name: wire, paths: [\"enc/**\", \"dec/**\"]}\n  - {name: schema, paths: [\"db/**\"], run: \"make schema\"}\n"
	base := b.Commit("base", gittest.Tree{".patchd.yml": policy, "enc/a": tenLines, "dec/b": tenLines, "db/c": tenLines, "other": "x\n"})
	enc := b.submit(base, b.Change(base, gittest.Tree{"enc/a": edited("two", "TWO\n")}), nil)
	dec := b.submit(base, b.Change(base, gittest.Tree{"dec/b": edited("two", "TWO\n")}), nil)
	other := b.submit(base, b.Change(base, gittest.Tree{"other": "y\n"}), nil)
	db := b.submit(base, b.Change(base, gittest.Tree{"db/c": edited("two", "TWO\n")}), nil)

	target := b.Commit("the other side changed", gittest.Tree{"dec/b": edited("nine", "NINE\n")})
	d := b.decide(target, enc)
	require.Equal(t, []coordinator.Code{coordinator.CodeInvariantShared}, d.Codes())
	require.Equal(t, coordinator.ClassBehavioral, d.Conflict.Class)
	require.Equal(t, coordinator.OutcomeCandidate, b.decide(target, other).Outcome)

	plan, err := b.engine.Plan(t.Context(), git.OID(target), db)
	require.NoError(t, err)
	require.Equal(t, []coordinator.Check{{Command: "make schema", Sources: []string{"policy"}}}, plan.Checks, "an invariant with a check is its check's business")

	_, states, err := b.engine.State(t.Context(), coordinator.Inputs{Target: git.OID(base), Members: []coordinator.Member{{Submission: enc}, {Submission: dec}, {Submission: other}}})
	require.NoError(t, err)
	require.Equal(t, coordinator.CodeInvariantShared, states[enc.Identity].Status.Contention[0].Code)
	require.Equal(t, string(dec.Identity), states[enc.Identity].Status.Contention[0].With)
	require.Equal(t, string(enc.Identity), states[dec.Identity].Status.Contention[0].With)
	require.Empty(t, states[other.Identity].Status.Contention)
}
