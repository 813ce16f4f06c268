package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/riverqueue/river"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// KindState is the ledger entry of a change of published states: contention, blocks, supersession, and, when nothing is
// undecided, the digest of the whole state.
const KindState ledger.Kind = "state"

// stateChange is the payload of a state entry.
type stateChange struct {
	Target      git.OID                   `json:"target"`
	Patches     []coordinator.PatchStatus `json:"patches"` // those that changed, ascending
	Undecided   int                       `json:"undecided"`
	StateDigest coordinator.Digest        `json:"state_digest,omitempty"` // of the state as a whole, at a quiet moment
}

// settleSet works out the published state of a target and records what is new of it. One pass of this process at a time
// works on a target; another process's is noticed by the guard.
func (s *Service) settleSet(ctx context.Context, w *work, done complete) error {
	unlock, err := s.settling.lock(ctx, w.target.id)
	if err != nil {
		return err
	}
	defer unlock()
	row, err := s.store.Target(ctx, w.target.id)
	if err != nil {
		return err
	}
	pending, err := s.loadSet(ctx, w.target, row)
	if err != nil {
		return err
	}
	if j := pending.states[coordinator.Identity(w.patch.Identity)]; j != nil && j.Err != nil {
		return j.Err
	}
	p := &pass{service: s, set: pending}
	if err := p.publish(ctx); err != nil {
		return err
	}
	if j := pending.states[coordinator.Identity(w.patch.Identity)]; j != nil && j.Err != nil {
		return j.Err
	}
	published := p.fresh()
	defer s.hub.tell(w.target.id) // who waits for quiet is not told by an entry where nothing is new
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		if err := p.record(ctx, tx); err != nil {
			return err
		}
		return done(ctx, tx.Pgx())
	})
	var stale *ledger.StaleError
	if errors.As(err, &stale) { // what was published may be overtaken, and nobody else looks at it
		for _, id := range published {
			s.settle(ctx, w.target, id)
		}
	}
	return err
}

// pass is one settling of a set.
type pass struct {
	service *Service
	set     *set
}

