package service

import (
	"context"
	"slices"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// inputKinds are the entries by which the published state of a target may become another one.
func inputKinds() []ledger.Kind {
	return []ledger.Kind{KindAdmitted, KindWithdrawn, KindResolution, KindBlamed, KindLanded, ledger.KindTargetMoved}
}

// Quiet waits until nothing that was admitted is undecided and nothing is running on a target, and gives the digest of its
// published state. A round that is ready to land waits for somebody, and is quiet.
func (s *Service) Quiet(ctx context.Context, repo string, ref git.Ref) (digest coordinator.Digest, err error) {
	defer away(&err)
	t, err := s.lookup(repo, ref)
	if err != nil {
		return "", err
	}
	changed, done := s.hub.subscribe(t.id)
	defer done()
	if _, err := s.observe(ctx, t); err != nil {
		return "", err
	}
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		digest, quiet, err := s.rests(ctx, t)
		if err != nil || quiet {
			return digest, err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-changed:
		case <-ticker.C:
		}
	}
}

func (s *Service) rests(ctx context.Context, t *target) (digest coordinator.Digest, quiet bool, err error) {
	err = s.store.Snapshot(ctx, func(ctx context.Context, q ledger.Queries) error {
		row, err := q.Target(ctx, t.id)
		if err != nil {
			return err
		}
		digest = coordinator.Digest(row.State)
		later, err := q.EntriesOfKinds(ctx, t.id, inputKinds(), row.StateVersion+1, 1)
		if err != nil || len(later) > 0 || row.State == "" {
			return err
		}
		pending, err := q.PendingPatches(ctx, t.id)
		if err != nil || slices.ContainsFunc(pending, func(p ledger.Patch) bool { return p.NeedsDecision && !givenUp(p) }) {
			return err
		}
		rounds, err := q.OpenRounds(ctx, t.id)
		if err != nil || slices.ContainsFunc(rounds, func(r ledger.Round) bool { return r.Status != ledger.RoundReady }) {
			return err
		}
		quiet = true
		return nil
	})
	return digest, quiet, err
}
