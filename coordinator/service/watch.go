package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
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
	said := map[*target]string{} // each trouble is logged once, not at every look
	for {
		for _, r := range s.repos {
			for _, t := range r.targets {
				trouble := ""
				if _, err := s.observe(ctx, t); err != nil && ctx.Err() == nil {
					trouble = err.Error()
				}
				if trouble != "" && trouble != said[t] {
					s.config.Logger.WarnContext(ctx, "cannot follow target", slog.String("repo", r.name), slog.String("target", string(t.ref)), slog.String("error", trouble))
				}
				said[t] = trouble
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// observe gives a target as the ledger has it after recording where the branch stands, if that is news, and having
// everything pending decided again. A branch that is gone is an error, and what was decided stays.
func (s *Service) observe(ctx context.Context, t *target) (ledger.Target, error) {
	tip, exists, err := t.repo.git.Resolve(ctx, t.ref)
	if err != nil {
		return ledger.Target{}, fmt.Errorf("read %s: %w", t.ref, err)
	}
	if !exists {
		return ledger.Target{}, errf(ErrNotFound, "target", "make the branch, or serve another one with --target", "branch %s does not exist", t.ref)
	}
	row, err := s.store.Target(ctx, t.id)
	if err != nil || row.Commit == tip {
		return row, err
	}
	commit, err := t.repo.git.ReadCommit(ctx, tip)
	if err != nil {
		return row, fmt.Errorf("read tip of %s: %w", t.ref, err)
	}
	err = s.move(ctx, t, row, commit)
	var stale *ledger.StaleError
	if err != nil && !errors.As(err, &stale) { // stale: somebody else saw it first
		return row, err
	}
	return s.store.Target(ctx, t.id)
}

func (s *Service) move(ctx context.Context, t *target, row ledger.Target, tip *git.Commit) error {
	var flagged int64
	err := s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		locked, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		open, err := tx.OpenLandings(ctx, t.id)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(open, func(l ledger.Landing) bool { return l.New == tip.OID }) {
			return nil // a landing of ours, about to be recorded as one
		}
		expect := ledger.Expect{AnyVersion: true, AnyInputs: true, Commit: row.Commit}
		moved := *locked
		moved.Commit = tip.OID
		reverted, restored, err := s.recount(ctx, tx, moved)
		if err != nil {
			return err
		}
		payload, err := coordinator.Canonical(map[string]any{
			"from": row.Commit, "to": tip.OID, "tree": tip.Tree, "reverted": identities(reverted), "restored": identities(restored),
		})
		if err != nil {
			return err
		}
		if _, flagged, err = tx.MoveTarget(ctx, locked, expect, tip.OID, ledger.Entry{Payload: payload}); err != nil {
			return err
		}
		if err := tx.SavePatches(ctx, locked, slices.Concat(reverted, restored)...); err != nil {
			return err
		}
		if err := s.supersedeRounds(ctx, tx, locked, "", "the target moved"); err != nil {
			return err
		}
		return errors.Join(s.queuePending(ctx, tx, locked), s.queueSettle(ctx, tx, t.id))
	})
	if err != nil {
		return fmt.Errorf("record move of %s to %s: %w", t.ref, tip.OID, err)
	}
	s.metrics.moves.Inc()
	s.config.Logger.InfoContext(ctx, "target moved", slog.String("repo", t.repo.name), slog.String("target", string(t.ref)),
		slog.String("commit", string(tip.OID)), slog.Int64("to_decide", flagged))
	return nil
}

// recount finds, for where a target is moving, the patches whose landing no longer counts, which come back into the set and wait
// for a person there, and those whose landing counts again.
func (s *Service) recount(ctx context.Context, tx *ledger.Tx, row ledger.Target) (reverted, restored []ledger.Patch, err error) {
	t, ok := s.byID(row.ID)
	if !ok {
		return nil, nil, nil
	}
	counted, err := s.landings(ctx, tx.Queries, &set{target: t, row: row})
	if err != nil {
		return nil, nil, err
	}
	counts := map[coordinator.Identity]bool{}
	for _, l := range counted {
		counts[l.Identity] = counts[l.Identity] || l.Counts
	}
	for _, id := range slices.Sorted(maps.Keys(counts)) {
		p, err := tx.Patch(ctx, row.ID, ledger.Identity(id))
		if err != nil {
			return nil, nil, err
		}
		switch {
		case !counts[id] && p.Disposition == ledger.Landed:
			p.Disposition, p.NeedsDecision = ledger.Pending, true
			reverted = append(reverted, p)
		case counts[id] && p.Disposition == ledger.Pending && p.LandedSeq != 0: // one that was reopened has none
			p.Disposition, p.NeedsDecision, p.NeedsChecks = ledger.Landed, false, false
			restored = append(restored, p)
		}
	}
	return reverted, restored, nil
}

func identities(rows []ledger.Patch) []ledger.Identity {
	out := make([]ledger.Identity, len(rows))
	for i, p := range rows {
		out[i] = p.Identity
	}
	return out
}

// queuePending queues a decision for every pending patch that needs one; a patch that was given up gets all its tries again.
func (s *Service) queuePending(ctx context.Context, tx *ledger.Tx, t *ledger.Target) error {
	patches, err := tx.PendingPatches(ctx, t.ID)
	if err != nil {
		return err
	}
	var jobs []river.InsertManyParams
	var relieved []ledger.Patch
	for _, p := range patches {
		if !p.NeedsDecision {
			continue
		}
		jobs = append(jobs, river.InsertManyParams{Args: decideArgs{Target: int64(t.ID), Identity: string(p.Identity)}})
		if n := noteOf(p); n.GivenUp {
			n.Problem, n.Attempt, n.GivenUp = "", 0, false
			p.Data = n.bytes()
			relieved = append(relieved, p)
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	if err := tx.SavePatches(ctx, t, relieved...); err != nil {
		return err
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
			if err := s.catchUp(ctx, t); err != nil {
				return err
			}
			if err := s.reconcileRefs(ctx, t); err != nil {
				return err
			}
		}
	}
	return nil
}

// catchUp looks at a branch and queues what is due on it. A branch that was served before and is gone now keeps nothing else
// from being served.
func (s *Service) catchUp(ctx context.Context, t *target) error {
	if err := s.releaseStaleHolds(ctx, t); err != nil {
		return err
	}
	if err := s.finishLandings(ctx, t); err != nil {
		return err
	}
	_, err := s.observe(ctx, t)
	var gone *Error
	if errors.As(err, &gone) {
		row, rowErr := s.store.Target(ctx, t.id)
		if rowErr != nil || row.Commit == "" {
			return errors.Join(err, rowErr)
		}
		s.warn(ctx, "cannot follow target", err)
	} else if err != nil {
		return err
	}
	return s.requeue(ctx, t)
}

// requeue queues every decision that is due. Jobs that are there already then find nothing to do.
func (s *Service) requeue(ctx context.Context, t *target) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		row, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		if err := s.forgetChecks(ctx, tx, row); err != nil {
			return err
		}
		if err := s.queueRounds(ctx, tx, row); err != nil {
			return err
		}
		return errors.Join(s.queuePending(ctx, tx, row), s.queueSettle(ctx, tx, t.id))
	})
}

