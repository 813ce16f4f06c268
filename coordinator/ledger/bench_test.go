package ledger_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgtest"
)

// BenchmarkDurableAppend is one guarded transaction: row lock, entry, new head, notification, commit with fsync.
func BenchmarkDurableAppend(b *testing.B) {
	_, dsn := pgtest.Server(b)
	store, err := ledger.Open(b.Context(), dsn, ledger.Options{Clock: stepping()})
	require.NoError(b, err)
	b.Cleanup(store.Close)
	var id ledger.TargetID
	require.NoError(b, store.InTx(b.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		repository, err := tx.EnsureRepository(ctx, "app", "/srv/app.git")
		if err != nil {
			return err
		}
		target, err := tx.EnsureTarget(ctx, repository.ID, "refs/heads/main")
		id = target.ID
		return err
	}))
	for b.Loop() {
		require.NoError(b, store.InTx(b.Context(), func(ctx context.Context, tx *ledger.Tx) error {
			target, err := tx.LockTarget(ctx, id)
			if err != nil {
				return err
			}
			_, err = tx.Append(ctx, target, ledger.At(*target), ledger.Entry{Kind: "decided", Payload: []byte(`{}`)})
			return err
		}))
	}
}
