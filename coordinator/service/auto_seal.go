package service

import (
	"context"
	"slices"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// autoSealer is who opens the rounds that a target's policy asks for.
const autoSealer = "auto_seal"

// autoSeal opens rounds by themselves where the policy of a target says so: when nothing is undecided, no round is open and
// nothing was admitted for the time to settle. Such a seal is recorded like anybody else's.
func (s *Service) autoSeal(ctx context.Context) error {
	var ids []ledger.TargetID
	var targets []*target
	for _, r := range s.repos {
		for _, t := range r.targets {
			ids, targets = append(ids, t.id), append(targets, t)
		}
	}
	changed, done := s.hub.subscribe(ids...)
	defer done()
	timer := time.NewTimer(0)
	defer timer.Stop()
	trouble := newTrouble[*target](s, "cannot look whether a round is due")
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		case <-timer.C:
		}
		again := lookAgain
		for _, t := range targets {
			wait, err := s.autoSealOne(ctx, t)
			trouble.note(ctx, t, err)
			if wait > 0 {
				again = min(again, wait)
			}
		}
		timer.Reset(again)
	}
}

// autoSealOne opens a round on one target if one is due, and says how long the target still has to settle.
func (s *Service) autoSealOne(ctx context.Context, t *target) (time.Duration, error) {
	row, err := s.store.Target(ctx, t.id)
	if err != nil || row.Commit == "" || row.Paused || row.Draining {
		return 0, err
	}
	policy, err := t.repo.engine.PolicyAt(ctx, row.Commit)
	if err != nil || !policy.Rounds.AutoSeal {
		return 0, err
	}
	quiet, latest, err := s.quiet(ctx, t)
	if err != nil || !quiet {
		return 0, err
	}
	open, err := s.roundUnderWay(ctx, s.store.Queries, row)
	if err != nil || open {
		return 0, err
	}
	wait, err := s.settles(ctx, t, latest, time.Duration(policy.Rounds.Settle))
	if err != nil || wait > 0 {
		return wait, err
	}
	pending, err := s.loadSet(ctx, t, row)
	if err != nil || len(coordinator.Sealable(pending.states)) == 0 {
		return 0, err
	}
	return 0, s.sealAsPolicySays(ctx, row)
}

// quiet reports whether something is pending and nothing pending is undecided, and gives the latest admission.
func (s *Service) quiet(ctx context.Context, t *target) (bool, ledger.Seq, error) {
	patches, err := s.store.PendingPatches(ctx, t.id)
	if err != nil {
		return false, 0, err
	}
	var latest ledger.Seq
	for _, p := range patches {
		latest = max(latest, p.AdmittedSeq)
	}
	undecided := slices.ContainsFunc(patches, func(p ledger.Patch) bool { return p.NeedsDecision && !givenUp(p) })
	return len(patches) > 0 && !undecided, latest, nil
}

// roundUnderWay reports whether a round is open, or the latest one was sealed from the very inputs that hold now: sealing
// them once more would come to the same.
func (s *Service) roundUnderWay(ctx context.Context, q ledger.Queries, row ledger.Target) (bool, error) {
	rounds, err := q.ListRounds(ctx, row.ID, 0, 1)
	if err != nil || len(rounds) == 0 {
		return false, err
	}
	last := rounds[0]
	if !over(last.Status) {
		return true, nil
	}
	return last.TargetCommit == row.Commit && row.Inputs <= max(last.CutSeq, last.SealedSeq), nil
}

func over(status ledger.RoundStatus) bool { return (&Round{Status: string(status)}).Over() }

// settles says how long ago's latest admission still keeps a round from being sealed.
func (s *Service) settles(ctx context.Context, t *target, latest ledger.Seq, settle time.Duration) (time.Duration, error) {
	if settle == 0 {
		return 0, nil
	}
	entries, err := s.store.Entries(ctx, t.id, latest, 1)
	if err != nil || len(entries) == 0 {
		return 0, err
	}
	return entries[0].CreatedAt.Add(settle).Sub(s.config.Clock()), nil
}

// sealAsPolicySays opens the round unless something has happened since row was read; then the next look decides.
func (s *Service) sealAsPolicySays(ctx context.Context, row ledger.Target) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		locked, err := tx.LockTarget(ctx, row.ID)
		if err != nil || locked.Version != row.Version || locked.Paused || locked.Draining {
			return err
		}
		open, err := s.roundUnderWay(ctx, tx.Queries, *locked)
		if err != nil || open {
			return err
		}
		_, err = s.openRound(ctx, tx, locked, nil, autoSealer)
		return err
	})
}
