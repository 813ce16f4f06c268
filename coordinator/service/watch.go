package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// watch looks at the guarded branches, since anybody may move them: by a push, by a commit in a checkout, by force.
func (s *Service) watch(ctx context.Context) error {
	ticker := time.NewTicker(s.config.PollInterval)
	defer ticker.Stop()
	for {
		for _, r := range s.repos {
			for _, t := range r.targets {
				if err := s.observe(ctx, t); err != nil && ctx.Err() == nil {
					s.warn(ctx, "cannot follow target "+string(t.ref), err)
				}
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// observe records where a branch stands, if that is news, and has everything pending decided again.
func (s *Service) observe(ctx context.Context, t *target) error {
	tip, exists, err := t.repo.git.Resolve(ctx, t.ref)
	if err != nil {
		return fmt.Errorf("read %s: %w", t.ref, err)
	}
	if !exists {
		return errf(ErrNotFound, "target", "make the branch, or serve another one with --target", "branch %s does not exist", t.ref)
	}
	row, err := s.store.Target(ctx, t.id)
	if err != nil {
		return err
	}
	if row.Commit == ledger.OID(tip) {
		return nil
	}
	commit, err := t.repo.git.ReadCommit(ctx, tip)
	if err != nil {
		return fmt.Errorf("read tip of %s: %w", t.ref, err)
	}
	err = s.move(ctx, t, row, commit)
	var stale *ledger.StaleError
	if errors.As(err, &stale) {
		return nil // somebody else saw it first; the next look tells
	}
	return err
}

func (s *Service) move(ctx context.Context, t *target, row ledger.Target, tip *git.Commit) error {
	payload, err := coordinator.Canonical(map[string]any{"from": row.Commit, "to": tip.OID, "tree": tip.Tree})
	if err != nil {
		return err
	}
	var flagged int64
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		locked, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		expect := ledger.Expect{AnyVersion: true, AnyInputs: true, Commit: row.Commit}
		if _, flagged, err = tx.MoveTarget(ctx, locked, expect, ledger.OID(tip.OID), ledger.Entry{Payload: payload}); err != nil {
			return err
		}
		return s.queuePending(ctx, tx, t.id)
	})
	if err != nil {
		return fmt.Errorf("record move of %s to %s: %w", t.ref, tip.OID, err)
	}
	s.metrics.moves.Inc()
	s.config.Logger.InfoContext(ctx, "target moved", slog.String("repo", t.repo.name), slog.String("target", string(t.ref)),
		slog.String("commit", string(tip.OID)), slog.Int64("to_decide", flagged))
	return nil
}

// queuePending queues a decision for every pending patch that needs one.
func (s *Service) queuePending(ctx context.Context, tx *ledger.Tx, id ledger.TargetID) error {
	patches, err := tx.PendingPatches(ctx, id)
	if err != nil {
		return err
	}
	var jobs []river.InsertManyParams
	for _, p := range patches {
		if p.NeedsDecision {
			jobs = append(jobs, river.InsertManyParams{Args: decideArgs{Target: int64(id), Identity: string(p.Identity)}})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if _, err := s.jobs.InsertManyTx(ctx, tx.Pgx(), jobs); err != nil {
		return fmt.Errorf("queue decisions: %w", err)
	}
	return nil
}

// recover finishes what an earlier process left: it looks at the branches and queues every decision that is due. A job of
// the dead process that is still marked as running finds its patch decided when it is rescued.
func (s *Service) recover(ctx context.Context) error {
	for _, r := range s.repos {
		if err := s.removeStaleLocks(ctx, r); err != nil {
			return err
		}
		for _, t := range r.targets {
			if err := s.observe(ctx, t); err != nil {
				return err
			}
			err := s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error { return s.queuePending(ctx, tx, t.id) })
			if err != nil {
				return err
			}
			if err := s.reconcileRefs(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// reconcileRefs drops candidate refs of this target's patches that are no candidates any more: a crash can leave one.
func (s *Service) reconcileRefs(ctx context.Context, t *target) error {
	for _, d := range []ledger.Disposition{ledger.Withdrawn, ledger.Rejected} {
		cursor := ledger.PatchCursor{}
		for {
			page, err := s.store.ListPatches(ctx, t.id, ledger.PatchFilter{Dispositions: []ledger.Disposition{d}}, cursor, pageMax)
			if err != nil {
				return err
			}
			for _, p := range page {
				if err := s.dropCandidate(ctx, t, p.Identity); err != nil {
					s.warn(ctx, "cannot drop candidate ref", err)
				}
			}
			if len(page) < pageMax {
				break
			}
			last := page[len(page)-1]
			cursor = ledger.PatchCursor{AdmittedSeq: last.AdmittedSeq, Identity: last.Identity}
		}
	}
	return nil
}

func (s *Service) dropCandidate(ctx context.Context, t *target, id ledger.Identity) error {
	identity := coordinator.Identity(id)
	return t.repo.moveOwn(ctx, candidateRef(identity), git.ZeroOID, func(ctx context.Context, found git.OID) (bool, error) {
		return t.repo.isCandidateOf(ctx, found, identity)
	})
}

// removeStaleLocks removes lock files of patchd's own refs that a killed git left. Nobody else writes under refs/patchd, and
// this process holds the data directory's lock and has started no git that writes.
func (s *Service) removeStaleLocks(ctx context.Context, r *repository) error {
	locks, err := r.git.StaleLocks()
	if err != nil {
		return fmt.Errorf("look for stale locks: %w", err)
	}
	for _, path := range locks {
		if !strings.Contains(path, "/refs/patchd/") {
			continue
		}
		if err := r.git.RemoveLock(path); err != nil {
			return fmt.Errorf("remove stale lock: %w", err)
		}
		s.config.Logger.WarnContext(ctx, "removed a lock that a killed git left", slog.String("path", path))
	}
	return nil
}
