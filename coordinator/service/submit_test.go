package service_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/coordinator/service"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// attempts reads the recorded attempts, newest first.
func (w *world) attempts() []ledger.Attempt {
	w.t.Helper()
	store, err := ledger.Open(w.t.Context(), w.config.DatabaseURL, ledger.Options{Clock: w.config.Clock})
	require.NoError(w.t, err)
	defer store.Close()
	targets, err := store.Targets(w.t.Context())
	require.NoError(w.t, err)
	var out []ledger.Attempt
	for _, t := range targets {
		list, err := store.ListAttempts(w.t.Context(), t.ID, "", 0, 100)
		require.NoError(w.t, err)
		out = append(out, list...)
	}
	return out
}

func TestEachOutcomeIsRecordedAndEqualsThePureDecision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	apart := w.Change(base, gittest.Tree{"f": edited("nine", "NINE\n")})
	same := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	stale := w.Change(w.Git("rev-parse", base+"~1"), gittest.Tree{"f": "other\n"})
	target := w.Commit("landed", gittest.Tree{"f": edited("two", "2\n")})
	w.open()
	w.run()
	for name, c := range map[string]struct {
		in      service.Submission
		outcome coordinator.Outcome
		code    string
	}{
		"candidate": {w.submission(base, apart, map[string]any{"patch_id": "apart"}), coordinator.OutcomeCandidate, ""},
		"conflict":  {w.submission(base, same, map[string]any{"patch_id": "same"}), coordinator.OutcomeConflict, "same_lines"},
		"rejected":  {w.submission(base, stale, map[string]any{"patch_id": "stale"}), coordinator.OutcomeRejected, "patch_does_not_apply"},
		"waiting":   {w.submission(base, apart, map[string]any{"patch_id": "checked", "required_checks": []string{"make"}}), coordinator.OutcomeWaiting, "check_not_allowed"},
	} {
		p := w.decided(c.in)
		require.Equal(t, c.outcome, p.Outcome, name)
		want, _ := w.decide(target, c.in)
		require.Equal(t, want.PlanDigest, p.Decision.PlanDigest, name)
		require.Equal(t, want.DecisionDigest, p.Decision.DecisionDigest, name)
		a := w.attempts()[0]
		require.Equal(t, []string{string(c.outcome), c.code, string(p.Decision.Stage)}, []string{a.Outcome, a.Code, a.Stage}, name)
		require.Equal(t, "not_evaluated", a.Semantic)
		require.NotZero(t, a.DecidedSeq)
		if c.outcome == coordinator.OutcomeCandidate {
			require.Equal(t, string(want.Candidate.Commit), w.ref(candidateRef(p.Identity)))
		} else {
			require.Empty(t, w.ref(candidateRef(p.Identity)))
		}
	}
	require.Len(t, w.entries("admitted"), 4)
	require.Len(t, w.entries("decided"), 4)
	w.verified()
	w.Git("fsck", "--strict")
}

func TestARequestKeyGivesItsRecordedAnswerAgain(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	patch := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	keyed := map[string]any{"client_request_id": "k", "metadata": map[string]any{"try": 1}}
	first := w.submit(w.submission(base, patch, keyed))
	require.False(t, first.Deduplicated)
	w.wait(first.Identity)
	keyed["metadata"] = map[string]any{"try": 2}
	again := w.submit(w.submission(base, patch, keyed))
	require.True(t, again.Deduplicated)
	require.Equal(t, first.SubmissionID, again.SubmissionID)
	require.Equal(t, first.AttemptID, again.AttemptID)
	require.Equal(t, coordinator.OutcomeCandidate, again.Outcome)
	require.NotNil(t, again.Decision)
	require.Len(t, w.entries("admitted"), 1)

	keyed["title"] = "other content"
	other := w.submit(w.submission(base, patch, keyed))
	require.Equal(t, coordinator.CodeRequestKeyConflict, other.Refused.Message.Code)
	require.Equal(t, coordinator.OutcomeRejected, other.Outcome)
	require.Equal(t, "request_key_conflict", w.attempts()[0].Code)
	require.Len(t, w.entries("admitted"), 1)
	require.Equal(t, coordinator.OutcomeCandidate, w.wait(first.Identity).Outcome, "an attempt that is refused touches no patch")

	stranger := w.submission(base, patch, keyed)
	stranger.Credential.Name = "somebody else"
	require.False(t, w.submit(stranger).Deduplicated, "keys are scoped to their credential")
}

func TestARefusedAttemptUnderAKeyIsAnsweredAgain(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	patch := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	in := w.submission(base, patch, map[string]any{"client_request_id": "k"})
	in.Diff = append([]byte{}, patch[:len(patch)-1]...)
	first := w.submit(in)
	require.Equal(t, coordinator.CodeDigestMismatch, first.Refused.Message.Code)
	again := w.submit(in)
	require.True(t, again.Deduplicated)
	require.Equal(t, first.Refused, again.Refused)
	require.Equal(t, first.AttemptID, again.AttemptID)
	require.Len(t, w.attempts(), 1)
	require.Empty(t, w.entries("admitted"))

	in.Manifest = []byte(`{"patch_id": "p", "nonsense": 1}`)
	require.Equal(t, coordinator.CodeManifestMalformed, w.submit(in).Refused.Message.Code)
	require.Len(t, w.attempts(), 2)
}

