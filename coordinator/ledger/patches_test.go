package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/ledger"
)

func (w world) patch(t *testing.T, n int) ledger.Patch {
	t.Helper()
	p, err := w.Patch(t.Context(), w.target, identity(n))
	require.NoError(t, err)
	return p
}

func (w world) withdraw(t *testing.T, id int) int {
	t.Helper()
	var standing int
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		entry, err := tx.Append(ctx, target, ledger.Anything(), ledger.Entry{Kind: "withdrawn", Payload: []byte(`{}`)})
		if err != nil {
			return err
		}
		standing, err = tx.Withdraw(ctx, entry.Seq, ledger.Withdrawal{Submission: submissionID(id), Credential: "owner", Why: "test"})
		return err
	}))
	return standing
}

func (w world) save(t *testing.T, patches ...ledger.Patch) {
	t.Helper()
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		return tx.SavePatches(ctx, target, patches...)
	}))
}

func TestAnIdentityStandsWhileAnySubmissionOfItDoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admit(t, 1, 1)
	w.admit(t, 1, 2)
	require.Equal(t, 2, w.patch(t, 1).Standing)

	require.Equal(t, 1, w.withdraw(t, 1))
	require.Equal(t, 1, w.withdraw(t, 1), "withdrawing twice counts once")
	require.Equal(t, ledger.Pending, w.patch(t, 1).Disposition)
	require.Equal(t, 0, w.withdraw(t, 2))
	require.Equal(t, ledger.Withdrawn, w.patch(t, 1).Disposition)

	p := w.patch(t, 1)
	p.NeedsDecision = false
	w.save(t, p)
	w.admit(t, 1, 3)
	p = w.patch(t, 1)
	require.Equal(t, ledger.Pending, p.Disposition, "submitted again it stands again")
	require.True(t, p.NeedsDecision)
	list, err := w.Submissions(t.Context(), w.target, identity(1))
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.False(t, list[0].Withdrawn.IsZero())
	require.True(t, list[2].Withdrawn.IsZero())
	one, err := w.Submission(t.Context(), submissionID(3))
	require.NoError(t, err)
	require.Equal(t, list[2], one)
}

func TestARejectedPatchStaysRejectedWhenSubmittedAgainOrWithdrawn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admit(t, 1, 1)
	p := w.patch(t, 1)
	p.Disposition, p.Outcome, p.Code, p.Stage = ledger.Rejected, "rejected", "diff_malformed", "protocol_validation"
	w.save(t, p)
	w.admit(t, 1, 2)
	require.Equal(t, ledger.Rejected, w.patch(t, 1).Disposition)
	w.withdraw(t, 1)
	w.withdraw(t, 2)
	require.Equal(t, ledger.Rejected, w.patch(t, 1).Disposition)
}

func TestSavePatchesKeepsEveryField(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admit(t, 1, 1)
	want := w.patch(t, 1)
	var record ledger.Digest
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) (err error) {
		record, err = tx.PutContent(ctx, []byte(`{"schema":"patchd/decision/1"}`))
		return err
	}))
	want.Disposition, want.DecidedCommit, want.DecidedVersion = ledger.Landed, oid(2), 1
	want.Stage, want.Outcome, want.Code, want.Class, want.Published = "accepted", "candidate", "same_lines", "textual", "conflict"
	want.PlanDigest, want.DecisionDigest, want.Record = digest("p"), digest("d"), record
	want.CandidateCommit, want.CandidateTree, want.NeedsDecision, want.NeedsChecks = oid(3), oid(4), false, true
	want.ContendsWith, want.Successor = []ledger.Identity{identity(2), identity(3)}, identity(4)
	want.LandedCommit, want.LandedSeq, want.Data = oid(5), 1, []byte{1, 2}
	w.save(t, want)
	got := w.patch(t, 1)
	want.UpdatedAt, got.UpdatedAt = time.Time{}, time.Time{}
	require.Equal(t, want, got)
	manifest, err := w.Manifest(t.Context(), w.target, identity(1))
	require.NoError(t, err)
	require.JSONEq(t, `{}`, string(manifest))
}

func TestAMovedTargetFlagsEveryPendingPatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := 1; n <= 3; n++ {
		w.admit(t, n, n)
		p := w.patch(t, n)
		p.NeedsDecision = false
		if n == 3 {
			p.Disposition = ledger.Rejected
		}
		w.save(t, p)
	}
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		_, flagged, err := tx.MoveTarget(ctx, target, ledger.Anything(), oid(9), ledger.Entry{Payload: []byte(`{"to":"9"}`)})
		require.Equal(t, int64(2), flagged)
		return err
	}))
	undecided, err := w.UndecidedPatches(t.Context(), w.target, 10)
	require.NoError(t, err)
	require.Len(t, undecided, 2)
	require.Equal(t, identity(1), undecided[0].Identity)
	count, err := w.CountUndecided(t.Context(), w.target, undecided[0].AdmittedSeq)
	require.NoError(t, err)
	require.Equal(t, 1, count, "what was admitted after the cut is not counted")
	target, err := w.Target(t.Context(), w.target)
	require.NoError(t, err)
	require.Equal(t, oid(9), target.Commit)
	require.Equal(t, target.Version, target.Inputs)
}

