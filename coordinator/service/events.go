package service

import (
	"context"
	"encoding/json"
	"fmt"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// eventBuffer bounds what a slow reader holds up: the stream then waits for it, and nobody else does.
const eventBuffer = 64

// Events streams what is appended to a target's ledger after entry after, in order and without gaps, until ctx ends; then
// the channel is closed. A stream that breaks is taken up again with the last Seq seen.
func (s *Service) Events(ctx context.Context, repo string, ref git.Ref, after int64) (<-chan Event, error) {
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	changed, done := s.hub.subscribe(t.id)
	out := make(chan Event, eventBuffer)
	go func() {
		defer close(out)
		defer done()
		next := ledger.Seq(max(after, 0) + 1)
		for {
			var err error
			if next, err = s.sendEvents(ctx, t, next, out); err != nil {
				if ctx.Err() == nil {
					s.warn(ctx, "event stream broke", err)
				}
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
		}
	}()
	return out, nil
}

func (s *Service) sendEvents(ctx context.Context, t *target, next ledger.Seq, out chan<- Event) (ledger.Seq, error) {
	for {
		rows, err := s.store.Entries(ctx, t.id, next, pageMax)
		if err != nil {
			return next, err
		}
		for _, row := range rows {
			e, err := eventOf(t, row)
			if err != nil {
				return next, err
			}
			select {
			case <-ctx.Done():
				return next, ctx.Err()
			case out <- e:
			}
			next = row.Seq + 1
		}
		if len(rows) < pageMax {
			return next, nil
		}
	}
}

func eventOf(t *target, row ledger.RecordedEntry) (Event, error) {
	e := Event{Seq: int64(row.Seq), Kind: string(row.Kind), Repo: t.repo.name, Target: t.ref, At: row.CreatedAt}
	var body struct {
		Identity coordinator.Identity `json:"identity"`
		Outcome  coordinator.Outcome  `json:"outcome"`
		Patch    struct {
			Identity coordinator.Identity `json:"identity"`
		} `json:"patch"`
	}
	if err := json.Unmarshal(row.Payload, &body); err != nil {
		return e, fmt.Errorf("read entry %d: %w", row.Seq, err)
	}
	e.Outcome = body.Outcome
	if e.Identity = body.Identity; e.Identity == "" {
		e.Identity = body.Patch.Identity
	}
	return e, nil
}
