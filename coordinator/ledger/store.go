// Package ledger owns the guarded ledger and its projections on PostgreSQL. It holds the program's only SQL.
//
// Every fact goes through Append: under the target's row lock, against the state that the caller decided on, as
// the next entry of the target's hash chain, in one transaction with everything that the entry implies. What is
// recorded for good is append-only in the database itself. The package refuses to decide anything: rows carry
// canonical bytes and scalar columns, and what they mean is the coordinator's business.
package ledger

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Names in the database. River's tables live in their own schema, owned by the daemon's role.
const (
	Schema      = "patchd"
	RiverSchema = "river"
	OwnerRole   = "patchd_owner"
	AppRole     = "patchd_app"
)

// idleInTransaction is how long a transaction may wait for its daemon before the database gives it up.
const idleInTransaction = "10s"

// maxRestarts bounds how often InTx repeats a transaction that the database aborted for another one's sake.
const maxRestarts = 20

// Options are what a store takes from outside.
type Options struct {
	// Clock gives the time written into rows. Required.
	Clock func() time.Time
	// Logger receives warnings; nil discards them.
	Logger *slog.Logger
	// MaxConns bounds the pool; zero stands for 16.
	MaxConns int32
}

func (o Options) withDefaults() Options {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxConns == 0 {
		o.MaxConns = 16
	}
	return o
}

type querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Queries are the reads, the same within a transaction (Tx) and outside one (Store).
type Queries struct {
	db  querier
	now func() time.Time
}

// Store is a connection pool to a migrated database. It is safe for concurrent use.
type Store struct {
	Queries
	pool    *pgxpool.Pool
	log     *slog.Logger
	guarded bool
}

// Open connects to a database that Migrate has prepared. Connections act as the role AppRole, which does not own
// the tables; where the role does not exist or may not be taken they act as the connecting role, append-only is
// then held by triggers alone, and a warning says so.
func Open(ctx context.Context, dsn string, opt Options) (*Store, error) {
	if opt.Clock == nil {
		return nil, errors.New("open ledger: no clock given")
	}
	opt = opt.withDefaults()
	guarded, err := canActAs(ctx, dsn, AppRole)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	if !guarded {
		opt.Logger.WarnContext(ctx, "the database role may not act as the application role: append-only is held by triggers alone",
			slog.String("role", AppRole))
	}
	config, err := poolConfig(dsn, guarded, opt.MaxConns)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	s := &Store{pool: pool, log: opt.Logger, guarded: guarded}
	s.Queries = Queries{db: pool, now: microseconds(opt.Clock)}
	if err := s.checkSchema(ctx); err != nil {
		pool.Close()
		return nil, fmt.Errorf("open ledger: %w", err)
	}
	return s, nil
}

func poolConfig(dsn string, guarded bool, maxConns int32) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse database URL: %w", err)
	}
	config.MaxConns = maxConns
	params := config.ConnConfig.RuntimeParams
	if params["application_name"] == "" {
		params["application_name"] = "patchd"
	}
	// A daemon that hangs in a transaction must not keep a target's lock from others for good.
	params["idle_in_transaction_session_timeout"] = idleInTransaction
	params["search_path"] = Schema + "," + RiverSchema + ",public"
	if guarded {
		params["role"] = AppRole
	}
	return config, nil
}

// microseconds gives clock's time in UTC at the database's resolution, so that what is hashed is what is stored.
func microseconds(clock func() time.Time) func() time.Time {
	return func() time.Time { return clock().UTC().Truncate(time.Microsecond) }
}

// Pool is the pool for the job queue, which writes its own tables only.
func (s *Store) Pool() *pgxpool.Pool { return s.pool }

// Guarded reports whether the daemon's role is another than the tables' owner.
func (s *Store) Guarded() bool { return s.guarded }

// Close closes all connections, and waits for those in use to be given back.
func (s *Store) Close() { s.pool.Close() }

// Ping reports whether the database answers.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.pool.Ping(ctx); err != nil {
		return fmt.Errorf("ping database: %w", err)
	}
	return nil
}

// Tx is one transaction. It is not safe for concurrent use.
type Tx struct {
	Queries
	tx pgx.Tx
}

// Pgx is the transaction itself, for the job queue's inserts and completions only.
func (tx *Tx) Pgx() pgx.Tx { return tx.tx }

// InTx runs do in a transaction at read committed and commits. When the database aborts it for the sake of
// another transaction (deadlock, serialization), do runs again from the start, so it must have no other effects;
// so does a transaction that could not begin on a connection that broke while it was idle. Any other error rolls
// back and is returned as it is. A connection that breaks during the commit leaves it open whether it was made.
func (s *Store) InTx(ctx context.Context, do func(context.Context, *Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := s.runTx(ctx, do)
		if err == nil || !restartable(err) || attempt == maxRestarts || ctx.Err() != nil {
			return err
		}
	}
}

// beginError is a transaction that did not begin.
type beginError struct{ cause error }

func (e *beginError) Error() string { return "begin transaction: " + e.cause.Error() }
func (e *beginError) Unwrap() error { return e.cause }

func restartable(err error) bool {
	switch sqlState(err) {
	case stateDeadlock, stateSerializationFailure:
		return true
	}
	var begin *beginError
	var connect *pgconn.ConnectError // there is no server: trying at once again is of no use
	return errors.As(err, &begin) && !errors.As(err, &connect)
}

func (s *Store) runTx(ctx context.Context, do func(context.Context, *Tx) error) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return &beginError{cause: err}
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }() // after a commit this does nothing
	if err := do(ctx, &Tx{Queries: Queries{db: tx, now: s.now}, tx: tx}); err != nil {
		return err
	}
	if err := tx.Commit(ctx); err != nil {
		return fmt.Errorf("commit transaction: %w", err)
	}
	return nil
}
