// Package noop measures a River job that does nothing: the floor that a daemon built on River cannot go below.
package noop

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// args is the job.
type args struct{}

// Kind implements river.JobArgs.
func (args) Kind() string { return "noop" }

type worker struct {
	river.WorkerDefaults[args]
	done chan struct{}
}

// Work implements river.Worker.
func (w *worker) Work(ctx context.Context, _ *river.Job[args]) error {
	select {
	case w.done <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Queue is a River client with nothing to do, in a database of its own. It is not safe for concurrent use.
type Queue struct {
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	done   chan struct{}
}

// Start migrates the database and starts the client with the fetch cooldown of the daemon.
func Start(ctx context.Context, databaseURL string) (*Queue, error) {
	pool, err := pgxpool.New(ctx, databaseURL)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	q := &Queue{pool: pool, done: make(chan struct{})}
	if err := q.start(ctx); err != nil {
		pool.Close()
		return nil, err
	}
	return q, nil
}

func (q *Queue) start(ctx context.Context) error {
	silent := slog.New(slog.DiscardHandler)
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: silent})
	if err != nil {
		return fmt.Errorf("prepare migration: %w", err)
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{done: q.done})
	q.client, err = river.NewClient(riverpgxv5.New(q.pool), &river.Config{
		Workers: workers, Logger: silent, FetchCooldown: time.Millisecond,
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 2}},
	})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	if err := q.client.Start(context.WithoutCancel(ctx)); err != nil {
		return fmt.Errorf("start client: %w", err)
	}
	return nil
}

// Run inserts a job, durably, and waits until it is worked.
func (q *Queue) Run(ctx context.Context) error {
	if _, err := q.client.Insert(ctx, args{}, nil); err != nil {
		return fmt.Errorf("insert job: %w", err)
	}
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close stops the client.
func (q *Queue) Close(ctx context.Context) error {
	defer q.pool.Close()
	err := q.client.StopAndCancel(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
