package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// anchorRef is where a target's head hash is kept outside the database.
func anchorRef(target git.Ref) git.Ref {
	return "refs/patchd/ledger/" + git.Ref(strings.TrimPrefix(string(target), "refs/heads/"))
}

// anchorEvery bounds how often heads are anchored: a burst of entries is one ref update.
const anchorEvery = time.Second

// anchorPrefix begins the blob that an anchor points at, so that the ref is recognised as ours.
const anchorPrefix = "patchd ledger head "

// anchor keeps the ledger heads in the repositories, so that a cut tail shows, until ctx ends.
func (s *Service) anchor(ctx context.Context) error {
	wake, done := s.hub.subscribe(s.targetIDs()...)
	defer done()
	for {
		s.anchorAll(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		}
		if err := pause(ctx, anchorEvery); err != nil {
			return err
		}
	}
}

func (s *Service) targetIDs() []ledger.TargetID {
	var ids []ledger.TargetID
	for _, r := range s.repos {
		for _, t := range r.targets {
			ids = append(ids, t.id)
		}
	}
	return ids
}

// anchorAll anchors every head that has moved. One call runs at a time.
func (s *Service) anchorAll(ctx context.Context) {
	for _, r := range s.repos {
		for _, t := range r.targets {
			trouble := ""
			if err := s.anchorOne(ctx, t); err != nil && !errors.Is(err, context.Canceled) {
				trouble = err.Error()
			}
			if trouble != "" && trouble != t.anchorTrouble { // logged once, not at every entry
				s.config.Logger.ErrorContext(ctx, "cannot anchor ledger head", slog.String("repo", r.name), slog.String("target", string(t.ref)), slog.String("error", trouble))
			}
			t.anchorTrouble = trouble
		}
	}
}

func (s *Service) anchorOne(ctx context.Context, t *target) error {
	row, err := s.store.Target(ctx, t.id)
	if err != nil || row.Version == 0 {
		return err
	}
	head := git.Object{Type: git.TypeBlob, Data: []byte(anchorPrefix + string(row.HeadHash) + "\n")}
	head.OID = git.HashObject(head.Type, head.Data)
	found, exists, err := t.repo.git.Resolve(ctx, anchorRef(t.ref))
	if err != nil || (exists && found == head.OID) {
		return err
	}
	if exists {
		if err := s.continues(ctx, t, found); err != nil {
			return err
		}
	}
	if err := t.repo.git.WritePack(ctx, []git.Object{head}); err != nil {
		return fmt.Errorf("write anchor: %w", err)
	}
	return t.repo.moveOwn(ctx, anchorRef(t.ref), head.OID, func(ctx context.Context, found git.OID) (bool, error) {
		hash, err := t.repo.anchored(ctx, found)
		return hash != "", err
	})
}

// continues fails where the ledger does not hold the head that is anchored: its tail was cut, it was rewritten, or another
// one was put in its place. The anchor is all that shows it, so it is left alone.
func (s *Service) continues(ctx context.Context, t *target, found git.OID) error {
	hash, err := t.repo.anchored(ctx, found)
	if err != nil || hash == "" {
		return err // none of ours: moving it raises the alarm
	}
	if _, known, err := s.store.EntryByHash(ctx, t.id, hash); err != nil || known {
		return err
	}
	return &CutError{Ref: anchorRef(t.ref), Hash: string(hash)}
}

// CutError says that the head that a repository keeps is not in the ledger. The ref stays as it is.
type CutError struct {
	Ref  git.Ref
	Hash string
}

// Error says what was found where, and what to do.
func (e *CutError) Error() string {
	return fmt.Sprintf("ref %s anchors ledger head %s, which the ledger does not hold: it was cut, rewritten or replaced; look into it, then delete the ref", e.Ref, e.Hash)
}

// anchored is the head hash in an anchor's blob, empty where it is none of ours.
func (r *repository) anchored(ctx context.Context, id git.OID) (ledger.Digest, error) {
	blob, err := r.git.ReadBlob(ctx, id)
	var wrong *git.TypeError
	if errors.As(err, &wrong) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	hash, ours := strings.CutPrefix(strings.TrimSpace(string(blob)), anchorPrefix)
	if !ours || !coordinator.Digest(hash).Valid() {
		return "", nil
	}
	return ledger.Digest(hash), nil
}

// Verify walks a target's ledger and holds it against the anchor in the repository and against the patches' states.
func (s *Service) Verify(ctx context.Context, repo string, ref git.Ref) (*Verification, error) {
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	found, exists, err := t.repo.git.Resolve(ctx, anchorRef(t.ref))
	if err != nil {
		return nil, fmt.Errorf("read anchor: %w", err)
	}
	anchor := ledger.Anchor{}
	v := &Verification{Repo: t.repo.name, Target: t.ref, Chain: true, Anchor: true, State: true}
	if exists {
		if anchor.Hash, err = t.repo.anchored(ctx, found); err != nil {
			return nil, fmt.Errorf("read anchor: %w", err)
		}
		if anchor.Hash == "" {
			v.Anchor, v.Faults = false, append(v.Faults, fmt.Sprintf("anchor: %s does not hold a ledger head", anchorRef(t.ref)))
		}
	}
	report, err := s.store.VerifyChain(ctx, t.id, anchor)
	if err != nil {
		return nil, err
	}
	v.Entries, v.Head = report.Entries, string(report.Head)
	for _, p := range report.Problems {
		switch p.Code {
		case ledger.ProblemAnchor:
			v.Anchor = false
		default:
			v.Chain = false
		}
		v.Faults = append(v.Faults, fmt.Sprintf("%s at entry %d: %s", p.Code, p.Seq, p.Detail))
	}
	faults, err := s.verifyState(ctx, t)
	if err != nil {
		return nil, err
	}
	v.State = len(faults) == 0
	v.Faults = append(v.Faults, faults...)
	return v, nil
}
