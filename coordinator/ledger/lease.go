package ledger

import (
	"context"
	"errors"
	"fmt"
)

// ErrLeaseLost cancels the work under a lease whose connection broke: somebody else may hold it by now.
var ErrLeaseLost = errors.New("lease lost: its database connection broke")

// WithLease runs do while no other daemon on this database holds the lease called name, and reports false without
// running it when one does. The lease is a lock of a connection of its own: it ends with do, with the daemon, or
// when the connection breaks, which cancels do's context with the cause ErrLeaseLost.
func (s *Store) WithLease(ctx context.Context, name string, do func(context.Context) error) (bool, error) {
	pooled, err := s.pool.Acquire(ctx)
	if err != nil {
		return false, fmt.Errorf("take lease %q: %w", name, err)
	}
	conn := pooled.Hijack()
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }() // which gives the lock back
	var held bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock(hashtextextended($1, 13))`, name).Scan(&held); err != nil {
		return false, fmt.Errorf("take lease %q: %w", name, err)
	}
	if !held {
		return false, nil
	}
	work, cancel := context.WithCancelCause(ctx)
	watched := make(chan struct{})
	go func() { // nothing is listened for: the wait ends when the work does, or the connection
		defer close(watched)
		for work.Err() == nil {
			if _, err := conn.WaitForNotification(work); err != nil && work.Err() == nil {
				cancel(ErrLeaseLost)
			}
		}
	}()
	err = do(work)
	cancel(nil)
	<-watched
	return true, err
}
