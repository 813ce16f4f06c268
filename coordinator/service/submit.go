package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// KindAdmitted is the ledger entry of a submission that joined the set.
const KindAdmitted ledger.Kind = "admitted"

// admission is the payload of an admitted entry: what joins the set.
type admission struct {
	Identity   coordinator.Identity `json:"identity"`
	BaseCommit string               `json:"base_commit"`
	DiffSHA256 coordinator.Digest   `json:"diff_sha256"`
	Manifest   ledger.Digest        `json:"manifest_sha256"`
}

// Submit records an attempt and, unless it is refused, the submission, and has it decided. The answer is given after the
// commit: what was acknowledged is not lost. A refused attempt (request key, digest, manifest) is an answer, not an error.
func (s *Service) Submit(ctx context.Context, in Submission) (receipt *Receipt, err error) {
	defer away(&err)
	manifest, err := coordinator.ParseManifest(in.Manifest)
	t, terr := s.targetOf(in, manifest)
	if terr != nil {
		return nil, errors.Join(terr, err)
	}
	a := attempt{service: s, in: in, target: t, manifest: manifest, fingerprint: fingerprint(manifest, in)}
	if err == nil {
		if receipt, found, kerr := a.recall(ctx); kerr != nil || found {
			return receipt, kerr
		}
		a.admitted, err = coordinator.Admit(in.Manifest, in.Diff)
	}
	var refusal *coordinator.Refusal
	switch {
	case errors.As(err, &refusal):
		return a.refuse(ctx, refusal)
	case err != nil:
		return nil, fmt.Errorf("admit submission: %w", err)
	}
	return a.record(ctx)
}

// targetOf is the target that a submission is for. A manifest that names none, or could not be read, is for the only one
// that is served, and else for main.
func (s *Service) targetOf(in Submission, m *coordinator.Manifest) (*target, error) {
	repo, ref := in.Repo, git.Ref("")
	if m != nil {
		ref = m.TargetRef("")
		if repo == "" {
			repo = m.Repo
		}
	}
	t, err := s.lookup(repo, ref)
	var ambiguous *Error
	if ref == "" && errors.As(err, &ambiguous) && ambiguous.Code == ErrAmbiguous {
		if byDefault, defaultErr := s.lookup(repo, coordinator.DefaultTarget); defaultErr == nil {
			return byDefault, nil
		}
	}
	return t, err
}

// fingerprint digests what a request asks for, metadata and request key aside.
func fingerprint(m *coordinator.Manifest, in Submission) ledger.Digest {
	content := in.Manifest
	if m != nil {
		bare := *m
		bare.Metadata, bare.ClientRequestID = nil, ""
		if b, err := coordinator.Canonical(bare); err == nil {
			content = b
		}
	}
	return ledger.SHA256([]byte(string(ledger.SHA256(content)) + string(ledger.SHA256(in.Diff))))
}

// attempt is one request on its way into the ledger.
type attempt struct {
	service     *Service
	in          Submission
	target      *target
	manifest    *coordinator.Manifest // nil where it could not be read
	admitted    *coordinator.Submission
	fingerprint ledger.Digest
}

func (a *attempt) key() string {
	if a.manifest == nil {
		return ""
	}
	return a.manifest.ClientRequestID
}

// recall answers a request whose key was seen before.
func (a *attempt) recall(ctx context.Context) (*Receipt, bool, error) {
	if a.key() == "" {
		return nil, false, nil
	}
	k, found, err := a.service.store.RequestKey(ctx, a.in.Credential.Name, a.target.repo.row.ID, a.key())
	if err != nil || !found {
		return nil, false, err
	}
	receipt, err := a.repeat(ctx, k)
	return receipt, true, err
}

// repeat gives the recorded answer again, or refuses a key that stands for something else.
func (a *attempt) repeat(ctx context.Context, k ledger.RequestKey) (*Receipt, error) {
	if k.Fingerprint != a.fingerprint {
		return a.refuse(ctx, &coordinator.Refusal{
			Code: coordinator.CodeRequestKeyConflict, Field: "/client_request_id", Value: a.key(),
			Message: fmt.Sprintf("request key %q was used before with other content", a.key()), Hint: "use a new client_request_id for a new request",
		})
	}
	receipt := &Receipt{}
	if err := json.Unmarshal(k.Answer, receipt); err != nil {
		return nil, fmt.Errorf("read recorded answer: %w", err)
	}
	receipt.Deduplicated = true
	if receipt.Identity == "" {
		return receipt, nil
	}
	patch, err := a.service.patch(ctx, a.target, ledger.Identity(receipt.Identity))
	if err != nil {
		return nil, err
	}
	receipt.Outcome, receipt.Decision = patch.Outcome, patch.Decision
	return receipt, nil
}

