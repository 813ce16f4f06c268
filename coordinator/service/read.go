package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// Bounds of a page.
const (
	pageDefault = 100
	pageMax     = 500
)

// lookAgain is how often a waiter looks without being told: the ledger tells of entries only, and a decision that is made
// again and comes out the same makes none.
const lookAgain = 500 * time.Millisecond

// Wait gives the patch once it is decided at the present target commit, or leaves the set; ctx bounds the wait.
func (s *Service) Wait(ctx context.Context, repo string, ref git.Ref, id coordinator.Identity) (patch *Patch, err error) {
	defer away(&err)
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	changed, done := s.hub.subscribe(t.id)
	defer done()
	if _, err := s.observe(ctx, t); err != nil {
		s.warn(ctx, "cannot look at target", err) // whoever waits is told what is recorded
	}
	ticker := time.NewTicker(lookAgain)
	defer ticker.Stop()
	for {
		row, err := s.store.Patch(ctx, t.id, ledger.Identity(id))
		if err != nil {
			return nil, notFound(err, "no patch %q", id)
		}
		if row.Disposition != ledger.Pending || !row.NeedsDecision || givenUp(row) {
			return s.patch(ctx, t, row.Identity)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-changed:
		case <-ticker.C:
		}
	}
}

// Patch finds one patch by identity, unique prefix of at least seven digits, label or submission id, with its decision and
// its submissions.
func (s *Service) Patch(ctx context.Context, repo string, ref git.Ref, key string) (patch *Patch, err error) {
	defer away(&err)
	t, id, err := s.find(ctx, repo, ref, key)
	if err != nil {
		return nil, err
	}
	return s.patch(ctx, t, id)
}

func (s *Service) find(ctx context.Context, repo string, ref git.Ref, key string) (*target, ledger.Identity, error) {
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, "", err
	}
	ids, err := s.store.FindPatches(ctx, t.id, key)
	if err != nil {
		return nil, "", err
	}
	switch len(ids) {
	case 1:
		return t, ids[0], nil
	case 0:
		return nil, "", errf(ErrNotFound, "key", "see `patchd list`", "no patch %q on %s", key, t.ref)
	}
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return nil, "", errf(ErrAmbiguous, "key", "use one of: "+strings.Join(names, ", "), "%q stands for %d patches", key, len(ids))
}

func (s *Service) patch(ctx context.Context, t *target, id ledger.Identity) (*Patch, error) {
	row, err := s.store.Patch(ctx, t.id, id)
	if err != nil {
		return nil, notFound(err, "no patch %q", id)
	}
	p, err := s.describe(ctx, t, row)
	if err != nil {
		return nil, err
	}
	subs, err := s.store.Submissions(ctx, t.id, id)
	if err != nil {
		return nil, err
	}
	p.PatchIDs = nil
	for i, sub := range subs {
		if i == 0 {
			p.ReceivedAt = sub.ReceivedAt
		}
		if !slices.Contains(p.PatchIDs, coordinator.PatchID(sub.PatchID)) {
			p.PatchIDs = append(p.PatchIDs, coordinator.PatchID(sub.PatchID))
		}
		p.Submissions = append(p.Submissions, SubmissionInfo{
			ID: string(sub.ID), PatchID: coordinator.PatchID(sub.PatchID), Credential: sub.Credential, ReceivedAt: sub.ReceivedAt, Withdrawn: !sub.Withdrawn.IsZero(),
		})
	}
	slices.Sort(p.PatchIDs)
	return p, s.attachMerge(ctx, t, p)
}

// describe is a row with its decision record, without submissions.
func (s *Service) describe(ctx context.Context, t *target, row ledger.Patch) (*Patch, error) {
	p := &Patch{
		Identity: coordinator.Identity(row.Identity), PatchIDs: []coordinator.PatchID{coordinator.PatchID(row.PatchID)}, Repo: t.repo.name, Target: t.ref,
		State: stateOf(row), BaseCommit: row.Base, ReceivedAt: row.UpdatedAt, Problem: problemOf(row),
	}
	manifest, err := s.store.Manifest(ctx, t.id, row.Identity)
	if err != nil {
		return nil, err
	}
	if m, err := coordinator.ParseManifest(manifest); err == nil {
		p.Title, p.Paths = m.Title, m.Paths
	}
	if row.DecidedCommit == "" {
		if givenUp(row) {
			p.Outcome = coordinator.OutcomeWaiting
			return p, nil
		}
		return p, p.publish(row) // a patch that waits for the set has no decision of its own
	}
	p.Outcome, p.Class, p.DecidedAt = coordinator.Outcome(row.Published), coordinator.Class(row.Class), row.DecidedCommit
	p.Candidate, p.Version = row.CandidateCommit, versionOf(row)
	if givenUp(row) {
		p.Outcome = coordinator.OutcomeWaiting
	}
	raw, err := s.store.Content(ctx, row.Record)
	if err != nil {
		return nil, err
	}
	p.Decision = &coordinator.Decision{}
	if err := json.Unmarshal(raw, p.Decision); err != nil {
		return nil, fmt.Errorf("read decision record: %w", err)
	}
	p.Codes = p.Decision.Codes()
	return p, p.publish(row)
}

func stateOf(row ledger.Patch) PatchState {
	switch row.Disposition {
	case ledger.Landed:
		return StateLanded
	case ledger.Withdrawn:
		return StateWithdrawn
	case ledger.Superseded:
		return StateSuperseded
	case ledger.Rejected:
		return StateRejected
	case ledger.Pending:
	}
	if row.NeedsDecision && !givenUp(row) {
		return StateDeciding
	}
	return StateDecided
}

