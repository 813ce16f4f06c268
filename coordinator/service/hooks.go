package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"patchd/coordinator/ledger"
)

// Times and numbers of deliveries. A receiver that is away is tried again ever less often, for about two days.
const (
	hookWorkers  = 4
	hookAttempts = 60
	hookTimeout  = 30 * time.Second
	hookMost     = time.Hour
)

// hookArgs has one ledger entry told to a receiver.
type hookArgs struct {
	Target   int64         `json:"target"`
	Seq      int64         `json:"seq"`
	Receiver ledger.Digest `json:"receiver"`
}

// Kind implements river.JobArgs.
func (hookArgs) Kind() string { return "webhook" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (hookArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueHooks, MaxAttempts: hookAttempts}
}

// told reports whether a receiver is told of an event: what was decided, what changed in the set, and how rounds and landings
// ended. How they got there is in the ledger and in the event stream.
func told(e Event) bool {
	switch ledger.Kind(e.Kind) {
	case KindDecided, KindRoundReady, KindRoundStopped, KindRoundSuperseded, KindLanded, KindLandingAbandoned:
		return true
	case KindState:
		return len(e.Identities) > 0
	case ledger.KindTargetMoved: // anybody's push: no answer of the daemon's
	}
	return false
}

// Delivery is the body of a webhook: the event, and the id by which a receiver knows a delivery that is repeated.
type Delivery struct {
	ID string `json:"id"`
	Event
}

func deliveryOf(e Event) Delivery {
	return Delivery{ID: url.PathEscape(e.Repo) + "/" + url.PathEscape(string(e.Target)) + "/" + strconv.FormatInt(e.Seq, 10), Event: e}
}

func (s *Service) receiver() ledger.Digest { return ledger.SHA256([]byte(s.hook.URL())) }

// queueHooks hands new entries of every target to the queue, each once, and remembers in the same transaction how far it came.
func (s *Service) queueHooks(ctx context.Context) error {
	var ids []ledger.TargetID
	for _, r := range s.repos {
		for _, t := range r.targets {
			ids = append(ids, t.id)
		}
	}
	changed, done := s.hub.subscribe(ids...)
	defer done()
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	trouble := newTrouble[ledger.TargetID](s, "cannot queue webhooks")
	for {
		for _, id := range ids {
			trouble.note(ctx, id, s.queueHooksOf(ctx, id))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-ticker.C:
		}
	}
}

func (s *Service) queueHooksOf(ctx context.Context, id ledger.TargetID) error {
	t, ok := s.byID(id)
	if !ok {
		return nil
	}
	for more := true; more; {
		err := s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
			queued, err := tx.LockWebhook(ctx, id, s.receiver())
			if err != nil {
				return err
			}
			rows, err := tx.Entries(ctx, id, queued+1, pageMax)
			if err != nil {
				return err
			}
			more = len(rows) == pageMax
			if len(rows) == 0 {
				return nil
			}
			var jobs []river.InsertManyParams
			for _, row := range rows {
				e, err := eventOf(t, row)
				if err != nil {
					return err
				}
				if told(e) {
					jobs = append(jobs, river.InsertManyParams{Args: hookArgs{Target: int64(id), Seq: e.Seq, Receiver: s.receiver()}})
				}
			}
			if len(jobs) > 0 {
				if _, err := s.jobs.InsertManyTx(ctx, tx.Pgx(), jobs); err != nil {
					return fmt.Errorf("queue deliveries: %w", err)
				}
			}
			return tx.SetWebhook(ctx, id, s.receiver(), rows[len(rows)-1].Seq)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

type hookWorker struct {
	river.WorkerDefaults[hookArgs]
	service *Service
}

// Work implements river.Worker.
func (w *hookWorker) Work(ctx context.Context, job *river.Job[hookArgs]) error {
	return w.service.deliver(ctx, job.Args)
}

// Timeout implements river.Worker.
func (w *hookWorker) Timeout(*river.Job[hookArgs]) time.Duration { return hookTimeout }

// NextRetry implements river.Worker: a receiver that is away is asked again ever less often.
func (w *hookWorker) NextRetry(job *river.Job[hookArgs]) time.Time {
	return nextDelivery(job.JobRow)
}

func nextDelivery(job *rivertype.JobRow) time.Time {
	const doublings = 12
	at := job.ScheduledAt
	if job.AttemptedAt != nil {
		at = *job.AttemptedAt
	}
	return at.Add(min(firstRetry<<min(job.Attempt, doublings), hookMost))
}

// deliver tells the receiver of one entry. A job for another receiver, from before the configuration changed, is dropped.
func (s *Service) deliver(ctx context.Context, args hookArgs) error {
	t, ok := s.byID(ledger.TargetID(args.Target))
	switch {
	case s.hook == nil || args.Receiver != s.receiver():
		return river.JobCancel(errors.New("nobody is to be told at that address any more"))
	case !ok:
		return river.JobSnooze(elsewhere)
	}
	rows, err := s.store.Entries(ctx, t.id, ledger.Seq(args.Seq), 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return river.JobCancel(fmt.Errorf("entry %d is gone", args.Seq))
	}
	e, err := eventOf(t, rows[0])
	if err != nil {
		return err
	}
	d := deliveryOf(e)
	body, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("marshal delivery: %w", err)
	}
	if err := s.hook.Send(ctx, d.ID, e.Kind, body); err != nil {
		s.metrics.hooks.WithLabelValues("failed").Inc()
		return err
	}
	s.metrics.hooks.WithLabelValues("delivered").Inc()
	return nil
}
