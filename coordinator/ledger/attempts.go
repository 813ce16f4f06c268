package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Result is how far an attempt or a decision came.
type Result struct {
	// Stage, Code and Outcome are the protocol's words; Code is empty when nothing failed.
	Stage, Code, Outcome string
	// The four-part validity without its constant part; nil is "not reached".
	ProtocolValid, PatchValid, ChecksValid *bool
	// Diagnostics is JSON for people, or nil.
	Diagnostics []byte
}

// Attempt is one attempt on a known target, accepted or not.
type Attempt struct {
	ID              AttemptID
	Target          TargetID
	Submission      SubmissionID // empty when the attempt made none
	RetryParent     AttemptID    // zero when it repeats nothing
	Tool            string       // "cli", "http", "mcp", …
	Credential      string
	PatchID         string // the label as claimed, possibly empty
	Identity        Identity
	ClientRequestID string
	Fingerprint     Digest // of the request's content, metadata aside
	Semantic        string // "not_evaluated"
	CreatedAt       time.Time

	// Result is the latest: that of the attempt itself, or of the latest decision recorded for it.
	Result
	// DecidedSeq is the ledger entry that the result comes from; zero for the attempt's own.
	DecidedSeq Seq
}

// RecordAttempt writes an attempt, for good, and gives its id. ID, CreatedAt and DecidedSeq are ignored. Claims of
// whoever asked may hold any bytes: those that the database cannot hold as text are replaced.
func (tx *Tx) RecordAttempt(ctx context.Context, a Attempt) (AttemptID, error) {
	if a.Semantic == "" {
		a.Semantic = "not_evaluated"
	}
	return one(ctx, tx.db, "attempt", "", scanInto[AttemptID],
		`INSERT INTO attempts (target_id, submission_id, retry_parent, tool, credential, patch_id, identity,
		   client_request_id, fingerprint, stage, code, outcome, protocol_valid, patch_valid, checks_valid, semantic,
		   diagnostics, created_at)
		 VALUES ($1, nullif($2, '')::uuid, nullif($3::bigint, 0), $4, $5, $6, nullif($7, ''), nullif($8, ''), nullif($9, ''),
		   $10, nullif($11, ''), $12, $13, $14, $15, $16, $17, $18) RETURNING id`,
		a.Target, a.Submission, a.RetryParent, storable(a.Tool), a.Credential, storable(a.PatchID), a.Identity,
		storable(a.ClientRequestID), a.Fingerprint, a.Stage, a.Code, a.Outcome, a.ProtocolValid, a.PatchValid, a.ChecksValid,
		a.Semantic, a.Diagnostics, tx.now())
}

// RecordOutcome adds what a decision (the entry seq) made of an attempt.
func (tx *Tx) RecordOutcome(ctx context.Context, attempt AttemptID, seq Seq, r Result) error {
	_, err := tx.db.Exec(ctx,
		`INSERT INTO attempt_outcomes (attempt_id, seq, stage, code, outcome, protocol_valid, patch_valid,
		   checks_valid, diagnostics, created_at)
		 VALUES ($1, $2, $3, nullif($4, ''), $5, $6, $7, $8, $9, $10)`,
		attempt, seq, r.Stage, r.Code, r.Outcome, r.ProtocolValid, r.PatchValid, r.ChecksValid, r.Diagnostics, tx.now())
	return wrap("record outcome", err)
}

// RecordOutcomes is RecordOutcome for every attempt that made a submission of the patch.
func (tx *Tx) RecordOutcomes(ctx context.Context, target TargetID, identity Identity, seq Seq, r Result) error {
	_, err := tx.db.Exec(ctx,
		`INSERT INTO attempt_outcomes (attempt_id, seq, stage, code, outcome, protocol_valid, patch_valid,
		   checks_valid, diagnostics, created_at)
		 SELECT attempt_id, $3, $4, nullif($5, ''), $6, $7, $8, $9, $10, $11
		 FROM submissions WHERE target_id = $1 AND identity = $2`,
		target, identity, seq, r.Stage, r.Code, r.Outcome, r.ProtocolValid, r.PatchValid, r.ChecksValid,
		r.Diagnostics, tx.now())
	return wrap("record outcomes", err)
}

const attemptSelect = `SELECT a.id, a.target_id, coalesce(a.submission_id::text, ''), coalesce(a.retry_parent, 0), a.tool,
	a.credential, a.patch_id, coalesce(a.identity::text, ''), coalesce(a.client_request_id, ''),
	coalesce(a.fingerprint::text, ''), a.semantic, a.created_at,
	coalesce(o.stage, a.stage)::text,
	CASE WHEN o.id IS NULL THEN coalesce(a.code::text, '') ELSE coalesce(o.code::text, '') END,
	coalesce(o.outcome, a.outcome)::text,
	CASE WHEN o.id IS NULL THEN a.protocol_valid ELSE o.protocol_valid END,
	CASE WHEN o.id IS NULL THEN a.patch_valid ELSE o.patch_valid END,
	CASE WHEN o.id IS NULL THEN a.checks_valid ELSE o.checks_valid END,
	CASE WHEN o.id IS NULL THEN a.diagnostics ELSE o.diagnostics END,
	coalesce(o.seq, 0)
	FROM attempts a LEFT JOIN LATERAL (
	  SELECT * FROM attempt_outcomes x WHERE x.attempt_id = a.id ORDER BY x.id DESC LIMIT 1) o ON true `

func scanAttempt(row pgx.Row) (Attempt, error) {
	var a Attempt
	err := row.Scan(&a.ID, &a.Target, &a.Submission, &a.RetryParent, &a.Tool, &a.Credential, &a.PatchID, &a.Identity,
		&a.ClientRequestID, &a.Fingerprint, &a.Semantic, &a.CreatedAt, &a.Stage, &a.Code, &a.Outcome,
		&a.ProtocolValid, &a.PatchValid, &a.ChecksValid, &a.Diagnostics, &a.DecidedSeq)
	return a, err
}

// Attempt gives one attempt with its latest result.
func (q Queries) Attempt(ctx context.Context, id AttemptID) (Attempt, error) {
	return one(ctx, q.db, "attempt", fmt.Sprint(id), scanAttempt, attemptSelect+`WHERE a.id = $1`, id)
}

// LatestAttempt gives the latest attempt on the patch, if there was one: the parent of a retry.
func (q Queries) LatestAttempt(ctx context.Context, target TargetID, identity Identity) (Attempt, bool, error) {
	return maybe(ctx, q.db, "attempt", scanAttempt,
		attemptSelect+`WHERE a.target_id = $1 AND a.identity = $2 ORDER BY a.id DESC LIMIT 1`, target, identity)
}

// ListAttempts pages through a target's attempts, newest first: those with ids below before (zero for the first
// page), of one identity when given.
func (q Queries) ListAttempts(ctx context.Context, target TargetID, identity Identity, before AttemptID, limit int) ([]Attempt, error) {
	return many(ctx, q.db, "attempts", scanAttempt,
		attemptSelect+`WHERE a.target_id = $1 AND ($2 = '' OR a.identity = $2) AND ($3::bigint = 0 OR a.id < $3)
		 ORDER BY a.id DESC LIMIT $4`, target, string(identity), before, limit)
}