// refuse records an attempt that says nothing about any identity. Under a request key the refusal is the recorded answer,
// except where the key itself is at fault.
func (a *attempt) refuse(ctx context.Context, r *coordinator.Refusal) (*Receipt, error) {
	record := coordinator.AttemptRefused(r, coordinator.StageOf(r.Code))
	receipt := a.receipt()
	receipt.Outcome = coordinator.OutcomeRejected
	receipt.Refused = &RefusedAttempt{Stage: record.Stage, Validity: record.Validity, Message: record.Operational.Messages[0]}
	diagnostics, err := json.Marshal(receipt.Refused.Message)
	if err != nil {
		return nil, fmt.Errorf("write diagnostics: %w", err)
	}
	row := a.row(ledger.Result{
		Stage: string(record.Stage), Code: string(r.Code), Outcome: string(record.Outcome), ProtocolValid: record.Validity.ProtocolValid, Diagnostics: diagnostics,
	})
	err = a.service.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		id, err := tx.RecordAttempt(ctx, row)
		if err != nil {
			return err
		}
		receipt.AttemptID = int64(id)
		if r.Code == coordinator.CodeRequestKeyConflict {
			return nil
		}
		return a.claim(ctx, tx, receipt)
	})
	return a.settled(ctx, receipt, err)
}

// record writes everything that an admitted submission implies in one transaction.
func (a *attempt) record(ctx context.Context) (*Receipt, error) {
	id, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("make submission id: %w", err)
	}
	receipt := a.receipt()
	receipt.SubmissionID, receipt.Identity = id.String(), a.admitted.Identity
	err = a.service.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error { return a.write(ctx, tx, receipt) })
	receipt, err = a.settled(ctx, receipt, err)
	if err == nil {
		a.service.metrics.submissions.Inc()
	}
	return receipt, err
}

func (a *attempt) write(ctx context.Context, tx *ledger.Tx, receipt *Receipt) error {
	receipt.Outcome, receipt.Decision = "", nil // the transaction may be run again
	t, err := tx.LockTarget(ctx, a.target.id)
	if err != nil {
		return err
	}
	row := a.row(ledger.Result{Stage: string(coordinator.StageApplicability), Outcome: "pending"})
	if last, found, err := tx.LatestAttempt(ctx, t.ID, row.Identity); err != nil {
		return err
	} else if found && row.RetryParent == 0 {
		row.RetryParent = last.ID
	}
	row.Submission = ledger.SubmissionID(receipt.SubmissionID)
	attemptID, err := tx.RecordAttempt(ctx, row)
	if err != nil {
		return err
	}
	receipt.AttemptID = int64(attemptID)
	if err := a.admit(ctx, tx, t, receipt); err != nil {
		return err
	}
	return a.claim(ctx, tx, receipt)
}

// admit stores the bytes, appends the entry, makes the patch pending and has it decided.
func (a *attempt) admit(ctx context.Context, tx *ledger.Tx, t *ledger.Target, receipt *Receipt) error {
	diff, err := tx.PutContent(ctx, a.in.Diff)
	if err != nil {
		return err
	}
	m := a.manifest
	payload, err := coordinator.Canonical(admission{receipt.Identity, string(m.BaseCommit), coordinator.Digest(diff), ledger.SHA256(a.in.Manifest)})
	if err != nil {
		return err
	}
	operational, err := coordinator.Canonical(map[string]any{
		"submission_id": receipt.SubmissionID, "attempt": receipt.AttemptID, "patch_id": m.PatchID, "credential": a.in.Credential.Name, "tool": a.in.Tool,
	})
	if err != nil {
		return err
	}
	entry, err := tx.Append(ctx, t, ledger.Anything(), ledger.Entry{Kind: KindAdmitted, Payload: payload, Operational: operational})
	if err != nil {
		return err
	}
	err = tx.RecordSubmission(ctx, entry.Seq, ledger.Submission{
		ID: ledger.SubmissionID(receipt.SubmissionID), Target: t.ID, Attempt: ledger.AttemptID(receipt.AttemptID), Identity: ledger.Identity(receipt.Identity),
		PatchID: string(m.PatchID), Base: m.BaseCommit, Manifest: a.in.Manifest, Diff: diff, Credential: a.in.Credential.Name,
		Agent: agentOf(m), OnConflict: onConflict(m), ClientRequestID: m.ClientRequestID,
	}, m.DependsOn, m.Supersedes)
	if err != nil {
		return err
	}
	return a.enqueue(ctx, tx, t, receipt)
}

