package ledger_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator/ledger"
)

func TestRoundsCountUpForEachTargetAndKeepTheirMembers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var first, second ledger.Round
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) (err error) {
		first, err = tx.OpenRound(ctx, target, ledger.Round{Status: ledger.RoundSealing, Credential: "owner", TargetCommit: oid(1)})
		if err != nil {
			return err
		}
		second, err = tx.OpenRound(ctx, target, ledger.Round{Status: ledger.RoundSealing, Credential: "owner", Requested: []ledger.Identity{identity(2)}})
		return err
	}))
	require.Equal(t, []int64{1, 2}, []int64{first.Number, second.Number})

	first.Status, first.SealedSeq, first.HeadCommit, first.Tree, first.Data = ledger.RoundReady, 3, oid(2), oid(3), []byte("d")
	first.Members = []ledger.RoundMember{
		{Identity: identity(9), Position: 1, Status: "composed", Commit: oid(8)},
		{Identity: identity(1), Position: 2, Status: "composed"},
	}
	saveRound := func(r ledger.Round) {
		require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
			return tx.SaveRound(ctx, target, r)
		}))
	}
	saveRound(first)
	saveRound(first)
	got, err := w.Round(t.Context(), w.target, 1)
	require.NoError(t, err)
	require.Equal(t, first.Members, got.Members)
	got.UpdatedAt, first.UpdatedAt = time.Time{}, time.Time{}
	require.Equal(t, jsonOf(t, first), jsonOf(t, got))

	second.Status, second.Code = ledger.RoundSuperseded, "target_moved"
	saveRound(second)
	open, err := w.OpenRounds(t.Context(), w.target)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.Len(t, open[0].Members, 2)
	all, err := w.ListRounds(t.Context(), w.target, 0, 10)
	require.NoError(t, err)
	require.Equal(t, int64(2), all[0].Number)
	require.Equal(t, []ledger.Identity{identity(2)}, all[0].Requested)
	page, err := w.ListRounds(t.Context(), w.target, 2, 10)
	require.NoError(t, err)
	require.Len(t, page, 1)
}

func TestALandingIntentIsClosedExactlyOnceAndNeverChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	entry := w.append(t, "landing_intended", map[string]any{})
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		return tx.IntendLanding(ctx, target, ledger.Landing{Seq: entry.Seq, Old: oid(1), New: oid(2), Identities: []ledger.Identity{identity(1)}})
	}))
	open, err := w.OpenLandings(t.Context(), w.target)
	require.NoError(t, err)
	require.Len(t, open, 1)
	require.Equal(t, ledger.LandingIntended, open[0].Status)

	closed := w.append(t, "landed", map[string]any{})
	closeWith := func(status ledger.LandingStatus) error {
		return w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
			return tx.CloseLanding(ctx, target, entry.Seq, status, closed.Seq)
		})
	}
	require.NoError(t, closeWith(ledger.LandingLanded))
	var refused *ledger.AppendOnlyError
	require.ErrorAs(t, closeWith(ledger.LandingAbandoned), &refused)
	landed, err := w.Landings(t.Context(), w.target, 1, 10)
	require.NoError(t, err)
	require.Len(t, landed, 1)
	require.Equal(t, closed.Seq, landed[0].ClosedSeq)
	require.Equal(t, []ledger.Identity{identity(1)}, landed[0].Identities)
	open, err = w.OpenLandings(t.Context(), w.target)
	require.NoError(t, err)
	require.Empty(t, open)
}

