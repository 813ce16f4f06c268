package service

import (
	"context"
	"errors"
	"fmt"
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

// anchor keeps the ledger heads in the repositories, so that a cut tail shows, until ctx ends; then once more.
func (s *Service) anchor(ctx context.Context) error {
	wake, done := s.hub.subscribe(s.targetIDs()...)
	defer done()
	for {
		s.anchorAll(ctx)
		select {
		case <-ctx.Done():
			s.anchorAll(context.WithoutCancel(ctx))
			return ctx.Err()
		case <-wake:
		}
		if err := pause(ctx, anchorEvery); err != nil {
			continue
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

func (s *Service) anchorAll(ctx context.Context) {
	for _, r := range s.repos {
		for _, t := range r.targets {
			if err := s.anchorOne(ctx, t); err != nil && !errors.Is(err, context.Canceled) {
				s.warn(ctx, "cannot anchor ledger head", err)
			}
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
	if found, exists, err := t.repo.git.Resolve(ctx, anchorRef(t.ref)); err != nil || (exists && found == head.OID) {
		return err
	}
	if err := t.repo.git.WritePack(ctx, []git.Object{head}); err != nil {
		return fmt.Errorf("write anchor: %w", err)
	}
	return t.repo.moveOwn(ctx, anchorRef(t.ref), head.OID, func(ctx context.Context, found git.OID) (bool, error) {
		hash, err := t.repo.anchored(ctx, found)
		return hash != "", err
	})
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