// enqueue has the patch decided. What is decided already is the answer, except that what waits is looked at again: it may
// have waited for what has just arrived, or for another try of a check.
func (a *attempt) enqueue(ctx context.Context, tx *ledger.Tx, t *ledger.Target, receipt *Receipt) error {
	p, err := tx.Patch(ctx, t.ID, ledger.Identity(receipt.Identity))
	if err != nil {
		return err
	}
	waiting := p.Outcome == string(coordinator.OutcomeWaiting)
	if p.Disposition != ledger.Pending || !p.NeedsDecision && !waiting {
		if err := a.known(ctx, tx, p, receipt); err != nil {
			return err
		}
		return a.service.queueSettle(ctx, tx, t.ID) // others may go by the label that is new
	}
	n := noteOf(p)
	n.Problem, n.Attempt, n.GivenUp, n.ChecksFor = "", 0, false, ""
	if waiting && p.Code == string(coordinator.CodeCheckInconclusive) {
		if n.RunsAfter, err = tx.LatestVerdict(ctx, a.target.repo.row.ID); err != nil {
			return err
		}
	}
	p.NeedsDecision, p.Data = true, n.bytes()
	if err := tx.SavePatches(ctx, t, p); err != nil {
		return err
	}
	if _, err = a.service.jobs.InsertTx(ctx, tx.Pgx(), decideArgs{Target: int64(t.ID), Identity: string(p.Identity)}, nil); err != nil {
		return fmt.Errorf("queue decision: %w", err)
	}
	return nil
}

// known answers with the decision that a patch has, and records it as what became of the attempt.
func (a *attempt) known(ctx context.Context, tx *ledger.Tx, p ledger.Patch, receipt *Receipt) error {
	if p.Record == "" {
		return nil
	}
	raw, err := tx.Content(ctx, p.Record)
	if err != nil {
		return err
	}
	d := &coordinator.Decision{}
	if err := json.Unmarshal(raw, d); err != nil {
		return fmt.Errorf("read decision record: %w", err)
	}
	receipt.Outcome, receipt.Decision = coordinator.Outcome(p.Published), d
	return tx.RecordOutcome(ctx, ledger.AttemptID(receipt.AttemptID), p.DecidedVersion, resultOf(d))
}

// errRepeated rolls back a transaction whose request key was claimed by another one meanwhile.
var errRepeated = errors.New("request key was claimed meanwhile")

func (a *attempt) claim(ctx context.Context, tx *ledger.Tx, receipt *Receipt) error {
	if a.key() == "" {
		return nil
	}
	answer, err := json.Marshal(receipt)
	if err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	_, taken, err := tx.ClaimRequestKey(ctx, ledger.RequestKey{
		Credential: a.in.Credential.Name, Repository: a.target.repo.row.ID, Key: a.key(), Fingerprint: a.fingerprint,
		Attempt: ledger.AttemptID(receipt.AttemptID), Submission: ledger.SubmissionID(receipt.SubmissionID), Answer: answer,
	})
	var conflict *ledger.RequestKeyConflictError
	if taken || errors.As(err, &conflict) {
		return errRepeated
	}
	return err
}

// settled turns a lost race for the request key into the answer of the winner.
func (a *attempt) settled(ctx context.Context, receipt *Receipt, err error) (*Receipt, error) {
	if !errors.Is(err, errRepeated) {
		if err != nil {
			return nil, fmt.Errorf("record attempt: %w", err)
		}
		return receipt, nil
	}
	repeated, found, err := a.recall(ctx)
	if err == nil && !found {
		err = errRepeated
	}
	return repeated, err
}

func (a *attempt) receipt() *Receipt {
	r := &Receipt{Repo: a.target.repo.name, Target: a.target.ref}
	if a.manifest != nil {
		r.PatchID = a.manifest.PatchID
	}
	return r
}

func (a *attempt) row(result ledger.Result) ledger.Attempt {
	row := ledger.Attempt{
		Target: a.target.id, RetryParent: ledger.AttemptID(a.in.RetryOf), Tool: a.in.Tool, Credential: a.in.Credential.Name,
		ClientRequestID: a.key(), Fingerprint: a.fingerprint, Result: result,
	}
	if a.manifest != nil {
		row.PatchID = string(a.manifest.PatchID)
	}
	if a.admitted != nil {
		row.Identity = ledger.Identity(a.admitted.Identity)
	}
	return row
}

func onConflict(m *coordinator.Manifest) string {
	if m.OnConflict == "" {
		return "fail"
	}
	return m.OnConflict
}

// agentOf reads the agent's name from metadata, where it gives one.
func agentOf(m *coordinator.Manifest) string {
	var meta struct {
		Agent string `json:"agent"`
	}
	if len(m.Metadata) == 0 || json.Unmarshal(m.Metadata, &meta) != nil {
		return ""
	}
	return meta.Agent
}
