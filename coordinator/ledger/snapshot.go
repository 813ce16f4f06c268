package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// snapshot runs read in one read-only transaction that sees the database as it is when it begins.
func (s *Store) snapshot(ctx context.Context, read func(context.Context, Queries) error) error {
	tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("begin snapshot: %w", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	return read(ctx, Queries{db: tx, now: s.now})
}

// Snapshot runs read with queries that all see one state of the database: for answers that join several.
func (s *Store) Snapshot(ctx context.Context, read func(context.Context, Queries) error) error {
	return s.snapshot(ctx, read)
}
