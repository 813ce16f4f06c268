package ledger

import "context"

// PatchesAt lists, by identity, the patches that were in the pending set once the entry cut was written, as their rows are now: those
// admitted up to it that are pending, and those that were withdrawn since.
func (q Queries) PatchesAt(ctx context.Context, target TargetID, cut Seq) ([]Patch, error) {
	return many(ctx, q.db, "patches", scanPatch,
		`SELECT `+patchColumns+` FROM patches p WHERE target_id = $1 AND admitted_seq <= $2 AND (disposition = 'pending' OR disposition = 'withdrawn'
		   AND EXISTS (SELECT FROM withdrawals w JOIN submissions s ON s.id = w.submission_id
		     WHERE s.target_id = p.target_id AND s.identity = p.identity AND w.seq > $2)) ORDER BY identity`, target, cut)
}

// LabelsAt is Labels as it was once the entry cut was written, as far as withdrawals since then go.
func (q Queries) LabelsAt(ctx context.Context, target TargetID, cut Seq) (map[Identity][]string, error) {
	return q.labels(ctx, `SELECT DISTINCT s.identity, s.patch_id FROM submissions s JOIN patches p USING (target_id, identity)
	    LEFT JOIN withdrawals w ON w.submission_id = s.id AND w.seq <= $2
	    WHERE s.target_id = $1 AND (p.disposition = 'landed' OR w.submission_id IS NULL) ORDER BY 1, 2`, target, cut)
}
