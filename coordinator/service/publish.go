package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree"
	"patchd/worktree/git"
)

// candidateRef is where a patch's candidate is found.
func candidateRef(id coordinator.Identity) git.Ref {
	return git.Ref("refs/patchd/candidates/" + string(id[:20]))
}

// refTries bounds how often a ref of patchd's own is moved again when another daemon moved it first.
const refTries = 5

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

// moveCandidates brings the candidate refs of patches to what was decided (ZeroOID deletes one), all in one transaction. A ref
// that holds what patchd did not write stays as it is and is given back as an alarm.
func (r *repository) moveCandidates(ctx context.Context, wants map[coordinator.Identity]git.OID) (map[coordinator.Identity]error, error) {
	r.refs.Lock()
	defer r.refs.Unlock()
	return r.moveCandidatesLocked(ctx, wants)
}

// moveCandidatesLocked is moveCandidates for who holds the lock of the repository's refs.
func (r *repository) moveCandidatesLocked(ctx context.Context, wants map[coordinator.Identity]git.OID) (map[coordinator.Identity]error, error) {
	return r.moveCandidatesTimes(ctx, wants, refTries)
}

func (r *repository) moveCandidatesTimes(ctx context.Context, wants map[coordinator.Identity]git.OID, tries int) (map[coordinator.Identity]error, error) {
	alarms := map[coordinator.Identity]error{}
	var updates []git.RefUpdate
	for _, id := range slices.Sorted(maps.Keys(wants)) {
		ref, want := candidateRef(id), wants[id]
		found, exists, err := r.git.Resolve(ctx, ref)
		if err != nil {
			return nil, fmt.Errorf("read ref %s: %w", ref, err)
		}
		if !exists {
			found = git.ZeroOID
		}
		if found == want {
			continue
		}
		if exists {
			ours, err := r.isCandidateOf(ctx, found, id)
			if err != nil {
				return nil, fmt.Errorf("look at ref %s: %w", ref, err)
			}
			if !ours {
				alarms[id] = &AlarmError{Ref: ref, Found: found, Want: want}
				continue
			}
		}
		updates = append(updates, git.RefUpdate{Ref: ref, Old: found, New: want})
	}
	err := r.git.UpdateRefs(ctx, updates)
	var raced *git.RefConflictError
	if errors.As(err, &raced) && tries > 1 { // another daemon works on the same repository
		return r.moveCandidatesTimes(ctx, wants, tries-1)
	}
	if err != nil {
		return nil, fmt.Errorf("move candidate refs: %w", err)
	}
	return alarms, nil
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
	for try := 1; ; try++ {
		err := r.tryToMove(ctx, ref, want, ours)
		var raced *git.RefConflictError
		if try == refTries || !errors.As(err, &raced) {
			return err
		}
	}
}

func (r *repository) tryToMove(ctx context.Context, ref git.Ref, want git.OID, ours func(context.Context, git.OID) (bool, error)) error {
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
func (s *Service) stamp(of *set, row ledger.Patch, d *coordinator.Decision) {
	if d.Operational == nil {
		d.Operational = &coordinator.Operational{}
	}
	o := d.Operational
	o.PatchIDs = slices.Clone(of.labels[row.Identity])
	o.DecidedAt = s.config.Clock().UTC()
	o.GitVersion = of.target.repo.git.Version()
	o.Host = s.config.Host
}

// warn logs a failure that does not stop anything.
func (s *Service) warn(ctx context.Context, message string, err error) {
	s.config.Logger.WarnContext(ctx, message, slog.Any("error", err)) //nolint:sloglint // every caller gives a constant
}
