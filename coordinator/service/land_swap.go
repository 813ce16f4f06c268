package service

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// abandonedRef is where an intent that was given up is kept from being carried out after all, by whoever else is at it.
func (t *target) abandonedRef(seq ledger.Seq) git.Ref { return t.ownRef("abandoned", int64(seq)) }

// carryOut swaps the branch and creates the marker in one ref transaction, unless the marker says that it happened, and records
// which of the two it was. It is what recovery runs, too: the marker is trusted, not the branch. Giving up is a ref transaction
// as well, which excludes the swap, so that of several processes at it all come to the same.
func (s *Service) carryOut(ctx context.Context, t *target, l ledger.Landing, held holds) error {
	t.repo.refs.Lock()
	defer t.repo.refs.Unlock()
	for range maxStale {
		outcome, err := t.outcome(ctx, l)
		if err != nil {
			return err
		}
		switch outcome {
		case ledger.LandingLanded:
			s.checkoutsFollow(ctx, t, l, held) // first: once it is recorded, nobody looks at it again
			return s.recordLanding(ctx, t, l)
		case ledger.LandingAbandoned:
			if err := s.abandonLanding(ctx, t, l); err != nil {
				return err
			}
			return errf(ErrStale, "target", "its patches are decided again; seal another round", "target %s moved while round %d was landing", t.ref, l.Round)
		case ledger.LandingIntended:
		}
		if err := t.swap(ctx, l, held != nil); err != nil {
			return err
		}
	}
	return fmt.Errorf("move %s: its refs keep moving", t.ref)
}

// outcome is what the refs say of an intent: the marker that it was carried out, its counterpart that it was given up.
func (t *target) outcome(ctx context.Context, l ledger.Landing) (ledger.LandingStatus, error) {
	marker := t.markerRef(l.Seq)
	found, swapped, err := t.repo.git.Resolve(ctx, marker)
	switch {
	case err != nil:
		return "", fmt.Errorf("read marker %s: %w", marker, err)
	case swapped && found != l.New:
		return "", &AlarmError{Ref: marker, Found: found, Want: l.New}
	case swapped:
		return ledger.LandingLanded, nil
	}
	_, given, err := t.repo.git.Resolve(ctx, t.abandonedRef(l.Seq))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", t.abandonedRef(l.Seq), err)
	case given:
		return ledger.LandingAbandoned, nil
	}
	return ledger.LandingIntended, nil
}

// swap moves the branch, or gives the intent up where it may not or the branch is elsewhere. Who lost a race finds out by
// looking at the refs again.
func (t *target) swap(ctx context.Context, l ledger.Landing, may bool) error {
	marker, given := t.markerRef(l.Seq), t.abandonedRef(l.Seq)
	var moved *git.RefConflictError
	if may {
		err := t.repo.git.UpdateRefs(ctx, []git.RefUpdate{
			{Ref: t.ref, Old: l.Old, New: l.New}, {Ref: marker, Old: git.ZeroOID, New: l.New}, {Ref: given, Old: git.ZeroOID},
		})
		if !errors.As(err, &moved) {
			return wrapped("move "+string(t.ref), err)
		}
		if moved.Ref != t.ref {
			return nil
		}
	}
	err := t.repo.git.UpdateRefs(ctx, []git.RefUpdate{{Ref: given, Old: git.ZeroOID, New: l.Old}, {Ref: marker, Old: git.ZeroOID}})
	if errors.As(err, &moved) {
		return nil
	}
	return wrapped("give up moving "+string(t.ref), err)
}

