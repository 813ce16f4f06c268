package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree"
	"patchd/worktree/git"
)

// The ledger entries of a landing.
const (
	KindLandingIntent    ledger.Kind = "landing_intent"
	KindLanded           ledger.Kind = "landed"
	KindLandingAbandoned ledger.Kind = "landing_abandoned"
)

// ownRef names a numbered ref of patchd's own: plainly for the default target, and below the target's name for others, whose
// chains count for themselves.
func (t *target) ownRef(kind string, n int64) git.Ref {
	name := strings.TrimPrefix(string(t.ref), "refs/heads/")
	if name == coordinator.DefaultTarget {
		return git.Ref("refs/patchd/" + kind + "/" + strconv.FormatInt(n, 10))
	}
	return git.Ref("refs/patchd/" + kind + "/" + name + "/" + strconv.FormatInt(n, 10))
}

func (t *target) roundRef(n int64) git.Ref         { return t.ownRef("rounds", n) }
func (t *target) markerRef(seq ledger.Seq) git.Ref { return t.ownRef("landings", int64(seq)) }

// Land moves the target to a round's head. It answers once the landing is recorded, or says why it cannot be.
func (s *Service) Land(ctx context.Context, by Credential, repo string, ref git.Ref, number int64) (*Round, error) {
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	r, err := s.store.Round(ctx, t.id, number)
	if err != nil {
		return nil, notFound(err, "no round %d", number)
	}
	switch r.Status {
	case ledger.RoundReady, ledger.RoundLanding:
	case ledger.RoundLanded:
		return s.Round(ctx, t.repo.name, t.ref, number)
	case ledger.RoundSealing, ledger.RoundComposing, ledger.RoundChecking, ledger.RoundBlaming:
		return nil, errf(ErrStale, "round", "wait for it: `patchd land --when-green`", "round %d is not ready: %s", number, r.Status)
	case ledger.RoundStopped, ledger.RoundSuperseded, ledger.RoundEmpty:
		return nil, errf(ErrStale, "round", "seal another round", "round %d is over: %s", number, r.Status)
	}
	if err := s.land(ctx, t, r, by.Name); err != nil {
		return nil, err
	}
	return s.Round(ctx, t.repo.name, t.ref, number)
}

// land records the intent, moves the branch and records the landing. One landing of a target is under way at a time.
func (s *Service) land(ctx context.Context, t *target, r ledger.Round, by string) error {
	unlock, err := s.landing.lock(ctx, t.id)
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.finishLandings(ctx, t); err != nil {
		return err
	}
	if r, err = s.store.Round(ctx, t.id, r.Number); err != nil || r.Status == ledger.RoundLanded {
		return err
	}
	if err := s.checkoutsCanFollow(ctx, t, r); err != nil {
		return err
	}
	l, err := s.intend(ctx, t, r, by)
	if err != nil {
		return err
	}
	return s.carryOut(ctx, t, l)
}

// intend commits the intent to move the target, under its lock and against the round as it was checked.
func (s *Service) intend(ctx context.Context, t *target, r ledger.Round, by string) (ledger.Landing, error) {
	var l ledger.Landing
	err := s.inRound(ctx, r, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
		switch {
		case locked.Paused:
			return errf(ErrStale, "target", "resume it first", "target %s is paused", t.ref)
		case now.Status != ledger.RoundReady:
			return errf(ErrStale, "round", "seal another round", "round %d is %s", now.Number, now.Status)
		case locked.Commit != now.TargetCommit:
			return s.supersedeRounds(ctx, tx, locked, "", "the target moved")
		}
		l = ledger.Landing{Target: t.id, Seq: locked.Version + 1, Round: now.Number, Old: now.TargetCommit, New: now.HeadCommit, Identities: left(now)}
		err := appendFact(ctx, tx, locked, KindLandingIntent, map[string]any{"round": now.Number, "old": l.Old, "new": l.New, "tree": now.Tree, "identities": l.Identities}, map[string]any{"credential": by})
		if err != nil {
			return err
		}
		if err := tx.IntendLanding(ctx, locked, l); err != nil {
			return err
		}
		now.Status = ledger.RoundLanding
		return tx.SaveRound(ctx, locked, now)
	})
	if err == nil && l.Seq == 0 {
		err = errf(ErrStale, "round", "its patches are decided again; seal another round", "round %d is superseded: the target moved", r.Number)
	}
	return l, err
}

