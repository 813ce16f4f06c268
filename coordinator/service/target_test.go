package service_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git/gittest"
)

func TestWhoeverMovesTheTargetHasEverythingDecidedAgain(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)
	p := w.decided(in)
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
	first := p.Candidate

	committed := w.Commit("by a commit", gittest.Tree{"f": edited("nine", "NINE\n")})
	p = w.at(p.Identity, committed)
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
	require.NotEqual(t, first, p.Candidate)
	require.Equal(t, string(p.Candidate), w.ref(candidateRef(p.Identity)))

	w.Git("checkout", "-q", "-b", "side")
	pushed := w.Commit("pushed", gittest.Tree{"f": edited("two", "2\n")})
	w.Git("push", "-q", w.Dir(), "side:main")
	p = w.at(p.Identity, pushed)
	require.Equal(t, coordinator.OutcomeConflict, p.Outcome)
	require.Empty(t, w.ref(candidateRef(p.Identity)), "what is no candidate has no candidate ref")

	w.Git("push", "-q", "-f", w.Dir(), base+":refs/heads/main")
	p = w.at(p.Identity, base)
	require.Equal(t, first, p.Candidate, "the same inputs give the same commit")
	require.Equal(t, string(first), w.ref(candidateRef(p.Identity)))

	w.Git("update-ref", "-d", "refs/heads/main")
	w.Git("branch", "main", committed)
	p = w.at(p.Identity, committed)
	want, _ := w.decide(committed, in)
	require.Equal(t, want.DecisionDigest, p.Decision.DecisionDigest)
	require.Len(t, w.entries("decided"), 5, "older decisions stay in the record")
	w.verified()
}

func TestAPatchHandedInRightAfterACommitIsDecidedAtIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PollInterval = 1 << 40 // nobody looks but whoever decides
	w.open()
	w.run()
	base := w.Commit("just now", gittest.Tree{"f": tenLines})
	p := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil))
	require.Equal(t, base, string(p.DecidedAt))
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
}

func TestABranchThatIsGoneKeepsNothingElseFromBeingServed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	p := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil))
	w.Git("checkout", "-q", "--detach")
	w.Git("update-ref", "-d", "refs/heads/main")
	w.restart()
	again, err := w.svc.Patch(t.Context(), "", "", "p")
	require.NoError(t, err)
	require.Equal(t, p.Decision.DecisionDigest, again.Decision.DecisionDigest)
	w.Git("branch", "main", base)
	w.at(p.Identity, base)
	w.verified()
}