func TestPagesOfPatchesCoverAllOnceLatestFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for n := 1; n <= 7; n++ {
		w.admit(t, n, n)
	}
	var seen []ledger.Identity
	var cursor ledger.PatchCursor
	for {
		page, err := w.ListPatches(t.Context(), w.target, ledger.PatchFilter{Dispositions: []ledger.Disposition{ledger.Pending}}, cursor, 3)
		require.NoError(t, err)
		if len(page) == 0 {
			break
		}
		for _, p := range page {
			seen = append(seen, p.Identity)
			cursor = ledger.PatchCursor{AdmittedSeq: p.AdmittedSeq, Identity: p.Identity}
		}
	}
	require.Len(t, seen, 7)
	require.Equal(t, identity(7), seen[0])
	require.Equal(t, identity(1), seen[6])
	none, err := w.ListPatches(t.Context(), w.target, ledger.PatchFilter{Published: "candidate"}, ledger.PatchCursor{}, 3)
	require.NoError(t, err)
	require.Empty(t, none)
	counts, err := w.CountPatches(t.Context(), w.target)
	require.NoError(t, err)
	require.Equal(t, []ledger.PatchCount{{Disposition: ledger.Pending, Count: 7}}, counts)
}

func TestANameFindsByLabelSubmissionIdentityAndPrefix(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admit(t, 1, 1)
	w.admit(t, 2, 2)
	find := func(name string) []ledger.Identity {
		list, err := w.FindPatches(t.Context(), w.target, name)
		require.NoError(t, err)
		return list
	}
	require.Equal(t, []ledger.Identity{identity(1)}, find("p-1"))
	require.Equal(t, []ledger.Identity{identity(2)}, find(string(submissionID(2))))
	require.Equal(t, []ledger.Identity{identity(2)}, find(string(identity(2))))
	require.Equal(t, []ledger.Identity{identity(1), identity(2)}, find("0000000"), "an ambiguous prefix names all")
	require.Empty(t, find("000"))
	require.Empty(t, find("p-3"))
}

func TestAnAttemptShowsItsLatestOutcome(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admit(t, 1, 1)
	attempts, err := w.ListAttempts(t.Context(), w.target, "", 0, 10)
	require.NoError(t, err)
	require.Len(t, attempts, 1)
	require.Equal(t, "pending", attempts[0].Outcome)
	require.Nil(t, attempts[0].ChecksValid)

	yes, no := true, false
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		if err := tx.RecordOutcomes(ctx, w.target, identity(1), 1, ledger.Result{
			Stage: "checks", Code: "check_failed", Outcome: "conflict", ProtocolValid: &yes, PatchValid: &yes, ChecksValid: &no,
			Diagnostics: []byte(`{"path":"a\u0000b"}`),
		}); err != nil {
			return err
		}
		failed, err := tx.Attempt(ctx, attempts[0].ID)
		require.NoError(t, err)
		require.JSONEq(t, `{"path":"a\u0000b"}`, string(failed.Diagnostics))
		return tx.RecordOutcome(ctx, attempts[0].ID, 2, ledger.Result{Stage: "accepted", Outcome: "candidate", ProtocolValid: &yes})
	}))
	got, err := w.Attempt(t.Context(), attempts[0].ID)
	require.NoError(t, err)
	require.Equal(t, "candidate", got.Outcome)
	require.Empty(t, got.Code)
	require.Nil(t, got.ChecksValid, "the latest outcome did not reach the checks")
	require.Equal(t, ledger.Seq(2), got.DecidedSeq)
	latest, found, err := w.LatestAttempt(t.Context(), w.target, identity(1))
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, got, latest)
}

func TestARefusedAttemptIsRecordedWithoutASubmission(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var ids []ledger.AttemptID
	for range 3 {
		require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			no := false
			var parent ledger.AttemptID
			if len(ids) > 0 {
				parent = ids[len(ids)-1]
			}
			id, err := tx.RecordAttempt(ctx, ledger.Attempt{
				Target: w.target, Tool: "http", Credential: "agent", RetryParent: parent, PatchID: "bad\x00\xff", ClientRequestID: "r-1", Fingerprint: digest("f"),
				Result: ledger.Result{Stage: "precondition_guard", Code: "manifest_malformed", Outcome: "rejected", ProtocolValid: &no},
			})
			ids = append(ids, id)
			return err
		}))
	}
	page, err := w.ListAttempts(t.Context(), w.target, "", ids[2], 1)
	require.NoError(t, err)
	require.Len(t, page, 1)
	require.Equal(t, ids[1], page[0].ID)
	require.Equal(t, ids[0], page[0].RetryParent)
	require.Empty(t, page[0].Submission)
	require.Equal(t, "bad\uFFFD\uFFFD", page[0].PatchID, "text that the database cannot hold is replaced")
	require.Equal(t, "not_evaluated", page[0].Semantic)
	require.False(t, *page[0].ProtocolValid)
}
