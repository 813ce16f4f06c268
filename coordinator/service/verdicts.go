package service

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"patchd/checks"
	"patchd/coordinator"
	"patchd/coordinator/checker"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// KindVerdict is the ledger entry of the runs of one command on one tree: what V grew by.
const KindVerdict ledger.Kind = "verdict"

// knownVerdicts is V as far as a plan needs it, with the evidence behind it.
type knownVerdicts struct { //nolint:recvcheck // add changes it, attach does not
	verdicts coordinator.Verdicts
	evidence map[coordinator.Question][]coordinator.CheckEvidence
}

// add takes in what was read for another plan.
func (k *knownVerdicts) add(o knownVerdicts) {
	maps.Copy(k.verdicts, o.verdicts)
	maps.Copy(k.evidence, o.evidence)
}

// attach adds the evidence of the verdicts that a decision used.
func (k knownVerdicts) attach(d *coordinator.Decision) {
	if d.Operational == nil {
		d.Operational = &coordinator.Operational{}
	}
	for _, c := range d.Checks {
		if d.Candidate != nil {
			d.Operational.Checks = append(d.Operational.Checks, k.evidence[coordinator.Question{Tree: d.Candidate.Tree, Command: c.Command}]...)
		}
		if c.TargetVerdict != "" {
			d.Operational.Checks = append(d.Operational.Checks, k.evidence[coordinator.Question{Tree: d.Target.Tree, Command: c.Command}]...)
		}
	}
}

// verdicts reads what is recorded for the checks of a plan, on its tree and on the target's.
// Runs without a verdict from before the patch was handed in again leave it its tries.
func (s *Service) verdicts(ctx context.Context, w *work, plan *coordinator.Plan) (knownVerdicts, error) {
	known := knownVerdicts{verdicts: coordinator.Verdicts{}, evidence: map[coordinator.Question][]coordinator.CheckEvidence{}}
	if !plan.Due() {
		return known, nil
	}
	for _, c := range plan.Checks {
		for _, tree := range []git.OID{plan.Tree, plan.Decision.Target.Tree} {
			q := coordinator.Question{Tree: tree, Command: c.Command}
			key, err := s.verdictKey(w.target.repo, plan.Policy, q)
			if err != nil {
				return known, err
			}
			runs, err := s.store.Verdicts(ctx, key)
			if err != nil {
				return known, err
			}
			verdict, final := verdictOf(runs, plan.Policy, noteOf(w.patch).RunsAfter)
			if !final {
				continue
			}
			known.verdicts[q] = verdict
			for _, run := range runs {
				e, err := evidenceOf(run)
				if err != nil {
					return known, err
				}
				known.evidence[q] = append(known.evidence[q], e)
			}
		}
	}
	return known, nil
}

func (s *Service) verdictKey(r *repository, policy *coordinator.Policy, q coordinator.Question) (ledger.VerdictKey, error) {
	key, err := r.checker.Key(policy, q)
	if err != nil {
		return ledger.VerdictKey{}, fmt.Errorf("key of check %q: %w", q.Command, err)
	}
	return ledger.VerdictKey{Repository: r.row.ID, Tree: q.Tree, Args: ledger.Digest(key.Args), Environment: ledger.Digest(key.Environment)}, nil
}

// verdictOf judges all recorded runs of one command on one tree, those without a verdict after a given one; false means that
// another run is due.
func verdictOf(runs []ledger.Verdict, policy *coordinator.Policy, after ledger.VerdictID) (coordinator.Verdict, bool) {
	if slices.ContainsFunc(runs, func(v ledger.Verdict) bool { return v.Verdict == string(coordinator.VerdictAccepted) }) {
		return coordinator.VerdictAccepted, true
	}
	statuses := make([]checks.Status, 0, len(runs))
	for _, run := range runs {
		if status := checks.Status(run.Reason); status.Verdict().Reusable() || run.ID > after {
			statuses = append(statuses, status)
		}
	}
	j := checks.Judge(statuses, policy.CheckRules())
	return j.Verdict, !j.Again
}

