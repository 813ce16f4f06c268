package service

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

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

// entryBody is what the payloads of all kinds of entries say that an event tells.
type entryBody struct {
	Identity   coordinator.Identity   `json:"identity"`
	Identities []coordinator.Identity `json:"identities"`
	Members    []coordinator.Identity `json:"members"`
	Outcome    coordinator.Outcome    `json:"outcome"`
	Code       coordinator.Code       `json:"code"`
	Round      int64                  `json:"round"`
	Head       git.OID                `json:"head"`
	New        git.OID                `json:"new"`
	To         git.OID                `json:"to"`
	State      coordinator.Digest     `json:"state_digest"`
	Patch      struct {
		Identity coordinator.Identity `json:"identity"`
	} `json:"patch"`
	Patches []struct {
		Identity coordinator.Identity `json:"identity"`
	} `json:"patches"`
	Commits []struct {
		Identity coordinator.Identity `json:"identity"`
	} `json:"commits"`
	Blames []struct {
		Identity coordinator.Identity `json:"identity"`
	} `json:"blames"`
}

func eventOf(t *target, row ledger.RecordedEntry) (Event, error) {
	var body entryBody
	if err := json.Unmarshal(row.Payload, &body); err != nil {
		return Event{}, fmt.Errorf("read entry %d: %w", row.Seq, err)
	}
	return Event{
		Seq: int64(row.Seq), Kind: string(row.Kind), Repo: t.repo.name, Target: t.ref, At: row.CreatedAt,
		Identity: cmp.Or(body.Identity, body.Patch.Identity), Identities: body.concerned(), Outcome: body.Outcome, Code: body.Code,
		Round: body.Round, Commit: cmp.Or(body.New, body.Head, body.To), StateDigest: body.State,
	}, nil
}

// concerned lists the patches that an entry about several is about, ascending.
func (b entryBody) concerned() []coordinator.Identity {
	out := slices.Concat(b.Identities, b.Members)
	for _, list := range [][]struct {
		Identity coordinator.Identity `json:"identity"`
	}{b.Patches, b.Commits, b.Blames} {
		for _, p := range list {
			out = append(out, p.Identity)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
