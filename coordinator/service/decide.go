package service

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// KindDecided is the ledger entry of a decision.
const KindDecided ledger.Kind = "decided"

// work is one patch at one state of its target.
type work struct {
	target *target
	row    ledger.Target
	patch  ledger.Patch
	sub    *coordinator.Submission
}

// maxStale bounds how often one job starts again because the target moved under it; then it is tried again later.
const maxStale = 20

// elsewhere is when a job of a target that this daemon does not serve is looked at again: another daemon may.
const elsewhere = 5 * time.Second

// decide works out one patch at the present target commit and records it, or hands it to the checks.
func (s *Service) decide(ctx context.Context, id ledger.TargetID, identity ledger.Identity, done complete) error {
	return s.untilFresh(ctx, id, identity, done, func(ctx context.Context, w *work) error {
		plan, err := w.target.repo.engine.Plan(ctx, git.OID(w.row.Commit), w.sub)
		if err != nil {
			return err
		}
		known, err := s.verdicts(ctx, w, plan)
		if err != nil {
			return err
		}
		decision, open, err := coordinator.Conclude(plan, known.verdicts)
		if err != nil {
			return err
		}
		if len(open) > 0 {
			return s.queueChecks(ctx, w, done)
		}
		known.attach(decision)
		return s.record(ctx, w, plan, decision, done)
	})
}

// check runs what is missing of a patch's verdicts and records the decision.
func (s *Service) check(ctx context.Context, id ledger.TargetID, identity ledger.Identity, done complete) error {
	return s.untilFresh(ctx, id, identity, done, func(ctx context.Context, w *work) error {
		plan, err := w.target.repo.engine.Plan(ctx, git.OID(w.row.Commit), w.sub)
		if err != nil {
			return err
		}
		for {
			known, err := s.verdicts(ctx, w, plan)
			if err != nil {
				return err
			}
			decision, open, err := coordinator.Conclude(plan, known.verdicts)
			if err != nil {
				return err
			}
			if len(open) == 0 {
				known.attach(decision)
				return s.record(ctx, w, plan, decision, done)
			}
			for _, q := range open {
				if err := s.ask(ctx, w, plan, q); err != nil {
					return err
				}
			}
		}
	})
}

// untilFresh runs do on the patch as it stands, again when the target moved meanwhile. A patch that is decided already, or
// no longer pending, completes the job without doing anything: jobs come at least once.
func (s *Service) untilFresh(ctx context.Context, id ledger.TargetID, identity ledger.Identity, done complete, do func(context.Context, *work) error) error {
	t, ok := s.byID(id)
	if !ok {
		return river.JobSnooze(elsewhere)
	}
	var err error
	for try := range maxStale {
		w, due, loadErr := s.load(ctx, t, identity)
		if loadErr != nil {
			return loadErr
		}
		if !due {
			if try > 0 { // what this job published was overtaken
				s.settle(ctx, t, identity)
			}
			return s.finish(ctx, done)
		}
		err = do(ctx, w)
		var stale *ledger.StaleError
		if !errors.As(err, &stale) {
			return err
		}
		s.metrics.stale.Inc()
	}
	return err
}

func (s *Service) finish(ctx context.Context, done complete) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error { return done(ctx, tx.Pgx()) })
}

// load reads a patch and the state of its target, after a look at the branch itself: who commits and then submits is not
// answered from the commit before.
func (s *Service) load(ctx context.Context, t *target, identity ledger.Identity) (*work, bool, error) {
	row, err := s.observe(ctx, t)
	if err != nil {
		return nil, false, err
	}
	patch, err := s.store.Patch(ctx, t.id, identity)
	if err != nil {
		return nil, false, err
	}
	if patch.Disposition != ledger.Pending || !patch.NeedsDecision {
		return nil, false, nil
	}
	sub, err := s.submission(ctx, t.id, patch)
	return &work{target: t, row: row, patch: patch, sub: sub}, true, err
}

func (s *Service) submission(ctx context.Context, id ledger.TargetID, p ledger.Patch) (*coordinator.Submission, error) {
	manifest, err := s.store.Manifest(ctx, id, p.Identity)
	if err != nil {
		return nil, err
	}
	diff, err := s.store.Content(ctx, p.Diff)
	if err != nil {
		return nil, err
	}
	sub, err := coordinator.Admit(manifest, diff)
	if err != nil {
		return nil, fmt.Errorf("read patch %s as recorded: %w", p.Identity, err)
	}
	return sub, nil
}

// queueChecks hands the patch to the checks' queue.
func (s *Service) queueChecks(ctx context.Context, w *work, done complete) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		t, err := tx.LockTarget(ctx, w.row.ID)
		if err != nil {
			return err
		}
		p, err := tx.Patch(ctx, t.ID, w.patch.Identity)
		if err != nil {
			return err
		}
		p.NeedsChecks = true
		if err := tx.SavePatches(ctx, t, p); err != nil {
			return err
		}
		if _, err := s.jobs.InsertTx(ctx, tx.Pgx(), checkArgs{Target: int64(t.ID), Identity: string(p.Identity)}, nil); err != nil {
			return fmt.Errorf("queue checks: %w", err)
		}
		return done(ctx, tx.Pgx())
	})
}

