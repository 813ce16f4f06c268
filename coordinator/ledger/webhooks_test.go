package ledger_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/ledger"
)

func TestAWebhooksReceiverBeginsAfterTheLatestEntryAndGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	latest := w.append(t, "something", map[string]any{})
	one, two := ledger.SHA256([]byte("one")), ledger.SHA256([]byte("two"))
	queued := func(receiver ledger.Digest) (seq ledger.Seq) {
		require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) (err error) {
			seq, err = tx.LockWebhook(ctx, w.target, receiver)
			return err
		}))
		return seq
	}
	require.Equal(t, latest.Seq, queued(one))
	next := w.append(t, "something", map[string]any{})
	require.Equal(t, latest.Seq, queued(one), "what came since is still to be queued")
	require.NoError(t, w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		return tx.SetWebhook(ctx, w.target, one, next.Seq)
	}))
	require.Equal(t, next.Seq, queued(one))
	w.append(t, "something", map[string]any{})
	require.Equal(t, next.Seq+1, queued(two), "another receiver begins for itself")
	err := w.InTx(t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		return tx.SetWebhook(ctx, w.target, ledger.SHA256([]byte("three")), 1)
	})
	var missing *ledger.NotFoundError
	require.ErrorAs(t, err, &missing)
}
