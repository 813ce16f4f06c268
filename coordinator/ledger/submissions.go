package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Submission is one admitted request for a patch. Several submissions may be of one identity.
type Submission struct {
	ID              SubmissionID
	Target          TargetID
	Attempt         AttemptID
	Identity        Identity
	PatchID         string // the label, for people
	Base            OID
	Manifest        []byte // exactly as received
	Diff            Digest // stored with PutContent before
	Credential      string
	Agent           string
	OnConflict      string // "fail" or "merge"
	ClientRequestID string
	ReceivedAt      time.Time
	// Withdrawn is when it was withdrawn; the zero time while it stands.
	Withdrawn time.Time
}

// RecordSubmission writes a submission, for good, and lets its patch stand: the patch is made pending on first
// use and again after all earlier submissions were withdrawn. seq is the entry that admitted it. A patch that is
// landed, rejected or superseded keeps that disposition. ReceivedAt and Withdrawn are ignored.
func (tx *Tx) RecordSubmission(ctx context.Context, seq Seq, s Submission, dependsOn, supersedes []string) error {
	now := tx.now()
	var batch pgx.Batch
	batch.Queue(`INSERT INTO submissions (id, target_id, attempt_id, identity, patch_id, base_commit, manifest, diff_sha256,
		   credential, agent, on_conflict, client_request_id, received_at)
		 VALUES ($1::text::uuid, $2, $3, $4, $5, $6, $7, $8, $9, nullif($10, ''), $11, nullif($12, ''), $13)`,
		s.ID, s.Target, s.Attempt, s.Identity, s.PatchID, s.Base, s.Manifest, s.Diff,
		s.Credential, storable(s.Agent), s.OnConflict, storable(s.ClientRequestID), now)
	batch.Queue(`INSERT INTO patches (target_id, identity, patch_id, base_commit, diff_sha256, manifest, admitted_seq, standing,
		   depends_on, supersedes, updated_at)
		 VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10)
		 ON CONFLICT (target_id, identity) DO UPDATE SET standing = patches.standing + 1, updated_at = excluded.updated_at,
		   needs_decision = patches.needs_decision OR patches.disposition = 'withdrawn',
		   admitted_seq = CASE patches.disposition WHEN 'withdrawn' THEN excluded.admitted_seq ELSE patches.admitted_seq END,
		   disposition = CASE patches.disposition WHEN 'withdrawn' THEN 'pending' ELSE patches.disposition END`,
		s.Target, s.Identity, s.PatchID, s.Base, s.Diff, s.Manifest, seq, texts(dependsOn), texts(supersedes), now)
	return wrap("record submission", tx.db.SendBatch(ctx, &batch).Close())
}

const submissionSelect = `SELECT s.id::text, s.target_id, s.attempt_id, s.identity, s.patch_id, s.base_commit, s.manifest,
	s.diff_sha256, s.credential, coalesce(s.agent, ''), s.on_conflict, coalesce(s.client_request_id, ''), s.received_at,
	w.created_at FROM submissions s LEFT JOIN withdrawals w ON w.submission_id = s.id `

func scanSubmission(row pgx.Row) (Submission, error) {
	var s Submission
	var withdrawn *time.Time
	err := row.Scan(&s.ID, &s.Target, &s.Attempt, &s.Identity, &s.PatchID, &s.Base, &s.Manifest, &s.Diff, &s.Credential,
		&s.Agent, &s.OnConflict, &s.ClientRequestID, &s.ReceivedAt, &withdrawn)
	if withdrawn != nil {
		s.Withdrawn = *withdrawn
	}
	return s, err
}

// Submission gives one submission.
func (q Queries) Submission(ctx context.Context, id SubmissionID) (Submission, error) {
	return one(ctx, q.db, "submission", string(id), scanSubmission, submissionSelect+`WHERE s.id = $1::text::uuid`, id)
}

// Submissions lists the submissions of a patch in the order in which they were received.
func (q Queries) Submissions(ctx context.Context, target TargetID, identity Identity) ([]Submission, error) {
	return many(ctx, q.db, "submissions", scanSubmission,
		submissionSelect+`WHERE s.target_id = $1 AND s.identity = $2 ORDER BY s.received_at, s.id`, target, identity)
}

// Withdrawal takes one submission back.
type Withdrawal struct {
	Submission SubmissionID
	Credential string
	Why        string
}

