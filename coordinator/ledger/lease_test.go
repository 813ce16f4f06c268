package ledger_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgtest"
)

func TestALeaseIsHeldByOneAndFreeAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	held, err := w.WithLease(t.Context(), "repository 1", func(ctx context.Context) error {
		again, err := w.WithLease(ctx, "repository 1", func(context.Context) error { return nil })
		require.NoError(t, err)
		require.False(t, again)
		other, err := w.WithLease(ctx, "repository 2", func(context.Context) error { return nil })
		require.NoError(t, err)
		require.True(t, other)
		return nil
	})
	require.NoError(t, err)
	require.True(t, held)
	require.Eventually(t, func() bool {
		free, err := w.WithLease(t.Context(), "repository 1", func(context.Context) error { return nil })
		return err == nil && free
	}, pingFor, pingEvery, "the server notices a closed connection a moment later")
}

func TestALostLeaseCancelsTheWork(t *testing.T) {
	t.Parallel()
	dsn := pgtest.New(t)
	w := openAt(t, dsn)
	conn := superuser(t, dsn)
	held, err := w.WithLease(t.Context(), "repository 1", func(ctx context.Context) error {
		_, err := conn.Exec(t.Context(), //nolint:contextcheck // the lease's own context ends by this
			`SELECT pg_terminate_backend(pid) FROM pg_locks
			WHERE locktype = 'advisory' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
		require.NoError(t, err)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	require.True(t, held)
	require.ErrorIs(t, err, ledger.ErrLeaseLost)
}
