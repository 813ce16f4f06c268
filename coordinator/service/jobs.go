package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"patchd/coordinator/ledger"
)

// Queues. Plans are quick and never wait for a check.
const (
	queuePlans  = "plans"
	queueChecks = "checks"
	queueRounds = "rounds"
	queueHooks  = "webhooks"
)

// decideArgs has the pending set of a target settled at whatever the target commit is when the job runs, for the sake of one
// patch or, where that is empty, for the state's.
type decideArgs struct {
	Target   int64  `json:"target"`
	Identity string `json:"identity"`
}

// Kind implements river.JobArgs.
func (decideArgs) Kind() string { return "decide" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (decideArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queuePlans, MaxAttempts: maxAttempts}
}

// checkArgs has the checks of one patch run and the patch decided with their verdicts.
type checkArgs struct {
	Target   int64  `json:"target"`
	Identity string `json:"identity"`
}

// Kind implements river.JobArgs.
func (checkArgs) Kind() string { return "check" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (checkArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueChecks, MaxAttempts: maxAttempts}
}

// Times of the job queue. Checks have time limits of their own; the limit of their jobs only lets the queue forget those of a
// daemon that was killed.
const (
	maxAttempts   = 30
	firstRetry    = time.Second
	mostRetry     = time.Minute
	planTimeout   = 5 * time.Minute
	checkTimeout  = 12 * time.Hour
	rescueAfter   = time.Minute // a plan that is older was lost with its process; redoing one that was not is harmless
	fetchCooldown = time.Millisecond
	fetchPoll     = 250 * time.Millisecond
	noTimeout     = -1
)

type decideWorker struct {
	river.WorkerDefaults[decideArgs]
	service *Service
}

// Work implements river.Worker.
func (w *decideWorker) Work(ctx context.Context, job *river.Job[decideArgs]) error {
	return w.service.decide(ctx, ledger.TargetID(job.Args.Target), ledger.Identity(job.Args.Identity), func(ctx context.Context, tx pgx.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// Timeout implements river.Worker.
func (w *decideWorker) Timeout(*river.Job[decideArgs]) time.Duration { return planTimeout }

type checkWorker struct {
	river.WorkerDefaults[checkArgs]
	service *Service
}

// Work implements river.Worker.
func (w *checkWorker) Work(ctx context.Context, job *river.Job[checkArgs]) error {
	return w.service.check(ctx, ledger.TargetID(job.Args.Target), ledger.Identity(job.Args.Identity), func(ctx context.Context, tx pgx.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// Timeout implements river.Worker.
func (w *checkWorker) Timeout(*river.Job[checkArgs]) time.Duration { return checkTimeout }

type roundWorker struct {
	river.WorkerDefaults[roundArgs]
	service *Service
}

// Work implements river.Worker.
func (w *roundWorker) Work(ctx context.Context, job *river.Job[roundArgs]) error {
	return w.service.advance(ctx, ledger.TargetID(job.Args.Target), job.Args.Number, func(ctx context.Context, tx pgx.Tx) error {
		_, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
}

// Timeout implements river.Worker.
func (w *roundWorker) Timeout(*river.Job[roundArgs]) time.Duration { return checkTimeout }

// queueSettle has the published state of a target brought up to date.
func (s *Service) queueSettle(ctx context.Context, tx *ledger.Tx, id ledger.TargetID) error {
	if _, err := s.jobs.InsertTx(ctx, tx.Pgx(), decideArgs{Target: int64(id)}, nil); err != nil {
		return fmt.Errorf("queue settling: %w", err)
	}
	return nil
}

// retries spaces the tries of a job that failed: soon at first, for what mends itself, then a minute apart.
type retries struct{}

// NextRetry implements river.ClientRetryPolicy.
func (retries) NextRetry(job *rivertype.JobRow) time.Time {
	wait := mostRetry
	if job.Attempt < 6 {
		wait = firstRetry << job.Attempt
	}
	if job.AttemptedAt == nil {
		return job.ScheduledAt.Add(wait)
	}
	return job.AttemptedAt.Add(wait)
}

// complete marks a job done within the transaction that records what it did.
type complete func(ctx context.Context, tx pgx.Tx) error

func (s *Service) openJobs() error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &decideWorker{service: s})
	river.AddWorker(workers, &checkWorker{service: s})
	river.AddWorker(workers, &roundWorker{service: s})
	river.AddWorker(workers, &hookWorker{service: s})
	client, err := river.NewClient(riverpgxv5.New(s.store.Pool()), &river.Config{
		Schema: ledger.RiverSchema, Workers: workers, Logger: s.config.Logger,
		Queues:        s.queues(),
		FetchCooldown: fetchCooldown, FetchPollInterval: fetchPoll, JobTimeout: noTimeout, RescueStuckJobsAfter: rescueAfter + planTimeout,
		ErrorHandler: &failures{service: s}, RetryPolicy: retries{},
	})
	if err != nil {
		return fmt.Errorf("make job client: %w", err)
	}
	s.jobs = client
	return nil
}

// queues says how many jobs of each kind run at once. Deliveries are left to a daemon that knows whom to tell.
func (s *Service) queues() map[string]river.QueueConfig {
	queues := map[string]river.QueueConfig{
		queuePlans:  {MaxWorkers: s.config.Workers},
		queueChecks: {MaxWorkers: s.config.CheckWorkers},
		queueRounds: {MaxWorkers: max(4, 2*s.config.Workers)},
	}
	if s.hook != nil {
		queues[queueHooks] = river.QueueConfig{MaxWorkers: hookWorkers}
	}
	return queues
}

// failures logs what a worker could not do. A job that is given up surfaces on its patch, which goes on waiting.
type failures struct{ service *Service }

// HandleError implements river.ErrorHandler.
func (f *failures) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	f.service.metrics.failures.WithLabelValues(job.Kind).Inc()
	f.service.config.Logger.ErrorContext(ctx, "job failed", slog.String("kind", job.Kind), slog.Int("attempt", job.Attempt), slog.Any("error", err))
	f.service.noteFailure(ctx, job, err.Error())
	return nil
}

// HandlePanic implements river.ErrorHandler.
func (f *failures) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	f.service.metrics.failures.WithLabelValues(job.Kind).Inc()
	f.service.config.Logger.ErrorContext(ctx, "job panicked", slog.String("kind", job.Kind), slog.Any("panic", value), slog.String("trace", trace))
	f.service.noteFailure(ctx, job, fmt.Sprintf("panic: %v", value))
	return nil
}