func TestOfTwoRequestsWithOneKeyAtOnceOneIsRecorded(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), map[string]any{"client_request_id": "k"})
	const many = 8
	receipts := make([]*service.Receipt, many)
	var all sync.WaitGroup
	for i := range many {
		all.Go(func() {
			r, err := w.svc.Submit(t.Context(), in)
			if err == nil {
				receipts[i] = r
			}
		})
	}
	all.Wait()
	fresh := 0
	for _, r := range receipts {
		require.NotNil(t, r)
		require.Equal(t, receipts[0].SubmissionID, r.SubmissionID)
		if !r.Deduplicated {
			fresh++
		}
	}
	require.Equal(t, 1, fresh)
	w.wait(receipts[0].Identity)
	require.Len(t, w.entries("admitted"), 1)
	require.Len(t, w.entries("decided"), 1)
}

func TestOneContentUnderTwoLabelsIsOnePatch(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	patch := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	first := w.decided(w.submission(base, patch, map[string]any{"patch_id": "a"}))
	second := w.submit(w.submission(base, patch, map[string]any{"patch_id": "b"}))
	require.Equal(t, first.Identity, second.Identity)
	require.Equal(t, first.Decision.DecisionDigest, second.Decision.DecisionDigest, "what is decided is the answer at once")
	require.Equal(t, "candidate", w.attempts()[0].Outcome, "and what became of the attempt")
	require.NotZero(t, w.attempts()[0].RetryParent)
	require.Len(t, w.entries("decided"), 1)

	p, err := w.svc.Withdraw(t.Context(), service.Credential{Name: "tester"}, "", "", second.SubmissionID, "one of them")
	require.NoError(t, err)
	require.Equal(t, service.StateDecided, p.State)
	require.NotEmpty(t, w.ref(candidateRef(p.Identity)))
	require.Equal(t, []coordinator.PatchID{"a", "b"}, p.PatchIDs)

	p, err = w.svc.Withdraw(t.Context(), service.Credential{Name: "tester"}, "", "", "a", "the other")
	require.NoError(t, err)
	require.Equal(t, service.StateWithdrawn, p.State)
	require.Empty(t, w.ref(candidateRef(p.Identity)))
	_, err = w.svc.Withdraw(t.Context(), service.Credential{Name: "tester"}, "", "", "a", "again")
	require.NoError(t, err)
	require.Len(t, w.entries("withdrawn"), 2)
	w.verified()

	again := w.decided(w.submission(base, patch, map[string]any{"patch_id": "c"}))
	require.Equal(t, coordinator.OutcomeCandidate, again.Outcome)
	require.Equal(t, string(again.Candidate), w.ref(candidateRef(p.Identity)))
	require.Equal(t, "candidate", w.attempts()[0].Outcome)
	w.verified()
}

func TestALabelOfSeveralPatchesIsAmbiguous(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	first := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil))
	second := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("nine", "NINE\n")}), nil))
	_, err := w.svc.Patch(t.Context(), "", "", "p")
	var answer *service.Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, service.ErrAmbiguous, answer.Code)
	require.Contains(t, answer.Hint, string(first.Identity))
	require.Contains(t, answer.Hint, string(second.Identity))
	p, err := w.svc.Patch(t.Context(), "", "", string(first.Identity[:9]))
	require.NoError(t, err)
	require.Equal(t, first.Identity, p.Identity)
}

func TestSeveralRepositoriesAndTargetsAreServedByOneDaemon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	w.Git("branch", "release")
	other := gittest.New(t)
	elsewhere := other.Commit("base", gittest.Tree{"g": tenLines})
	w.config.Repos[0].Targets = append(w.config.Repos[0].Targets, "refs/heads/release")
	w.config.Repos = append(w.config.Repos, service.RepoConfig{Name: "s", Dir: other.Dir(), Targets: []git.Ref{"refs/heads/main"}})
	w.open()
	w.run()
	patch := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	onMain := w.submit(w.submission(base, patch, map[string]any{"repo": "r"}))
	require.Equal(t, git.Ref("refs/heads/main"), onMain.Target, "where several are served, no target means main")
	onRelease := w.submit(w.submission(base, patch, map[string]any{"repo": "r", "target": "release"}))
	require.Equal(t, git.Ref("refs/heads/release"), onRelease.Target)
	require.NotEqual(t, onMain.Identity, onRelease.Identity)
	inOther := w.submit(w.submission(elsewhere, other.Change(elsewhere, gittest.Tree{"g": edited("two", "TWO\n")}), map[string]any{"repo": "s"}))
	for _, r := range []*service.Receipt{onMain, onRelease, inOther} {
		p, err := w.svc.Wait(t.Context(), r.Repo, r.Target, r.Identity)
		require.NoError(t, err)
		require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
	}
	_, err := w.svc.Submit(t.Context(), w.submission(base, patch, nil))
	var answer *service.Error
	require.ErrorAs(t, err, &answer)
	require.Equal(t, service.ErrAmbiguous, answer.Code)
	_, err = w.svc.Submit(t.Context(), w.submission(base, patch, map[string]any{"repo": "r", "target": "nowhere"}))
	require.ErrorAs(t, err, &answer)
	require.Equal(t, service.ErrNotFound, answer.Code)
}