// record makes a decision's effects in their order: objects, candidate ref, then ledger entry, state and the job's
// completion in one transaction. A crash in between leaves objects that nothing names or a ref that the rerun adopts.
func (s *Service) record(ctx context.Context, w *work, plan *coordinator.Plan, d *coordinator.Decision, done complete) error {
	if err := s.publish(ctx, w, plan, d); err != nil {
		return err
	}
	s.stamp(w, d)
	recorded := false
	err := s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		t, err := tx.LockTarget(ctx, w.row.ID)
		if err != nil {
			return err
		}
		p, err := tx.Patch(ctx, t.ID, w.patch.Identity)
		if err != nil {
			return err
		}
		if recorded = p.Disposition == ledger.Pending && p.NeedsDecision; recorded {
			if err := s.write(ctx, tx, t, p, w, d); err != nil {
				return err
			}
		}
		return done(ctx, tx.Pgx())
	})
	if err != nil {
		return err
	}
	if !recorded {
		s.settle(ctx, w.target, w.patch.Identity)
		return nil
	}
	s.metrics.decisions.WithLabelValues(string(d.Outcome)).Inc()
	return nil
}

// write records a decision of a patch that is due, within the guarded transaction. A decision that is recorded already, of a
// patch that was looked at again, makes no second entry.
func (s *Service) write(ctx context.Context, tx *ledger.Tx, t *ledger.Target, p ledger.Patch, w *work, d *coordinator.Decision) error {
	seq := p.DecidedVersion
	if p.DecidedCommit != t.Commit || p.DecisionDigest != ledger.Digest(d.DecisionDigest) {
		entry, record, err := entryOf(d)
		if err != nil {
			return err
		}
		ref, err := tx.Append(ctx, t, ledger.SameInputs(w.row), entry)
		if err != nil {
			return err
		}
		if p.Record, err = tx.PutContent(ctx, record); err != nil {
			return err
		}
		seq = ref.Seq
	}
	project(&p, d, seq)
	if err := tx.SavePatches(ctx, t, p); err != nil {
		return err
	}
	return tx.RecordOutcomes(ctx, t.ID, p.Identity, seq, resultOf(d))
}

// entryOf is a decision as the ledger keeps it, and the whole record as it is shown.
func entryOf(d *coordinator.Decision) (ledger.Entry, []byte, error) {
	record, err := coordinator.Canonical(d)
	if err != nil {
		return ledger.Entry{}, nil, err
	}
	bare := *d
	bare.Operational = nil
	payload, err := coordinator.Canonical(&bare)
	if err != nil {
		return ledger.Entry{}, nil, err
	}
	operational, err := coordinator.Canonical(d.Operational)
	return ledger.Entry{Kind: KindDecided, Payload: payload, Operational: operational}, record, err
}

// project writes a decision into the patch's row.
func project(p *ledger.Patch, d *coordinator.Decision, seq ledger.Seq) {
	p.DecidedCommit, p.DecidedVersion = ledger.OID(d.Target.Commit), seq
	p.Stage, p.Outcome, p.Published = string(d.Stage), string(d.Outcome), string(d.Outcome)
	p.PlanDigest, p.DecisionDigest = ledger.Digest(d.PlanDigest), ledger.Digest(d.DecisionDigest)
	p.Code, p.Class, p.CandidateCommit, p.CandidateTree = "", "", "", ""
	p.NeedsDecision, p.NeedsChecks, p.Data = false, false, nil
	switch {
	case d.Rejection != nil:
		p.Code, p.Disposition = string(d.Rejection.Code), ledger.Rejected
	case d.Waiting != nil:
		p.Code = string(d.Waiting.Code)
	case d.Conflict != nil:
		p.Code, p.Class = string(d.Conflict.Reasons[0].Code), string(d.Conflict.Class)
	}
	if d.Outcome == coordinator.OutcomeCandidate {
		p.CandidateCommit, p.CandidateTree = ledger.OID(d.Candidate.Commit), ledger.OID(d.Candidate.Tree)
	}
}

func resultOf(d *coordinator.Decision) ledger.Result {
	r := ledger.Result{
		Stage: string(d.Stage), Outcome: string(d.Outcome),
		ProtocolValid: d.Validity.ProtocolValid, PatchValid: d.Validity.PatchValid, ChecksValid: d.Validity.ChecksValid,
	}
	switch {
	case d.Rejection != nil:
		r.Code = string(d.Rejection.Code)
	case d.Waiting != nil:
		r.Code = string(d.Waiting.Code)
	case d.Conflict != nil:
		r.Code = string(d.Conflict.Reasons[0].Code)
	}
	return r
}