// Patches lists patches, latest admitted first.
func (s *Service) Patches(ctx context.Context, f Filter) (page *Page, err error) {
	defer away(&err)
	t, err := s.lookup(f.Repo, f.Target)
	if err != nil {
		return nil, err
	}
	cursor, err := parseCursor(f.Cursor)
	if err != nil {
		return nil, err
	}
	limit := f.Limit
	if limit == 0 {
		limit = pageDefault
	}
	if limit < 1 || limit > pageMax {
		return nil, errf(ErrInvalid, "limit", "", "limit %d is not between 1 and %d", f.Limit, pageMax)
	}
	dispositions, err := dispositionsOf(f.State)
	if err != nil {
		return nil, err
	}
	page = &Page{Patches: []Patch{}}
	for {
		rows, err := s.store.ListPatches(ctx, t.id, ledger.PatchFilter{Dispositions: dispositions, Published: string(f.Outcome)}, cursor, limit)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			cursor = ledger.PatchCursor{AdmittedSeq: row.AdmittedSeq, Identity: row.Identity}
			if f.State != "" && stateOf(row) != f.State {
				continue
			}
			p, err := s.describe(ctx, t, row)
			if err != nil {
				return nil, err
			}
			if page.Patches = append(page.Patches, *p); len(page.Patches) == limit {
				page.Next = fmt.Sprintf("%d-%s", cursor.AdmittedSeq, cursor.Identity)
				return page, nil
			}
		}
		if len(rows) < limit {
			return page, nil
		}
	}
}

func dispositionsOf(state PatchState) ([]ledger.Disposition, error) {
	switch state {
	case "":
		return nil, nil
	case StateDeciding, StateDecided:
		return []ledger.Disposition{ledger.Pending}, nil
	case StateLanded:
		return []ledger.Disposition{ledger.Landed}, nil
	case StateWithdrawn:
		return []ledger.Disposition{ledger.Withdrawn}, nil
	case StateRejected:
		return []ledger.Disposition{ledger.Rejected}, nil
	case StateSuperseded:
		return []ledger.Disposition{ledger.Superseded}, nil
	}
	return nil, errf(ErrInvalid, "state", "use deciding, decided, landed, withdrawn, rejected or superseded", "state %q is unknown", state)
}

func parseCursor(s string) (ledger.PatchCursor, error) {
	if s == "" {
		return ledger.PatchCursor{}, nil
	}
	seq, id, ok := strings.Cut(s, "-")
	n, err := strconv.ParseInt(seq, 10, 64)
	if !ok || err != nil || n < 1 || !coordinator.Digest(id).Valid() {
		return ledger.PatchCursor{}, errf(ErrInvalid, "cursor", "take it from the page before", "cursor %q is none that was given", s)
	}
	return ledger.PatchCursor{AdmittedSeq: ledger.Seq(n), Identity: ledger.Identity(id)}, nil
}

// Targets lists what is served.
func (s *Service) Targets(ctx context.Context) (targets []Target, err error) {
	defer away(&err)
	var out []Target
	for _, r := range s.repos {
		for _, t := range r.targets {
			row, err := s.store.Target(ctx, t.id)
			if err != nil {
				return nil, err
			}
			pending, err := s.store.PendingPatches(ctx, t.id)
			if err != nil {
				return nil, err
			}
			view := Target{Repo: r.name, Ref: t.ref, Commit: row.Commit, Version: int64(row.Version), HeadHash: string(row.HeadHash), Pending: len(pending), Paused: row.Paused, Draining: row.Draining}
			for _, p := range pending {
				if stateOf(p) == StateDeciding {
					view.Deciding++
				}
			}
			out = append(out, view)
		}
	}
	return out, nil
}

// Log reads a target's ledger, ascending from entry from (1 is the first).
func (s *Service) Log(ctx context.Context, repo string, ref git.Ref, from int64, limit int) (entries []Entry, err error) {
	defer away(&err)
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > pageMax {
		return nil, errf(ErrInvalid, "limit", "", "limit %d is not between 1 and %d", limit, pageMax)
	}
	rows, err := s.store.Entries(ctx, t.id, ledger.Seq(max(from, 1)), limit)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, 0, len(rows))
	for _, row := range rows {
		e := Entry{Seq: int64(row.Seq), Kind: string(row.Kind), PrevHash: string(row.PrevHash), Hash: string(row.Hash), CreatedAt: row.CreatedAt}
		if err := json.Unmarshal(row.Payload, &e.Payload); err != nil {
			return nil, fmt.Errorf("read entry %d: %w", row.Seq, err)
		}
		if err := json.Unmarshal(row.Operational, &e.Operational); err != nil {
			return nil, fmt.Errorf("read entry %d: %w", row.Seq, err)
		}
		out = append(out, e)
	}
	return out, nil
}

// Content gives kept bytes by their digest: diffs, check outputs, records.
func (s *Service) Content(ctx context.Context, d coordinator.Digest) ([]byte, error) {
	if !d.Valid() {
		return nil, errf(ErrInvalid, "digest", "", "%q is not a SHA-256", d)
	}
	b, err := s.store.Content(ctx, ledger.Digest(d))
	return b, notFound(err, "no content %s", d)
}

// notFound turns a missing row into an answer.
func notFound(err error, format string, args ...any) error {
	var missing *ledger.NotFoundError
	if errors.As(err, &missing) {
		return errf(ErrNotFound, "", "", format, args...)
	}
	return err
}