// carryOut swaps the branch and creates the marker in one ref transaction, unless the marker says that it happened, and records
// which of the two it was. It is what recovery runs, too: the marker is trusted, not the branch.
func (s *Service) carryOut(ctx context.Context, t *target, l ledger.Landing) error {
	marker := t.markerRef(l.Seq)
	t.repo.refs.Lock()
	defer t.repo.refs.Unlock()
	found, swapped, err := t.repo.git.Resolve(ctx, marker)
	switch {
	case err != nil:
		return fmt.Errorf("read marker %s: %w", marker, err)
	case swapped && found != l.New:
		return &AlarmError{Ref: marker, Found: found, Want: l.New}
	case swapped:
		return s.recordLanding(ctx, t, l)
	}
	err = t.repo.git.UpdateRefs(ctx, []git.RefUpdate{{Ref: t.ref, Old: l.Old, New: l.New}, {Ref: marker, Old: git.ZeroOID, New: l.New}})
	var moved *git.RefConflictError
	if errors.As(err, &moved) {
		if err := s.abandonLanding(ctx, t, l); err != nil {
			return err
		}
		return errf(ErrStale, "target", "its patches are decided again; seal another round", "target %s moved while round %d was landing", t.ref, l.Round)
	}
	if err != nil {
		return fmt.Errorf("move %s: %w", t.ref, err)
	}
	if err := s.recordLanding(ctx, t, l); err != nil {
		return err
	}
	return s.checkoutsFollow(ctx, t, l)
}

// recordLanding records that the branch was moved, and what follows from it.
func (s *Service) recordLanding(ctx context.Context, t *target, l ledger.Landing) error {
	payload, err := coordinator.Canonical(map[string]any{"intent": l.Seq, "round": l.Round, "old": l.Old, "new": l.New, "identities": l.Identities})
	if err != nil {
		return err
	}
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
		return errors.Join(s.queuePending(ctx, tx, locked), s.queueSettle(ctx, tx, t.id))
	})
	if err != nil {
		return fmt.Errorf("record landing %d: %w", l.Seq, err)
	}
	s.metrics.landings.Inc()
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

// abandonLanding records that the branch had moved, and ends the round.
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
		r.Status = ledger.RoundReady
		if err := tx.SaveRound(ctx, locked, r); err != nil {
			return err
		}
		return s.supersedeRounds(ctx, tx, locked, "", "the target moved while it was landing")
	})
}

// finishLandings takes up what an earlier process intended: before a landing and on start.
func (s *Service) finishLandings(ctx context.Context, t *target) error {
	open, err := s.store.OpenLandings(ctx, t.id)
	if err != nil {
		return err
	}
	for _, l := range open {
		err := s.carryOut(ctx, t, l)
		var answer *Error
		if errors.As(err, &answer) { // abandoned: that is recorded
			s.config.Logger.WarnContext(ctx, "a landing was abandoned", slog.Int64("intent", int64(l.Seq)), slog.Any("error", err))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// landStep is a round whose intent is committed: whoever gets here first carries it out.
func (s *Service) landStep(ctx context.Context, t *target, r ledger.Round) error {
	unlock, err := s.landing.lock(ctx, t.id)
	if err != nil {
		return err
	}
	defer unlock()
	return s.finishLandings(ctx, t)
}

// autoLand lands a ready round by itself where the target's policy says so.
func (s *Service) autoLand(ctx context.Context, t *target, r ledger.Round) error {
	policy, err := t.repo.engine.PolicyAt(ctx, r.TargetCommit)
	if err != nil || policy == nil || !policy.Rounds.AutoLand {
		return err
	}
	err = s.land(ctx, t, r, "auto_land")
	var answer *Error
	if errors.As(err, &answer) {
		s.config.Logger.WarnContext(ctx, "a round does not land by itself", slog.Int64("round", r.Number), slog.String("why", answer.Error()))
		return nil
	}
	return err
}

// checkoutsCanFollow refuses a landing on a branch that is checked out somewhere with work that would be lost or mixed up.
func (s *Service) checkoutsCanFollow(ctx context.Context, t *target, r ledger.Round) error {
	trees, err := t.checkouts(ctx)
	if err != nil {
		return err
	}
	for _, w := range trees {
		err := t.repo.git.CanFollow(ctx, w.Path, r.TargetCommit, r.HeadCommit)
		var dirty *git.DirtyCheckoutError
		if errors.As(err, &dirty) {
			return errf(ErrStale, "target", "commit or stash there, or check out another branch, then land again", "%s is checked out in %q and cannot follow: %s", t.ref, dirty.Path, dirty.Reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// checkoutsFollow brings checkouts of the branch to where it was moved. A failure leaves them behind, says so, and takes nothing
// back: the branch has moved.
func (s *Service) checkoutsFollow(ctx context.Context, t *target, l ledger.Landing) error {
	trees, err := t.checkouts(ctx)
	if err != nil {
		return err
	}
	for _, w := range trees {
		if err := t.repo.git.Follow(ctx, w.Path, l.Old, l.New); err != nil {
			s.warn(ctx, "a checkout did not follow its branch: run `git reset --hard` there", err)
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

// carries reports whether a commit is one that patchd makes for the patch.
func carries(c *git.Commit, id coordinator.Identity) bool {
	return slices.ContainsFunc(worktree.Trailers(c.Message), func(t worktree.Trailer) bool {
		return t.Key == coordinator.TrailerIdentity && t.Value == string(id)
	})
}
