package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git/gittest"
)

func TestAConflictWithTheTargetCarriesItsMergeWhereTheManifestAsksForIt(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	diff := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	tip := w.Commit("moved", gittest.Tree{"f": edited("two", "zwei\n")})
	p := w.decided(w.submission(base, diff, map[string]any{"on_conflict": "merge"}))
	require.Equal(t, coordinator.OutcomeConflict, p.Outcome)
	require.NotZero(t, p.Version)
	m := p.Merge
	require.NotNil(t, m)
	require.Equal(t, "merge-candidate", m.Status)
	require.Equal(t, []string{base, tip, tip}, []string{string(m.BaseVersion), string(m.CurrentVersion), string(m.PublishAtVersion)})
	require.Equal(t, p.Identity, m.YourVersion)
	require.True(t, m.HasMarkers)
	require.Len(t, m.Files, 1)
	require.Contains(t, m.Files[0].Content, "one\n<<<<<<< ours\nTWO\n=======\nzwei\n>>>>>>> theirs\nthree\n")

	plain := w.decided(w.submission(base, diff, map[string]any{"title": "another"}))
	require.Nil(t, plain.Merge, "who does not ask sees it in the queue")
	same, err := w.svc.MergeCandidate(t.Context(), "", "", string(plain.Identity), "")
	require.NoError(t, err)
	require.Equal(t, m.Files, same.Files)
}

func TestPatchesThatContendAreShownAsTheSetPublishesThemAndMerged(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines, "g": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n"), "g": edited("one", "ONE\n")}, nil)
	b := w.labelled("b", base, gittest.Tree{"f": edited("two", "zwei\n"), "g": edited("nine", "NINE\n")}, nil)
	w.quiet()
	for id, other := range map[coordinator.Identity]coordinator.Identity{a: b, b: a} {
		p, err := w.svc.Patch(t.Context(), "", "", string(id))
		require.NoError(t, err)
		require.Equal(t, coordinator.OutcomeCandidate, p.Decision.Outcome, "by itself it is one")
		require.Equal(t, coordinator.OutcomeConflict, p.Outcome)
		require.Equal(t, coordinator.ClassTextual, p.Class)
		require.Contains(t, p.Codes, coordinator.CodeSameLines)
		require.EqualValues(t, other, p.Contention[0].With)
		m, err := w.svc.MergeCandidate(t.Context(), "", "", string(id), string(other))
		require.NoError(t, err)
		require.Equal(t, other, m.With)
		require.EqualValues(t, base, m.PublishAtVersion)
		require.Contains(t, m.Files[0].Content, "<<<<<<< ours")
	}
	list, err := w.svc.Patches(t.Context(), service.Filter{Outcome: coordinator.OutcomeConflict})
	require.NoError(t, err)
	require.Len(t, list.Patches, 2)
	state, err := w.svc.State(t.Context(), "", "")
	require.NoError(t, err)
	require.Equal(t, w.quiet(), state.StateDigest)

	w.withdraw("b")
	w.quiet()
	p, err := w.svc.Patch(t.Context(), "", "", "a")
	require.NoError(t, err)
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
	require.Empty(t, p.Contention)
	_, err = w.svc.MergeCandidate(t.Context(), "", "", "a", "")
	var none *service.Error
	require.ErrorAs(t, err, &none)
	require.Equal(t, service.ErrNotFound, none.Code)
}