func wrapped(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// resumeLanding takes up an intent of an earlier process. What was swapped is recorded; what was not is swapped now, if the
// checkouts of the branch can still follow.
func (s *Service) resumeLanding(ctx context.Context, t *target, l ledger.Landing) error {
	held, err := s.holdCheckouts(ctx, t, l.Old, l.New, func(ctx context.Context) (bool, error) {
		outcome, err := t.outcome(ctx, l)
		return outcome == ledger.LandingIntended, err
	})
	var refused *Error
	if err != nil && !errors.As(err, &refused) {
		return err
	}
	defer held.release(ctx)
	return s.carryOut(ctx, t, l, held)
}

// recordLanding records that the branch was moved, and what follows from it.
func (s *Service) recordLanding(ctx context.Context, t *target, l ledger.Landing) error {
	payload, err := coordinator.Canonical(map[string]any{"intent": l.Seq, "round": l.Round, "old": l.Old, "new": l.New, "identities": l.Identities})
	if err != nil {
		return err
	}
	recorded := false
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		locked, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		open, err := tx.OpenLandings(ctx, t.id)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(open, func(o ledger.Landing) bool { return o.Seq == l.Seq }) {
			return nil // another process recorded it
		}
		recorded = true
		ref, _, err := tx.MoveTarget(ctx, locked, ledger.Anything(), l.New, ledger.Entry{Kind: KindLanded, Payload: payload})
		if err != nil {
			return err
		}
		if err := tx.CloseLanding(ctx, locked, l.Seq, ledger.LandingLanded, ref.Seq); err != nil {
			return err
		}
		if err := s.markLanded(ctx, tx, locked, l, ref.Seq); err != nil {
			return err
		}
		if err := s.supersedeRounds(ctx, tx, locked, "", "another round landed"); err != nil {
			return err
		}
		if err := s.queuePending(ctx, tx, locked); err != nil {
			return err
		}
		return s.queueSettle(ctx, tx, t.id)
	})
	if err != nil {
		return fmt.Errorf("record landing %d: %w", l.Seq, err)
	}
	if recorded {
		s.metrics.landings.Inc()
	}
	wants := map[coordinator.Identity]git.OID{}
	for _, id := range l.Identities {
		wants[coordinator.Identity(id)] = git.ZeroOID
	}
	if _, err := t.repo.moveCandidatesLocked(ctx, wants); err != nil {
		s.warn(ctx, "cannot drop the refs of landed candidates", err)
	}
	return nil
}

// markLanded writes a landing into its round and its patches.
func (s *Service) markLanded(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, l ledger.Landing, seq ledger.Seq) error {
	r, err := tx.Round(ctx, l.Target, l.Round)
	if err != nil {
		return err
	}
	commits := map[ledger.Identity]git.OID{}
	for i, m := range r.Members {
		commits[m.Identity] = m.Commit
		if m.Status == "sealed" {
			r.Members[i].Status = "landed"
		}
	}
	r.Status = ledger.RoundLanded
	if err := tx.SaveRound(ctx, locked, r); err != nil {
		return err
	}
	var rows []ledger.Patch
	for _, id := range l.Identities {
		p, err := tx.Patch(ctx, l.Target, id)
		if err != nil {
			return err
		}
		p.Disposition, p.LandedCommit, p.LandedSeq, p.NeedsDecision, p.NeedsChecks = ledger.Landed, commits[id], seq, false, false
		p.ContendsWith, p.Successor = nil, ""
		rows = append(rows, p)
	}
	return tx.SavePatches(ctx, locked, rows...)
}

// abandonLanding records that an intent was given up, and ends its round.
func (s *Service) abandonLanding(ctx context.Context, t *target, l ledger.Landing) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		locked, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		open, err := tx.OpenLandings(ctx, t.id)
		if err != nil || !slices.ContainsFunc(open, func(o ledger.Landing) bool { return o.Seq == l.Seq }) {
			return err
		}
		if err := appendFact(ctx, tx, locked, KindLandingAbandoned, map[string]any{"intent": l.Seq, "round": l.Round}, nil); err != nil {
			return err
		}
		if err := tx.CloseLanding(ctx, locked, l.Seq, ledger.LandingAbandoned, locked.Version); err != nil {
			return err
		}
		r, err := tx.Round(ctx, t.id, l.Round)
		if err != nil {
			return err
		}
		return supersede(ctx, tx, locked, r, "the target moved while it was landing")
	})
}