// ask runs one command on one tree as often as its verdict needs and records each run, guarded by nothing: a verdict is a
// fact of the tree, whatever became of the target meanwhile. Patches that ask the same question at once share its runs.
// Runs without a verdict count after the given one.
func (s *Service) ask(ctx context.Context, t *target, plan *coordinator.Plan, q coordinator.Question, after ledger.VerdictID) (coordinator.Verdict, error) {
	key, err := s.verdictKey(t.repo, plan.Policy, q)
	if err != nil {
		return "", err
	}
	unlock, err := s.asking.lock(ctx, key)
	if err != nil {
		return "", err
	}
	defer unlock()
	for {
		runs, err := s.store.Verdicts(ctx, key)
		if err != nil {
			return "", err
		}
		if verdict, final := verdictOf(runs, plan.Policy, after); final {
			return verdict, nil
		}
		run, err := t.repo.checker.Run(ctx, plan, q)
		if err != nil {
			return "", fmt.Errorf("run check %q: %w", q.Command, err)
		}
		s.metrics.checks.WithLabelValues(string(run.Status)).Inc()
		if err := s.recordRun(ctx, t, key, q, run); err != nil {
			return "", err
		}
	}
}

// runEvidence is what is kept of a run beside its verdict.
type runEvidence struct {
	Detail      string            `json:"detail,omitempty"`
	Signal      string            `json:"signal,omitempty"`
	Excerpt     string            `json:"excerpt,omitempty"`
	Kept        ledger.Digest     `json:"kept_sha256,omitempty"` // of the part of the output that is kept
	Environment map[string]string `json:"environment"`           // name to SHA-256 of the value
}

func (s *Service) recordRun(ctx context.Context, at *target, key ledger.VerdictKey, q coordinator.Question, run checks.Result) error {
	evidence, err := json.Marshal(runEvidence{
		Detail: run.Detail, Signal: run.Signal, Excerpt: checks.Excerpt(run.Output.Kept, checker.ExcerptBytes),
		Kept: ledger.SHA256(run.Output.Kept), Environment: run.Environment,
	})
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	v := ledger.Verdict{
		VerdictKey: key, Command: q.Command, Verdict: string(run.Verdict()), Reason: string(run.Status), Output: ledger.Digest(run.Output.SHA256), OutputBytes: run.Output.Bytes,
		Sandbox: run.Sandbox, Evidence: evidence, DurationMS: run.Duration.Milliseconds(),
	}
	if run.ExitCode >= 0 {
		v.ExitCode = &run.ExitCode
	}
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		t, err := tx.LockTarget(ctx, at.id)
		if err != nil {
			return err
		}
		if _, err = tx.PutContent(ctx, run.Output.Kept); err != nil {
			return err
		}
		recorded, err := tx.RecordVerdict(ctx, v)
		if err != nil {
			return err
		}
		entry, err := verdictEntry(recorded, run)
		if err != nil {
			return err
		}
		_, err = tx.Append(ctx, t, ledger.Anything(), entry)
		return err
	})
	if err != nil {
		return fmt.Errorf("record run of %q: %w", q.Command, err)
	}
	return nil
}

func verdictEntry(v ledger.Verdict, run checks.Result) (ledger.Entry, error) {
	payload, err := coordinator.Canonical(map[string]any{
		"tree": v.Tree, "command": v.Command, "args_sha256": v.Args, "environment_sha256": v.Environment, "verdict": v.Verdict, "reason": v.Reason, "run": v.Run,
	})
	if err != nil {
		return ledger.Entry{}, err
	}
	operational, err := coordinator.Canonical(map[string]any{
		"exit_code": run.ExitCode, "duration_ms": v.DurationMS, "output_sha256": v.Output, "output_bytes": v.OutputBytes, "sandbox": v.Sandbox,
	})
	return ledger.Entry{Kind: KindVerdict, Payload: payload, Operational: operational}, err
}

func evidenceOf(v ledger.Verdict) (coordinator.CheckEvidence, error) {
	e := coordinator.CheckEvidence{
		Command: v.Command, Tree: v.Tree, Reused: true, ExitCode: -1, OutputSHA256: coordinator.Digest(v.Output),
		OutputBytes: v.OutputBytes, Sandbox: v.Sandbox,
	}
	if v.ExitCode != nil {
		e.ExitCode = *v.ExitCode
	}
	if v.Verdict != string(checks.VerdictPassed) && v.Verdict != string(checks.VerdictFailed) {
		e.Why = v.Reason
	}
	if len(v.Evidence) == 0 {
		return e, nil
	}
	var kept runEvidence
	if err := json.Unmarshal(v.Evidence, &kept); err != nil {
		return e, fmt.Errorf("read evidence: %w", err)
	}
	e.Excerpt, e.Ref = kept.Excerpt, "/v1/contents/"+string(kept.Kept)
	if kept.Detail != "" {
		e.Why = kept.Detail
	}
	return e, nil
}
