package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree"
	"patchd/worktree/git"
)

// candidateRef is where a patch's candidate is found.
func candidateRef(id coordinator.Identity) git.Ref {
	return git.Ref("refs/patchd/candidates/" + string(id[:20]))
}

// AlarmError says that a ref of patchd's own holds what patchd did not put there. It is never overwritten.
type AlarmError struct {
	Ref   git.Ref
	Found git.OID
	Want  git.OID
}

// Error says what was found where.
func (e *AlarmError) Error() string {
	return fmt.Sprintf("ref %s holds %s, which patchd did not write (it would write %s): look at it, then delete the ref", e.Ref, e.Found, e.Want)
}

// publish brings the repository to what a decision says of a patch: for a candidate its objects, durably, and its ref; for
// anything else no candidate ref.
func (s *Service) publish(ctx context.Context, w *work, plan *coordinator.Plan, d *coordinator.Decision) error {
	repo := w.target.repo
	ref := candidateRef(d.Patch.Identity)
	want := git.ZeroOID
	if d.Outcome == coordinator.OutcomeCandidate {
		want = d.Candidate.Commit
		objects, err := plan.Objects.Reachable(ctx, want)
		if err != nil {
			return fmt.Errorf("collect objects of candidate %s: %w", want, err)
		}
		if err := repo.git.WritePack(ctx, objects); err != nil {
			return fmt.Errorf("write objects of candidate %s: %w", want, err)
		}
	}
	return repo.moveOwn(ctx, ref, want, func(ctx context.Context, found git.OID) (bool, error) {
		return repo.isCandidateOf(ctx, found, d.Patch.Identity)
	})
}

// moveOwn moves a ref of patchd's own to want (ZeroOID deletes it) by compare-and-swap. What it holds otherwise must be
// ours, or the alarm is raised.
func (r *repository) moveOwn(ctx context.Context, ref git.Ref, want git.OID, ours func(context.Context, git.OID) (bool, error)) error {
	r.refs.Lock()
	defer r.refs.Unlock()
	return r.moveLocked(ctx, ref, want, ours)
}

// moveLocked is moveOwn for who holds the lock of the repository's refs.
func (r *repository) moveLocked(ctx context.Context, ref git.Ref, want git.OID, ours func(context.Context, git.OID) (bool, error)) error {
	found, exists, err := r.git.Resolve(ctx, ref)
	if err != nil {
		return fmt.Errorf("read ref %s: %w", ref, err)
	}
	if !exists {
		found = git.ZeroOID
	}
	if found == want {
		return nil
	}
	if exists {
		ok, err := ours(ctx, found)
		if err != nil {
			return fmt.Errorf("look at ref %s: %w", ref, err)
		}
		if !ok {
			return &AlarmError{Ref: ref, Found: found, Want: want}
		}
	}
	if err := r.git.UpdateRefs(ctx, []git.RefUpdate{{Ref: ref, Old: found, New: want}}); err != nil {
		return fmt.Errorf("move ref %s: %w", ref, err)
	}
	return nil
}

// settle brings a patch's candidate ref to what the ledger says of the patch: a decision that was overtaken, or a
// withdrawal, may have left another one. A patch that is due is left to whoever decides it. A failure is logged: the next
// start settles again.
func (s *Service) settle(ctx context.Context, t *target, id ledger.Identity) {
	identity := coordinator.Identity(id)
	t.repo.refs.Lock()
	defer t.repo.refs.Unlock()
	p, err := s.store.Patch(ctx, t.id, id)
	if err == nil && (p.Disposition != ledger.Pending || !p.NeedsDecision) {
		want := git.ZeroOID
		if p.Disposition != ledger.Withdrawn && p.Disposition != ledger.Rejected && p.CandidateCommit != "" {
			want = p.CandidateCommit
		}
		err = t.repo.moveLocked(ctx, candidateRef(identity), want, func(ctx context.Context, found git.OID) (bool, error) {
			return t.repo.isCandidateOf(ctx, found, identity)
		})
	}
	if err != nil && ctx.Err() == nil {
		s.warn(ctx, "cannot settle candidate ref", err)
	}
}

// isCandidateOf reports whether a commit is one that patchd makes for the patch.
func (r *repository) isCandidateOf(ctx context.Context, id git.OID, patch coordinator.Identity) (bool, error) {
	commit, err := r.git.ReadCommit(ctx, id)
	var missing *git.MissingError
	var wrong *git.TypeError
	if errors.As(err, &missing) || errors.As(err, &wrong) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, t := range worktree.Trailers(commit.Message) {
		if t.Key == coordinator.TrailerIdentity && t.Value == string(patch) {
			return true, nil
		}
	}
	return false, nil
}

// stamp adds what was observed and never decides.
func (s *Service) stamp(w *work, d *coordinator.Decision) {
	if d.Operational == nil {
		d.Operational = &coordinator.Operational{}
	}
	o := d.Operational
	o.PatchIDs = []string{w.patch.PatchID}
	o.DecidedAt = s.config.Clock().UTC()
	o.GitVersion = w.target.repo.git.Version()
	o.Host = s.config.Host
}

// warn logs a failure that does not stop anything.
func (s *Service) warn(ctx context.Context, message string, err error) {
	s.config.Logger.WarnContext(ctx, message, slog.Any("error", err))
}
