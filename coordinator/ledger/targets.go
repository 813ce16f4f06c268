package ledger

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// EnsureRepository gives the repository called name, made on first use. The directory is kept up to date.
func (tx *Tx) EnsureRepository(ctx context.Context, name, gitDir string) (Repository, error) {
	return one(ctx, tx.db, "repository", name, scanRepository,
		`INSERT INTO repositories (name, git_dir, created_at) VALUES ($1, $2, $3)
		 ON CONFLICT (name) DO UPDATE SET git_dir = excluded.git_dir
		 RETURNING id, name, git_dir`, name, gitDir, tx.now())
}

// Repositories lists all repositories by name.
func (q Queries) Repositories(ctx context.Context) ([]Repository, error) {
	return many(ctx, q.db, "repositories", scanRepository, `SELECT id, name, git_dir FROM repositories ORDER BY name`)
}

// Repository gives the repository with this id.
func (q Queries) Repository(ctx context.Context, id RepositoryID) (Repository, error) {
	return one(ctx, q.db, "repository", fmt.Sprint(id), scanRepository,
		`SELECT id, name, git_dir FROM repositories WHERE id = $1`, id)
}

func scanRepository(row pgx.Row) (Repository, error) {
	var r Repository
	err := row.Scan(&r.ID, &r.Name, &r.GitDir)
	return r, err
}

const targetColumns = `t.id, t.repository_id, r.name, t.ref, t.version, t.head_hash, t.inputs_version,
	coalesce(t.commit_id::text, ''), coalesce(t.state_digest::text, ''), t.state_version, t.paused, t.draining`

func scanTarget(row pgx.Row) (Target, error) {
	var t Target
	err := row.Scan(&t.ID, &t.Repository, &t.RepositoryName, &t.Ref, &t.Version, &t.HeadHash, &t.Inputs,
		&t.Commit, &t.State, &t.StateVersion, &t.Paused, &t.Draining)
	return t, err
}

// EnsureTarget gives the target for ref in the repository, made with an empty chain on first use.
func (tx *Tx) EnsureTarget(ctx context.Context, repository RepositoryID, ref Ref) (Target, error) {
	_, err := tx.db.Exec(ctx,
		`INSERT INTO targets (repository_id, ref, created_at) VALUES ($1, $2, $3) ON CONFLICT (repository_id, ref) DO NOTHING`,
		repository, ref, tx.now())
	if err != nil {
		return Target{}, wrap("make target", err)
	}
	return one(ctx, tx.db, "target", string(ref), scanTarget,
		`SELECT `+targetColumns+` FROM targets t JOIN repositories r ON r.id = t.repository_id
		 WHERE t.repository_id = $1 AND t.ref = $2`, repository, ref)
}

// Target gives the target with this id, without a lock.
func (q Queries) Target(ctx context.Context, id TargetID) (Target, error) {
	return one(ctx, q.db, "target", fmt.Sprint(id), scanTarget,
		`SELECT `+targetColumns+` FROM targets t JOIN repositories r ON r.id = t.repository_id WHERE t.id = $1`, id)
}

// Targets lists all targets by repository name and ref.
func (q Queries) Targets(ctx context.Context) ([]Target, error) {
	return many(ctx, q.db, "targets", scanTarget,
		`SELECT `+targetColumns+` FROM targets t JOIN repositories r ON r.id = t.repository_id ORDER BY r.name, t.ref`)
}

// LockTarget takes the target's row lock (SELECT … FOR UPDATE) until the transaction ends, and gives its state.
// Every write that changes the target's chain or projections takes it first.
func (tx *Tx) LockTarget(ctx context.Context, id TargetID) (*Target, error) {
	t, err := one(ctx, tx.db, "target", fmt.Sprint(id), scanTarget,
		`SELECT `+targetColumns+` FROM targets t JOIN repositories r ON r.id = t.repository_id
		 WHERE t.id = $1 FOR UPDATE OF t`, id)
	if err != nil {
		return nil, err
	}
	t.locker = tx
	return &t, nil
}

// SetPaused records whether the target takes rounds and landings. The caller appends the entry that says why.
func (tx *Tx) SetPaused(ctx context.Context, t *Target, paused, draining bool) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	if _, err := tx.db.Exec(ctx, `UPDATE targets SET paused = $2, draining = $3 WHERE id = $1`, t.ID, paused, draining); err != nil {
		return wrap("pause target", err)
	}
	t.Paused, t.Draining = paused, draining
	return nil
}

// SetState records the digest of the published state, and the version of the target that it was worked out from.
func (tx *Tx) SetState(ctx context.Context, t *Target, state Digest, version Seq) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	_, err := tx.db.Exec(ctx, `UPDATE targets SET state_digest = $2, state_version = $3 WHERE id = $1`, t.ID, state, version)
	if err != nil {
		return wrap("record state", err)
	}
	t.State, t.StateVersion = state, version
	return nil
}