// Withdraw records a withdrawal under the entry seq and gives the number of submissions of the patch that still
// stand; at zero a pending or superseded patch is withdrawn. A submission already withdrawn changes nothing.
func (tx *Tx) Withdraw(ctx context.Context, seq Seq, w Withdrawal) (int, error) {
	tag, err := tx.db.Exec(ctx,
		`INSERT INTO withdrawals (submission_id, seq, credential, why, created_at) VALUES ($1::text::uuid, $2, $3, $4, $5)
		 ON CONFLICT (submission_id) DO NOTHING`, w.Submission, seq, w.Credential, storable(w.Why), tx.now())
	if err != nil {
		return 0, wrap("withdraw submission", err)
	}
	return one(ctx, tx.db, "submission", string(w.Submission), scanInto[int],
		`UPDATE patches p SET standing = p.standing - $2::bigint, updated_at = $3,
		   disposition = CASE WHEN p.standing = $2::bigint AND p.disposition IN ('pending', 'superseded') THEN 'withdrawn' ELSE p.disposition END
		 FROM submissions s
		 WHERE s.id = $1::text::uuid AND p.target_id = s.target_id AND p.identity = s.identity
		 RETURNING p.standing`, w.Submission, tag.RowsAffected(), tx.now())
}

// RequestKey is an idempotency key within its scope, and what was answered.
type RequestKey struct {
	Credential  string
	Repository  RepositoryID
	Key         string
	Fingerprint Digest
	Attempt     AttemptID    // zero when there was none
	Submission  SubmissionID // empty when there was none
	Answer      []byte
}

// RequestKey looks a request key up; a caller that finds none goes on and ends with ClaimRequestKey.
func (q Queries) RequestKey(ctx context.Context, credential string, repository RepositoryID, key string) (RequestKey, bool, error) {
	scan := func(row pgx.Row) (RequestKey, error) {
		k := RequestKey{Credential: credential, Repository: repository, Key: key}
		err := row.Scan(&k.Fingerprint, &k.Attempt, &k.Submission, &k.Answer)
		return k, err
	}
	return maybe(ctx, q.db, "request key", scan,
		`SELECT fingerprint, coalesce(attempt_id, 0), coalesce(submission_id::text, ''), answer FROM request_keys
		 WHERE credential = $1 AND repository_id = $2 AND request_key = $3`, credential, repository, key)
}

// LockRequestKey makes other transactions with this key wait until this one ends, and looks the key up: the first
// step of a transaction that may end with ClaimRequestKey, so that two of one key do not both do the work.
func (tx *Tx) LockRequestKey(ctx context.Context, credential string, repository RepositoryID, key string) (RequestKey, bool, error) {
	scope := fmt.Sprintf("%d %q %q", repository, credential, key)
	if _, err := tx.db.Exec(ctx, `SELECT pg_advisory_xact_lock(hashtextextended($1, 11))`, scope); err != nil {
		return RequestKey{}, false, wrap("lock request key", err)
	}
	return tx.RequestKey(ctx, credential, repository, key)
}

// ClaimRequestKey records k unless its key is taken: then it gives what is recorded and true when the content is
// the same, and a *RequestKeyConflictError when it is not. Of two transactions that claim one key at once the
// second waits for the first. A caller that is told true must roll back what it wrote (return an error to InTx,
// or claim first).
func (tx *Tx) ClaimRequestKey(ctx context.Context, k RequestKey) (RequestKey, bool, error) {
	tag, err := tx.db.Exec(ctx,
		`INSERT INTO request_keys (credential, repository_id, request_key, fingerprint, attempt_id, submission_id, answer, created_at)
		 VALUES ($1, $2, $3, $4, nullif($5::bigint, 0), nullif($6, '')::uuid, $7, $8)
		 ON CONFLICT (credential, repository_id, request_key) DO NOTHING`,
		k.Credential, k.Repository, k.Key, k.Fingerprint, k.Attempt, k.Submission, k.Answer, tx.now())
	if err != nil {
		return RequestKey{}, false, wrap("claim request key", err)
	}
	if tag.RowsAffected() == 1 {
		return k, false, nil
	}
	recorded, found, err := tx.RequestKey(ctx, k.Credential, k.Repository, k.Key)
	if err != nil {
		return RequestKey{}, false, err
	}
	if !found {
		return RequestKey{}, false, &NotFoundError{What: "request key", Key: k.Key}
	}
	if recorded.Fingerprint != k.Fingerprint {
		return recorded, false, &RequestKeyConflictError{Key: k.Key, Recorded: recorded.Fingerprint, Given: k.Fingerprint}
	}
	return recorded, true, nil
}