// fresh lists the patches whose decision is due and known, ascending.
func (p *pass) fresh() []ledger.Identity {
	var out []ledger.Identity
	for id, row := range p.set.patches {
		j := p.set.states[coordinator.Identity(id)]
		if j == nil || j.Decision == nil {
			continue
		}
		if row.NeedsDecision || row.DecisionDigest != ledger.Digest(j.Decision.DecisionDigest) || row.DecidedCommit != p.set.row.Commit {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// publish brings the repository to what fresh decisions say: the objects of all new candidates in one pack, and their refs.
func (p *pass) publish(ctx context.Context) error {
	repo := p.set.target.repo
	objects := map[git.OID]git.Object{}
	wants := map[coordinator.Identity]git.OID{}
	for _, id := range p.fresh() {
		j := p.set.states[coordinator.Identity(id)]
		p.set.known.attach(j.Decision)
		p.service.stamp(p.set, p.set.patches[id], j.Decision)
		wants[j.Decision.Patch.Identity] = git.ZeroOID
		if j.Decision.Outcome != coordinator.OutcomeCandidate {
			continue
		}
		wants[j.Decision.Patch.Identity] = j.Decision.Candidate.Commit
		list, err := j.Plan.Objects.Reachable(ctx, j.Decision.Candidate.Commit)
		if err != nil {
			return fmt.Errorf("collect objects of candidate %s: %w", j.Decision.Candidate.Commit, err)
		}
		for _, o := range list {
			objects[o.OID] = o
		}
	}
	if len(objects) > 0 {
		list := make([]git.Object, 0, len(objects))
		for _, id := range slices.Sorted(maps.Keys(objects)) {
			list = append(list, objects[id])
		}
		if err := repo.git.WritePack(ctx, list); err != nil {
			return fmt.Errorf("write objects of candidates: %w", err)
		}
	}
	return p.alarms(repo.moveCandidates(ctx, wants))
}

// alarms notes a foreign value in a candidate's ref on its patch, and goes on with the others.
func (p *pass) alarms(found map[coordinator.Identity]error, err error) error {
	if err != nil {
		return err
	}
	for id, alarm := range found {
		j := p.set.states[id]
		j.Decision, j.Err = nil, alarm
	}
	return nil
}

// record writes what is new under the target's lock: decisions, states, jobs for checks.
func (p *pass) record(ctx context.Context, tx *ledger.Tx) error {
	t, err := tx.LockTarget(ctx, p.set.row.ID)
	if err != nil {
		return err
	}
	rows, err := tx.PendingPatches(ctx, t.ID)
	if err != nil {
		return err
	}
	b := &batch{pass: p, target: t, undecided: 0}
	for _, row := range rows {
		if err := b.add(row); err != nil {
			return err
		}
	}
	return b.write(ctx, tx)
}

// batch collects what one pass writes.
type batch struct {
	pass      *pass
	target    *ledger.Target
	entries   []ledger.Entry
	decided   []decidedPatch
	states    []coordinator.PatchStatus
	saved     []ledger.Patch
	checks    []ledger.Identity
	contents  [][]byte
	undecided int
}

type decidedPatch struct {
	row      int // index into saved
	decision *coordinator.Decision
	entry    int // index into entries, or -1 where the same decision is recorded already
}

// add takes in one pending row.
func (b *batch) add(row ledger.Patch) error {
	j := b.pass.set.states[coordinator.Identity(row.Identity)]
	if j == nil || j.Err != nil { // admitted since, or in trouble: its own job sees to it
		b.undecided++
		return nil //nolint:nilerr // it is no failure of this pass
	}
	before := noteOf(row)
	after := before
	status, err := statusBytes(j.Status)
	if err != nil {
		return err
	}
	changed := !bytes.Equal(before.Status, status)
	if changed {
		after.Status = status
		b.states = append(b.states, *j.Status)
	}
	switch {
	case j.Decision != nil:
		fresh, err := b.decide(&row, &after, j)
		if err != nil {
			return err
		}
		changed = changed || fresh
	case j.Status.Due:
		if b.decidedMeanwhile(row, j) {
			return b.pass.stale(b.target)
		}
		b.undecided++
		if plan := j.Plan.Decision.PlanDigest; len(j.Asks) > 0 && before.ChecksFor != plan {
			after.ChecksFor, row.NeedsChecks, changed = plan, true, true
			b.checks = append(b.checks, row.Identity)
		}
	case j.Status.SupersededBy != "":
		changed = changed || row.NeedsDecision
		row.NeedsDecision, row.NeedsChecks = false, false
	}
	if !changed {
		return nil
	}
	publishRow(&row, j)
	row.Data = after.bytes()
	b.saved = append(b.saved, row)
	if n := len(b.decided); n > 0 && b.decided[n-1].row < 0 {
		b.decided[n-1].row = len(b.saved) - 1
	}
	return nil
}

// decidedMeanwhile reports whether somebody who knew more verdicts decided a patch that this pass holds to be due.
func (b *batch) decidedMeanwhile(row ledger.Patch, j *coordinator.Judged) bool {
	return len(j.Asks) > 0 && !row.NeedsDecision && row.DecidedCommit == b.pass.set.row.Commit && row.PlanDigest == ledger.Digest(j.Plan.Decision.PlanDigest)
}

func (p *pass) stale(t *ledger.Target) error {
	return &ledger.StaleError{Target: t.ID, Want: ledger.SameInputs(p.set.row), Version: t.Version, Inputs: t.Inputs, Commit: t.Commit}
}

// decide takes in a decision that the row may not have yet.
func (b *batch) decide(row *ledger.Patch, after *note, j *coordinator.Judged) (bool, error) {
	d := j.Decision
	known := row.DecidedCommit == b.pass.set.row.Commit && row.DecisionDigest == ledger.Digest(d.DecisionDigest)
	if known && !row.NeedsDecision {
		return false, nil
	}
	*after = note{RunsAfter: after.RunsAfter, Status: after.Status, Version: after.Version}
	entry := -1
	if !known {
		e, record, err := entryOf(d)
		if err != nil {
			return false, err
		}
		entry = len(b.entries)
		b.entries = append(b.entries, e)
		b.contents = append(b.contents, record)
		row.Record = ledger.SHA256(record)
	}
	project(row, d, row.DecidedVersion)
	b.decided = append(b.decided, decidedPatch{row: -1, decision: d, entry: entry})
	return true, nil
}

// publishRow writes the published state into the row.
func publishRow(row *ledger.Patch, j *coordinator.Judged) {
	if j.Status.Outcome != "" { // while checks are due, what was published last stays
		row.Published = string(j.Status.Outcome)
	}
	row.ContendsWith, row.Successor = nil, ledger.Identity(j.Status.SupersededBy)
	for _, r := range j.Status.Contention {
		if other := ledger.Identity(r.With); !slices.Contains(row.ContendsWith, other) {
			row.ContendsWith = append(row.ContendsWith, other)
		}
	}
	slices.Sort(row.ContendsWith)
}

// write appends the entries and saves the rows that follow from them. Nothing is written against another state of the target
// than the one that was decided against.
func (b *batch) write(ctx context.Context, tx *ledger.Tx) error {
	quiet := b.undecided == 0 && b.target.State != ledger.Digest(b.pass.set.state.StateDigest)
	if len(b.states) > 0 || quiet {
		e, err := b.stateEntry()
		if err != nil {
			return err
		}
		b.entries = append(b.entries, e)
	}
	if len(b.entries) > 0 {
		if _, err := tx.PutContents(ctx, b.contents...); err != nil {
			return err
		}
		refs, err := tx.AppendAll(ctx, b.target, ledger.SameInputs(b.pass.set.row), b.entries...)
		if err != nil {
			return err
		}
		b.versions(refs)
		for i, d := range b.decided {
			if d.entry >= 0 {
				b.saved[d.row].DecidedVersion = refs[d.entry].Seq
			}
			b.pass.service.metrics.decisions.WithLabelValues(string(b.decided[i].decision.Outcome)).Inc()
		}
	} else if !sameInputs(*b.target, b.pass.set.row) {
		return b.pass.stale(b.target)
	}
	if b.undecided == 0 && b.target.StateVersion <= b.pass.set.version {
		if err := tx.SetState(ctx, b.target, ledger.Digest(b.pass.set.state.StateDigest), b.pass.set.version); err != nil {
			return err
		}
	}
	if err := tx.SavePatches(ctx, b.target, b.saved...); err != nil {
		return err
	}
	if err := b.outcomes(ctx, tx); err != nil {
		return err
	}
	if err := b.leave(ctx, tx); err != nil {
		return err
	}
	return b.followUp(ctx, tx)
}

// versions notes on the patches whose published state changed the entry that says so.
func (b *batch) versions(refs []ledger.EntryRef) {
	for i, row := range b.saved {
		id := coordinator.Identity(row.Identity)
		if slices.ContainsFunc(b.states, func(st coordinator.PatchStatus) bool { return st.Identity == id }) {
			n := noteOf(row)
			n.Version = refs[len(refs)-1].Seq // the state entry is the last
			b.saved[i].Data = n.bytes()
		}
	}
}

// versionOf is the entry that last changed a patch's record: its decision, or what the set makes of it.
func versionOf(p ledger.Patch) int64 { return int64(max(p.DecidedVersion, noteOf(p).Version)) }

func sameInputs(a, b ledger.Target) bool { return a.Inputs == b.Inputs && a.Commit == b.Commit }

func (b *batch) stateEntry() (ledger.Entry, error) {
	slices.SortFunc(b.states, func(x, y coordinator.PatchStatus) int { return bytes.Compare([]byte(x.Identity), []byte(y.Identity)) })
	change := stateChange{Target: b.pass.set.row.Commit, Patches: b.states, Undecided: b.undecided}
	if b.undecided == 0 {
		change.StateDigest = b.pass.set.state.StateDigest
	}
	payload, err := coordinator.Canonical(change)
	return ledger.Entry{Kind: KindState, Payload: payload, Inputs: true}, err
}

func (b *batch) outcomes(ctx context.Context, tx *ledger.Tx) error {
	for _, d := range b.decided {
		row := b.saved[d.row]
		if err := tx.RecordOutcomes(ctx, b.target.ID, row.Identity, row.DecidedVersion, resultOf(d.decision)); err != nil {
			return err
		}
	}
	return nil
}

// leave ends the rounds of patches that are no longer in the set as they were sealed: superseded, rejected, or waiting for it.
func (b *batch) leave(ctx context.Context, tx *ledger.Tx) error {
	for _, st := range b.states {
		if st.SupersededBy == "" && st.Waiting == nil && st.Outcome != coordinator.OutcomeRejected {
			continue
		}
		id := ledger.Identity(st.Identity)
		if err := b.pass.service.supersedeRounds(ctx, tx, b.target, id, fmt.Sprintf("patch %s left the set", id)); err != nil {
			return err
		}
	}
	return nil
}

// followUp queues the checks that are due, and the rounds that wait for what this pass may have settled.
func (b *batch) followUp(ctx context.Context, tx *ledger.Tx) error {
	var jobs []river.InsertManyParams
	for _, id := range b.checks {
		jobs = append(jobs, river.InsertManyParams{Args: checkArgs{Target: int64(b.target.ID), Identity: string(id)}})
	}
	if len(jobs) > 0 {
		if _, err := b.pass.service.jobs.InsertManyTx(ctx, tx.Pgx(), jobs); err != nil {
			return fmt.Errorf("queue checks: %w", err)
		}
	}
	return b.pass.service.wakeRounds(ctx, tx, b.target)
}
