package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Resolution is what a person did about a record: an explicit input of decisions.
type Resolution struct {
	ID       ResolutionID
	Target   TargetID
	Seq      Seq // the entry that recorded it
	Identity Identity
	Action   string
	// Binding is the canonical JSON of what it is bound to: it holds where the same is judged again.
	Binding    []byte
	Details    []byte
	Credential string
	Why        string
	CreatedAt  time.Time
}

// RecordResolution writes a resolution, for good. CreatedAt is ignored.
func (tx *Tx) RecordResolution(ctx context.Context, t *Target, r Resolution) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	_, err := tx.db.Exec(ctx,
		`INSERT INTO resolutions (id, target_id, seq, identity, action, binding, binding_sha256, details, credential, why, created_at)
		 VALUES ($1::text::uuid, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		r.ID, t.ID, r.Seq, r.Identity, r.Action, r.Binding, SHA256(r.Binding), r.Details, r.Credential, storable(r.Why), tx.now())
	return wrap("record resolution", err)
}

const resolutionSelect = `SELECT id::text, target_id, seq, identity, action, binding, details, credential, why, created_at FROM resolutions `

func scanResolution(row pgx.Row) (Resolution, error) {
	var r Resolution
	err := row.Scan(&r.ID, &r.Target, &r.Seq, &r.Identity, &r.Action, &r.Binding, &r.Details, &r.Credential, &r.Why, &r.CreatedAt)
	return r, err
}

// Resolutions lists a target's resolutions in the order of their entries, of one patch when identity is given.
func (q Queries) Resolutions(ctx context.Context, target TargetID, identity Identity) ([]Resolution, error) {
	return many(ctx, q.db, "resolutions", scanResolution,
		resolutionSelect+`WHERE target_id = $1 AND ($2 = '' OR identity = $2) ORDER BY seq, id`, target, string(identity))
}

// AllResolutions lists a target's resolutions of the given actions in the order in which they were recorded.
func (q Queries) AllResolutions(ctx context.Context, target TargetID, actions []string) ([]Resolution, error) {
	return many(ctx, q.db, "resolutions", scanResolution, resolutionSelect+`WHERE target_id = $1 AND action = ANY($2::text[]) ORDER BY seq`, target, actions)
}
