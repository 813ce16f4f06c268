package service

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/riverqueue/river"

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
func (s *Service) Land(ctx context.Context, by Credential, repo string, ref git.Ref, number int64) (landed *Round, err error) {
	defer away(&err)
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

// land records the intent, moves the branch and records the landing. One landing of a target is under way at a time in this
// process; where another daemon takes up the round at the same moment, this one sees to it that it is finished.
func (s *Service) land(ctx context.Context, t *target, r ledger.Round, by string) error {
	unlock, err := s.landing.lock(ctx, t.id)
	if err != nil {
		return err
	}
	defer unlock()
	for range maxStale {
		err = s.tryLand(ctx, t, r, by)
		if stale := (*ledger.StaleError)(nil); !errors.As(err, &stale) {
			return err
		}
	}
	return err
}

func (s *Service) tryLand(ctx context.Context, t *target, r ledger.Round, by string) error {
	if err := s.finishLandings(ctx, t); err != nil {
		return err
	}
	r, err := s.store.Round(ctx, t.id, r.Number)
	if err != nil || r.Status == ledger.RoundLanded {
		return err
	}
	if r.Status != ledger.RoundReady {
		return errf(ErrStale, "round", "seal another round", "round %d is %s", r.Number, r.Status)
	}
	held, err := s.holdCheckouts(ctx, t, r.TargetCommit, r.HeadCommit, func(ctx context.Context) (bool, error) {
		now, err := s.store.Round(ctx, t.id, r.Number)
		return now.Status == r.Status, err
	})
	if err != nil {
		return err
	}
	defer held.release(ctx)
	l, err := s.intend(ctx, t, r, by)
	if err != nil {
		return err
	}
	return s.carryOut(ctx, t, l, held)
}

// intend commits the intent to move the target, under its lock and against the round as it was checked.
func (s *Service) intend(ctx context.Context, t *target, r ledger.Round, by string) (ledger.Landing, error) {
	var l ledger.Landing
	err := s.inRound(ctx, r, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
		switch {
		case locked.Paused:
			return errf(ErrStale, "target", "resume it first", "target %s is paused", t.ref)
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
		if err := tx.SaveRound(ctx, locked, now); err != nil {
			return err
		}
		return s.queueRound(ctx, tx, t.id, now.Number) // for whoever is left when this process dies
	})
	if err == nil && l.Seq == 0 {
		err = errf(ErrStale, "round", "its patches are decided again; seal another round", "round %d is superseded: the target moved", r.Number)
	}
	return l, err
}

// finishLandings takes up what an earlier process intended: before a landing and on start.
func (s *Service) finishLandings(ctx context.Context, t *target) error {
	open, err := s.store.OpenLandings(ctx, t.id)
	if err != nil {
		return err
	}
	for _, l := range open {
		err := s.resumeLanding(ctx, t, l)
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
func (s *Service) landStep(ctx context.Context, t *target) error {
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
		return s.landLater(ctx, t, r.Number)
	}
	return err
}

// landLater has a round that could not land looked at again: a checkout that could not follow may soon. A paused target is left
// to whoever resumes it.
func (s *Service) landLater(ctx context.Context, t *target, number int64) error {
	row, err := s.store.Target(ctx, t.id)
	if err != nil || row.Paused {
		return err
	}
	r, err := s.store.Round(ctx, t.id, number)
	if err != nil || r.Status != ledger.RoundReady {
		return err
	}
	return river.JobSnooze(elsewhere)
}

// carries reports whether a commit is one that patchd makes for the patch.
func carries(c *git.Commit, id coordinator.Identity) bool {
	return slices.ContainsFunc(worktree.Trailers(c.Message), func(t worktree.Trailer) bool {
		return t.Key == coordinator.TrailerIdentity && t.Value == string(id)
	})
}
