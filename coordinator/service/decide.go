package service

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// KindDecided is the ledger entry of a decision.
const KindDecided ledger.Kind = "decided"

// work is one patch at one state of its target.
type work struct {
	target *target
	row    ledger.Target
	patch  ledger.Patch // the zero Patch where only the state is to be brought up to date
}

// maxStale bounds how often one job starts again because the target moved under it; then it is tried again later.
const maxStale = 20

// elsewhere is when a job of a target that this daemon does not serve is looked at again: another daemon may.
const elsewhere = 5 * time.Second

// decide settles the target's pending set, the named patch among it: everything whose decision is due and needs no check is
// recorded, and what needs one is handed to the checks. Without a patch it only brings the published state up to date.
func (s *Service) decide(ctx context.Context, id ledger.TargetID, identity ledger.Identity, done complete) error {
	return s.untilFresh(ctx, id, identity, done, func(ctx context.Context, w *work) error {
		return s.settleSet(ctx, w, done)
	})
}

// check runs what is missing of a patch's verdicts, then settles the set.
func (s *Service) check(ctx context.Context, id ledger.TargetID, identity ledger.Identity, done complete) error {
	return s.untilFresh(ctx, id, identity, done, func(ctx context.Context, w *work) error {
		for {
			pending, err := s.loadSet(ctx, w.target, w.row)
			if err != nil {
				return err
			}
			j := pending.states[coordinator.Identity(identity)]
			if j == nil || len(j.Asks) == 0 {
				return s.settleSet(ctx, w, done)
			}
			for _, q := range j.Asks {
				if _, err := s.ask(ctx, w.target, j.Plan, q, noteOf(w.patch).RunsAfter); err != nil {
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
	for range maxStale {
		w, due, loadErr := s.load(ctx, t, identity)
		if loadErr != nil {
			return loadErr
		}
		if !due {
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
	if identity == "" {
		return &work{target: t, row: row}, true, nil
	}
	patch, err := s.store.Patch(ctx, t.id, identity)
	if err != nil {
		return nil, false, err
	}
	return &work{target: t, row: row, patch: patch}, patch.Disposition == ledger.Pending && patch.NeedsDecision, nil
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
	p.DecidedCommit, p.DecidedVersion = d.Target.Commit, seq
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
		p.CandidateCommit, p.CandidateTree = d.Candidate.Commit, d.Candidate.Tree
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
