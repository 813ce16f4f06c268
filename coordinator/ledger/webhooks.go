package ledger

import (
	"context"
	"fmt"
)

// LockWebhook gives, and locks until the transaction ends, how far a target's entries were queued for a receiver. A receiver
// that is new on the target begins after the latest entry.
func (tx *Tx) LockWebhook(ctx context.Context, target TargetID, receiver Digest) (Seq, error) {
	_, err := tx.db.Exec(ctx,
		`INSERT INTO webhooks (target_id, receiver, queued_seq) SELECT id, $2, version FROM targets WHERE id = $1
		 ON CONFLICT (target_id, receiver) DO NOTHING`, target, receiver)
	if err != nil {
		return 0, wrap("make webhook", err)
	}
	return one(ctx, tx.db, "webhook", fmt.Sprint(target), scanInto[Seq],
		`SELECT queued_seq FROM webhooks WHERE target_id = $1 AND receiver = $2 FOR UPDATE`, target, receiver)
}

// SetWebhook records how far a target's entries were queued for a receiver.
func (tx *Tx) SetWebhook(ctx context.Context, target TargetID, receiver Digest, queued Seq) error {
	tag, err := tx.db.Exec(ctx, `UPDATE webhooks SET queued_seq = $3 WHERE target_id = $1 AND receiver = $2`, target, receiver, queued)
	if err == nil && tag.RowsAffected() == 0 {
		return &NotFoundError{What: "webhook", Key: fmt.Sprint(target)}
	}
	return wrap("advance webhook", err)
}
