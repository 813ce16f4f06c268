package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// LandingStatus is how a landing ended, if it did.
type LandingStatus string

// The states of a landing: an intent is closed exactly once.
const (
	LandingIntended  LandingStatus = "intended"
	LandingLanded    LandingStatus = "landed"
	LandingAbandoned LandingStatus = "abandoned"
)

// Landing is the recorded intent to move a target from Old to New, and what became of it. Seq is the entry of the
// intent and names the marker ref.
type Landing struct {
	Target     TargetID
	Seq        Seq
	Round      int64 // zero when a single patch lands
	Old, New   OID
	Identities []Identity
	Status     LandingStatus
	ClosedSeq  Seq
	CreatedAt  time.Time
}

// IntendLanding records an intent under its entry. Status and ClosedSeq are ignored.
func (tx *Tx) IntendLanding(ctx context.Context, t *Target, l Landing) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	_, err := tx.db.Exec(ctx,
		`INSERT INTO landings (target_id, seq, round, old_commit, new_commit, identities, status, created_at)
		 VALUES ($1, $2, nullif($3::bigint, 0), $4, $5, $6, 'intended', $7)`,
		t.ID, l.Seq, l.Round, l.Old, l.New, texts(l.Identities), tx.now())
	return wrap("record landing intent", err)
}

// CloseLanding records under the entry closedSeq that the intent was carried out or given up. An intent that is
// closed already is refused by the database (*AppendOnlyError).
func (tx *Tx) CloseLanding(ctx context.Context, t *Target, seq Seq, status LandingStatus, closedSeq Seq) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	tag, err := tx.db.Exec(ctx,
		`UPDATE landings SET status = $3, closed_seq = $4, closed_at = $5 WHERE target_id = $1 AND seq = $2`,
		t.ID, seq, status, closedSeq, tx.now())
	if err == nil && tag.RowsAffected() == 0 {
		return &NotFoundError{What: "landing", Key: fmt.Sprint(seq)}
	}
	return wrap("close landing", err)
}

const landingSelect = `SELECT target_id, seq, coalesce(round, 0), old_commit, new_commit, identities, status,
	coalesce(closed_seq, 0), created_at FROM landings `

func scanLanding(row pgx.Row) (Landing, error) {
	var l Landing
	var identities []string
	err := row.Scan(&l.Target, &l.Seq, &l.Round, &l.Old, &l.New, &identities, &l.Status, &l.ClosedSeq, &l.CreatedAt)
	l.Identities = typed[Identity](identities)
	return l, err
}

// OpenLandings lists intents not yet closed, ascending: what recovery looks at first.
func (q Queries) OpenLandings(ctx context.Context, target TargetID) ([]Landing, error) {
	return many(ctx, q.db, "landings", scanLanding, landingSelect+`WHERE target_id = $1 AND status = 'intended' ORDER BY seq`, target)
}

// Landings lists the landings that were carried out, ascending, beginning with seq from.
func (q Queries) Landings(ctx context.Context, target TargetID, from Seq, limit int) ([]Landing, error) {
	return many(ctx, q.db, "landings", scanLanding,
		landingSelect+`WHERE target_id = $1 AND status = 'landed' AND seq >= $2 ORDER BY seq LIMIT $3`, target, from, limit)
}
