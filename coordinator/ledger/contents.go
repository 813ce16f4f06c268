package ledger

import (
	"context"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
)

// PutContent stores data under its SHA-256, for good; storing the same bytes again does nothing.
func (tx *Tx) PutContent(ctx context.Context, data []byte) (Digest, error) {
	digests, err := tx.PutContents(ctx, data)
	if err != nil {
		return "", err
	}
	return digests[0], nil
}

// PutContents is PutContent for several, in one round trip; it gives their digests in the same order.
func (tx *Tx) PutContents(ctx context.Context, list ...[]byte) ([]Digest, error) {
	now := tx.now()
	digests := make([]Digest, len(list))
	stored := make(map[Digest][]byte, len(list))
	for i, data := range list {
		digests[i] = SHA256(data)
		stored[digests[i]] = append([]byte{}, data...) // never nil, which would be NULL
	}
	var batch pgx.Batch
	for _, digest := range slices.Sorted(maps.Keys(stored)) { // one order for all, so that no two transactions deadlock
		batch.Queue(`INSERT INTO contents (sha256, bytes, created_at) VALUES ($1, $2, $3) ON CONFLICT (sha256) DO NOTHING`,
			digest, stored[digest], now)
	}
	if len(stored) == 0 {
		return digests, nil
	}
	return digests, wrap("store contents", tx.db.SendBatch(ctx, &batch).Close())
}

// Content gives the bytes with this digest.
func (q Queries) Content(ctx context.Context, digest Digest) ([]byte, error) {
	return one(ctx, q.db, "content", string(digest), scanInto[[]byte], `SELECT bytes FROM contents WHERE sha256 = $1`, digest)
}

// Contents gives the bytes of several digests at once; those that are not stored are left out.
func (q Queries) Contents(ctx context.Context, digests []Digest) (map[Digest][]byte, error) {
	type pair struct {
		digest Digest
		bytes  []byte
	}
	scan := func(row pgx.Row) (pair, error) {
		var p pair
		err := row.Scan(&p.digest, &p.bytes)
		return p, err
	}
	list, err := many(ctx, q.db, "contents", scan,
		`SELECT sha256, bytes FROM contents WHERE sha256 = ANY($1::text[])`, texts(digests))
	found := make(map[Digest][]byte, len(list))
	for _, p := range list {
		found[p.digest] = p.bytes
	}
	return found, err
}

// PutPlan keeps a result that was worked out from content alone, under a key that names all that content.
func (tx *Tx) PutPlan(ctx context.Context, repository RepositoryID, key Digest, plan []byte) error {
	_, err := tx.db.Exec(ctx,
		`INSERT INTO plans (repository_id, plan_key, plan, created_at) VALUES ($1, $2, $3, $4)
		 ON CONFLICT (repository_id, plan_key) DO NOTHING`, repository, key, plan, tx.now())
	return wrap("store plan", err)
}

// Plan gives what PutPlan kept, if it is still there.
func (q Queries) Plan(ctx context.Context, repository RepositoryID, key Digest) ([]byte, bool, error) {
	return maybe(ctx, q.db, "plan", scanInto[[]byte],
		`SELECT plan FROM plans WHERE repository_id = $1 AND plan_key = $2`, repository, key)
}

// DropPlans forgets all but the newest keep plans of the repository.
func (tx *Tx) DropPlans(ctx context.Context, repository RepositoryID, keep int) (int64, error) {
	tag, err := tx.db.Exec(ctx,
		`DELETE FROM plans WHERE repository_id = $1 AND plan_key IN (
		   SELECT plan_key FROM plans WHERE repository_id = $1 ORDER BY created_at DESC, plan_key OFFSET $2)`,
		repository, keep)
	return tag.RowsAffected(), wrap("drop plans", err)
}