// forgetChecks has the checks that are due queued again: the jobs of a process that was killed are not to be waited for.
func (s *Service) forgetChecks(ctx context.Context, tx *ledger.Tx, row *ledger.Target) error {
	patches, err := tx.PendingPatches(ctx, row.ID)
	if err != nil {
		return err
	}
	var changed []ledger.Patch
	for _, p := range patches {
		if n := noteOf(p); n.ChecksFor != "" {
			n.ChecksFor = ""
			p.Data = n.bytes()
			changed = append(changed, p)
		}
	}
	return tx.SavePatches(ctx, row, changed...)
}

// reconcileRefs settles the candidate refs of this target's patches: a crash can leave one that was overtaken.
func (s *Service) reconcileRefs(ctx context.Context, t *target) error {
	settled := []ledger.Disposition{ledger.Pending, ledger.Withdrawn, ledger.Rejected}
	for cursor := (ledger.PatchCursor{}); ; {
		page, err := s.store.ListPatches(ctx, t.id, ledger.PatchFilter{Dispositions: settled}, cursor, pageMax)
		if err != nil {
			return err
		}
		for _, p := range page {
			cursor = ledger.PatchCursor{AdmittedSeq: p.AdmittedSeq, Identity: p.Identity}
			s.settle(ctx, t, p.Identity)
		}
		if len(page) < pageMax {
			return nil
		}
	}
}

// lockTime is how long a git holds a lock at most: a child of a daemon that was stopped, or that works on the same repository, is
// given the time to end.
const lockTime = 2 * time.Second

// outlived waits whether a lock goes away by itself.
func (s *Service) outlived(ctx context.Context, path string) (gone bool, err error) {
	before, err := os.Stat(path)
	for range 10 {
		if errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
		if err != nil {
			return false, fmt.Errorf("look at lock: %w", err)
		}
		if err := pause(ctx, lockTime/10); err != nil {
			return false, err
		}
		var now os.FileInfo
		if now, err = os.Stat(path); err == nil && !now.ModTime().Equal(before.ModTime()) {
			return true, nil // another one
		}
	}
	return false, nil
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
		if gone, err := s.outlived(ctx, path); err != nil || gone {
			if err != nil {
				return err
			}
			continue
		}
		if err := r.git.RemoveLock(path); err != nil {
			return fmt.Errorf("remove stale lock: %w", err)
		}
		s.config.Logger.WarnContext(ctx, "removed a lock that a killed git left", slog.String("path", path))
	}
	return nil
}
