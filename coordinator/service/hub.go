package service

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"patchd/coordinator/ledger"
)

// hub tells waiters that something was appended to a target's chain. A waiter has a channel of one place: a full one
// already says "look again".
type hub struct {
	mu   sync.Mutex
	subs map[ledger.TargetID]map[chan struct{}]struct{}
}

func newHub() *hub { return &hub{subs: map[ledger.TargetID]map[chan struct{}]struct{}{}} }

// subscribe gives a channel that receives whenever one of the targets changes, and what ends the subscription.
func (h *hub) subscribe(ids ...ledger.TargetID) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, id := range ids {
		if h.subs[id] == nil {
			h.subs[id] = map[chan struct{}]struct{}{}
		}
		h.subs[id][ch] = struct{}{}
	}
	return ch, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, id := range ids {
			delete(h.subs[id], ch)
		}
	}
}

// tell wakes the waiters of one target, or all where id is zero.
func (h *hub) tell(id ledger.TargetID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for of, subs := range h.subs {
		if id != 0 && of != id {
			continue
		}
		for ch := range subs {
			select {
			case ch <- struct{}{}:
			default:
			}
		}
	}
}

// listen passes the database's notifications to the hub, and connects again when the connection breaks.
func (s *Service) listen(ctx context.Context) error {
	for again := false; ; again = true {
		err := s.store.Listen(ctx, func(n ledger.Notification) error {
			if n.Seq == 0 && again {
				s.requeueAll(ctx)
			}
			s.hub.tell(n.Target)
			return nil
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			s.config.Logger.WarnContext(ctx, "lost the notification connection", slog.Any("error", err))
		}
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		s.hub.tell(0)
	}
}

// requeueAll queues what is due on all targets: the database was away, and a job that could not even record that it failed
// would be taken up only when the queue gives it up for lost.
func (s *Service) requeueAll(ctx context.Context) {
	for _, r := range s.repos {
		for _, t := range r.targets {
			if err := s.requeue(ctx, t); err != nil && ctx.Err() == nil {
				s.warn(ctx, "cannot queue what is due", err)
			}
		}
	}
}

// pause waits for d, or fails with ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
