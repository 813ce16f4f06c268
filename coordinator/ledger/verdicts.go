package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// VerdictKey is what a verdict is reused by.
type VerdictKey struct {
	Repository  RepositoryID
	Tree        OID
	Args        Digest // of the command's arguments
	Environment Digest // of the environment as enumerated in the evidence
}

// Verdict is one recorded run of a check, or a person's acceptance of one.
type Verdict struct {
	ID VerdictID
	VerdictKey
	Command string
	// Verdict is "passed", "failed", "inconclusive" or "accepted"; Reason says why it is inconclusive.
	Verdict, Reason string
	// Run counts the runs of one key, from 1.
	Run int
	// ExitCode is nil when the command did not exit by itself.
	ExitCode    *int
	Output      Digest // content digest, or of output that was not kept whole
	OutputBytes int64
	Sandbox     string
	Evidence    []byte
	DurationMS  int64
	CreatedAt   time.Time
}

// RecordVerdict writes a verdict, for good, and gives it with ID, Run and CreatedAt set.
func (tx *Tx) RecordVerdict(ctx context.Context, v Verdict) (Verdict, error) {
	v.CreatedAt = tx.now()
	// The lock makes the runs of one key count up without gaps when two are recorded at once.
	var batch pgx.Batch
	batch.Queue(`SELECT pg_advisory_xact_lock(hashtextextended($1, 7))`, string(v.Tree)+string(v.Args)+string(v.Environment))
	batch.Queue(`INSERT INTO verdicts (repository_id, tree, command, args_sha256, env_sha256, verdict, reason, run, exit_code,
		   output_sha256, output_bytes, sandbox, evidence, duration_ms, created_at)
		 SELECT $1::bigint, $2::text, $3, $4::text, $5::text, $6, $7, 1 + count(*), $8::int, nullif($9, ''), $10, $11, $12, $13, $14::timestamptz
		 FROM verdicts WHERE repository_id = $1 AND tree = $2 AND args_sha256 = $4 AND env_sha256 = $5
		 RETURNING id, run`,
		v.Repository, v.Tree, v.Command, v.Args, v.Environment, v.Verdict, v.Reason, v.ExitCode, v.Output, v.OutputBytes,
		v.Sandbox, v.Evidence, v.DurationMS, v.CreatedAt).QueryRow(func(row pgx.Row) error { return row.Scan(&v.ID, &v.Run) })
	return v, wrap("record verdict", tx.db.SendBatch(ctx, &batch).Close())
}

const verdictSelect = `SELECT id, repository_id, tree, args_sha256, env_sha256, command, verdict, reason, run, exit_code,
	coalesce(output_sha256::text, ''), output_bytes, sandbox, evidence, duration_ms, created_at FROM verdicts `

func scanVerdict(row pgx.Row) (Verdict, error) {
	var v Verdict
	err := row.Scan(&v.ID, &v.Repository, &v.Tree, &v.Args, &v.Environment, &v.Command, &v.Verdict, &v.Reason, &v.Run, &v.ExitCode,
		&v.Output, &v.OutputBytes, &v.Sandbox, &v.Evidence, &v.DurationMS, &v.CreatedAt)
	return v, err
}

// Verdicts lists all runs recorded for a key, earliest first.
func (q Queries) Verdicts(ctx context.Context, k VerdictKey) ([]Verdict, error) {
	return many(ctx, q.db, "verdicts", scanVerdict,
		verdictSelect+`WHERE repository_id = $1 AND tree = $2 AND args_sha256 = $3 AND env_sha256 = $4 ORDER BY id`,
		k.Repository, k.Tree, k.Args, k.Environment)
}

// LatestVerdict gives the run of a repository that was recorded last, 0 where there is none.
func (q Queries) LatestVerdict(ctx context.Context, repository RepositoryID) (VerdictID, error) {
	var id VerdictID
	err := q.db.QueryRow(ctx, `SELECT coalesce(max(id), 0) FROM verdicts WHERE repository_id = $1`, repository).Scan(&id)
	return id, wrap("read latest verdict", err)
}

// VerdictsOfTree lists all runs recorded for a tree, whatever the command, earliest first.
func (q Queries) VerdictsOfTree(ctx context.Context, repository RepositoryID, tree OID) ([]Verdict, error) {
	return many(ctx, q.db, "verdicts", scanVerdict, verdictSelect+`WHERE repository_id = $1 AND tree = $2 ORDER BY id`, repository, tree)
}

// VerdictsOfTrees lists all runs recorded for any of the trees, whatever the command, earliest first.
func (q Queries) VerdictsOfTrees(ctx context.Context, repository RepositoryID, trees []OID) ([]Verdict, error) {
	return many(ctx, q.db, "verdicts", scanVerdict, verdictSelect+`WHERE repository_id = $1 AND tree = ANY($2::text[]) ORDER BY id`, repository, texts(trees))
}
