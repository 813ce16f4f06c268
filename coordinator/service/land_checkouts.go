package service

import (
	"context"
	"errors"
	"slices"
	"time"

	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// holds are the checkouts of a branch that is being moved; nil where they could not be held.
type holds []*git.HeldCheckout

// busyWait is how long somebody at work in a checkout is waited for: most git commands, and landings, are done by then.
// busyPause is how often it is looked at.
const (
	busyWait  = 5 * time.Second
	busyPause = 50 * time.Millisecond
)

// holdCheckouts locks the checkouts of the target while it moves, and refuses where work would be lost or mixed up. Somebody at
// work there is waited for, while there is still something to do: where another process does it meanwhile, nothing is held.
func (s *Service) holdCheckouts(ctx context.Context, t *target, from, to git.OID, still func(context.Context) (bool, error)) (holds, error) {
	patience, ticker := time.NewTimer(busyWait), time.NewTicker(busyPause)
	defer patience.Stop()
	defer ticker.Stop()
	for waited := false; ; {
		if needed, err := still(ctx); err != nil || !needed {
			return nil, err
		}
		held, err := t.tryHold(ctx, from, to)
		var dirty *git.DirtyCheckoutError
		if !errors.As(err, &dirty) {
			return held, err
		}
		if !dirty.Busy || waited {
			return nil, errf(ErrStale, "target", "commit or stash there, or check out another branch, then land again", "%s is checked out in %q and cannot follow: %s", t.ref, dirty.Path, dirty.Reason)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-patience.C:
			waited = true
		case <-ticker.C:
		}
	}
}

// tryHold locks all checkouts of the target, or none.
func (t *target) tryHold(ctx context.Context, from, to git.OID) (holds, error) {
	trees, err := t.checkouts(ctx)
	if err != nil {
		return nil, err
	}
	held := holds{}
	for _, w := range trees {
		h, err := t.repo.git.HoldCheckout(ctx, w.Path, from, to)
		if err != nil {
			held.release(ctx)
			return nil, err
		}
		held = append(held, h)
	}
	return held, nil
}

func (h holds) release(context.Context) {
	for _, c := range h {
		_ = c.Release() // a lock that stays is said by git itself, with what to do
	}
}

// checkoutsFollow brings checkouts of the branch to where it was moved. A failure leaves them behind, says so, and takes nothing
// back: the branch has moved. Checkouts that nobody holds were left by a process that died, and follow if nothing else happened.
func (s *Service) checkoutsFollow(ctx context.Context, t *target, l ledger.Landing, held holds) {
	for _, h := range held {
		if err := h.Follow(ctx); err != nil {
			s.warn(ctx, "a checkout did not follow its branch: run `git reset --hard` there", err)
		}
	}
	if held != nil {
		return
	}
	trees, err := t.checkouts(ctx)
	if tip, _, tipErr := t.repo.git.Resolve(ctx, t.ref); tipErr != nil || tip != l.New {
		return
	}
	for _, w := range trees {
		err = errors.Join(err, t.repo.git.FollowLate(ctx, w.Path, l.Old, l.New))
	}
	if err != nil {
		s.warn(ctx, "a checkout did not follow its branch: run `git reset --hard` there", err)
	}
}

// releaseStaleHolds lets go of the checkouts that a killed process held.
func (s *Service) releaseStaleHolds(ctx context.Context, t *target) error {
	trees, err := t.checkouts(ctx)
	if err != nil {
		return err
	}
	for _, w := range trees {
		released, err := t.repo.git.ReleaseStale(ctx, w.Path)
		if err != nil {
			return err
		}
		if released {
			s.config.Logger.WarnContext(ctx, "let go of a checkout that a killed process held")
		}
	}
	return nil
}

// checkouts lists the worktrees in which the target is checked out.
func (t *target) checkouts(ctx context.Context) ([]git.Worktree, error) {
	all, err := t.repo.git.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(w git.Worktree) bool { return w.Bare || w.Prunable || w.Branch != t.ref }), nil
}