func TestRunsOfOneCheckCountUpWithoutGapsWhenRecordedAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := ledger.VerdictKey{Repository: w.repository, Tree: oid(1), Args: digest("a"), Environment: digest("e")}
	var group errgroup.Group
	for i := range 8 {
		group.Go(func() error {
			return w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
				status := i % 2
				_, err := tx.RecordVerdict(ctx, ledger.Verdict{
					VerdictKey: key, Command: "go test ./...", Verdict: []string{"passed", "failed"}[status], ExitCode: &status,
					Output: digest("o"), OutputBytes: 1, Sandbox: "namespaces", DurationMS: 5,
				})
				return err
			})
		})
	}
	require.NoError(t, group.Wait())
	verdicts, err := w.Verdicts(t.Context(), key)
	require.NoError(t, err)
	for i, v := range verdicts {
		require.Equal(t, i+1, v.Run)
	}
	other := key
	other.Environment = digest("other")
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		v, err := tx.RecordVerdict(ctx, ledger.Verdict{VerdictKey: other, Command: "x", Verdict: "inconclusive", Reason: "timeout", Sandbox: "none"})
		require.Equal(t, 1, v.Run)
		require.Nil(t, v.ExitCode)
		return err
	}))
	all, err := w.VerdictsOfTree(t.Context(), w.repository, oid(1))
	require.NoError(t, err)
	require.Len(t, all, 9)
	require.Equal(t, "timeout", all[8].Reason)
}

func TestResolutionsAreListedInTheOrderOfTheirEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := []ledger.ResolutionID{"01900000-0000-7000-8000-000000000002", "01900000-0000-7000-8000-000000000001"}
	for n, id := range ids {
		entry := w.append(t, "resolved", map[string]any{})
		require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
			return tx.RecordResolution(ctx, target, ledger.Resolution{
				ID: id, Seq: entry.Seq, Identity: identity(n), Action: "accept", Binding: []byte(`{}`), Credential: "owner", Why: "looked at it",
			})
		}))
	}
	all, err := w.Resolutions(t.Context(), w.target, "")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, ids[0], all[0].ID)
	require.Equal(t, ids[1], all[1].ID)
	one, err := w.Resolutions(t.Context(), w.target, identity(1))
	require.NoError(t, err)
	require.Equal(t, all[1:], one)
}

func TestARevokedCredentialIsNotFoundByItsToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	put := func(token string) {
		require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			_, err := tx.PutCredential(ctx, ledger.Credential{
				ID: "01900000-0000-7000-8000-000000000001", Name: "ci", Token: digest(token), Scopes: []string{"submit"},
			})
			return err
		}))
	}
	found := func(token string) bool {
		_, ok, err := w.CredentialByToken(t.Context(), digest(token))
		require.NoError(t, err)
		return ok
	}
	put("one")
	require.True(t, found("one"))
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		_, err := tx.RevokeCredential(ctx, "ci")
		return err
	}))
	require.False(t, found("one"))
	put("two")
	require.True(t, found("two"))
	require.False(t, found("one"))
	list, err := w.Credentials(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.True(t, list[0].Revoked.IsZero())
}

func TestPlansAreKeptUntilTheyAreDropped(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, text := range []string{"a", "b", "c"} {
		require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			return tx.PutPlan(ctx, w.repository, digest(text), []byte(text))
		}))
	}
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		dropped, err := tx.DropPlans(ctx, w.repository, 1)
		require.Equal(t, int64(2), dropped)
		return err
	}))
	plan, found, err := w.Plan(t.Context(), w.repository, digest("c"))
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, "c", string(plan))
	_, found, err = w.Plan(t.Context(), w.repository, digest("a"))
	require.NoError(t, err)
	require.False(t, found)
}

func TestTargetsKeepPauseAndPublishedState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	require.NoError(t, w.locked(t.Context(), func(ctx context.Context, tx *ledger.Tx, target *ledger.Target) error {
		if err := tx.SetPaused(ctx, target, true, false); err != nil {
			return err
		}
		return tx.SetState(ctx, target, digest("state"), target.Version)
	}))
	targets, err := w.Targets(t.Context())
	require.NoError(t, err)
	require.Len(t, targets, 1)
	require.True(t, targets[0].Paused)
	require.Equal(t, digest("state"), targets[0].State)
	require.Equal(t, "app refs/heads/main", targets[0].ChainName())
	repositories, err := w.Repositories(t.Context())
	require.NoError(t, err)
	require.Equal(t, "/srv/app.git", repositories[0].GitDir)
	var missing *ledger.NotFoundError
	_, err = w.Target(t.Context(), 99)
	require.ErrorAs(t, err, &missing)
}
