package ledger

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// KindTargetMoved is the kind of the entry that records a new target commit that nobody here landed.
const KindTargetMoved Kind = "target_moved"

// Append writes e as the next entry of t's chain. The transaction must hold t's row lock; when the target is not
// as expected the answer is a *StaleError and nothing is written. t is brought up to date. Listeners are told on
// commit.
func (tx *Tx) Append(ctx context.Context, t *Target, expect Expect, e Entry) (EntryRef, error) {
	refs, err := tx.AppendAll(ctx, t, expect, e)
	if err != nil {
		return EntryRef{}, err
	}
	return refs[0], nil
}

// AppendAll is Append for several entries, in their order and in one round trip.
func (tx *Tx) AppendAll(ctx context.Context, t *Target, expect Expect, entries ...Entry) ([]EntryRef, error) {
	if t.locker != tx {
		return nil, ErrNotLocked
	}
	if err := expect.check(*t); err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, nil
	}
	after := *t
	refs := make([]EntryRef, 0, len(entries))
	var batch pgx.Batch
	for _, e := range entries {
		next, err := tx.nextEntry(after, e)
		if err != nil {
			return nil, fmt.Errorf("append %s entry: %w", e.Kind, err)
		}
		after = following(after, e, next.EntryRef)
		queueEntry(&batch, next)
		refs = append(refs, next.EntryRef)
	}
	batch.Queue(`UPDATE targets SET version = $2, head_hash = $3, inputs_version = $4, commit_id = nullif($5, '') WHERE id = $1`,
		after.ID, after.Version, after.HeadHash, after.Inputs, after.Commit)
	if err := tx.db.SendBatch(ctx, &batch).Close(); err != nil {
		return nil, wrap("append entries", err)
	}
	*t = after
	return refs, nil
}

// following is the target as it is after an entry.
func following(t Target, e Entry, at EntryRef) Target {
	t.Version, t.HeadHash = at.Seq, at.Hash
	if e.Inputs {
		t.Inputs = at.Seq
	}
	if e.Commit != "" {
		t.Commit = e.Commit
	}
	return t
}

func (x Expect) check(t Target) error {
	stale := &StaleError{Target: t.ID, Want: x, Version: t.Version, Inputs: t.Inputs, Commit: t.Commit}
	switch {
	case !x.AnyCommit && x.Commit != t.Commit:
		stale.MovedWhat = "commit"
	case !x.AnyInputs && x.Inputs != t.Inputs:
		stale.MovedWhat = "inputs"
	case !x.AnyVersion && x.Version != t.Version:
		stale.MovedWhat = "version"
	default:
		return nil
	}
	return stale
}

func (tx *Tx) nextEntry(t Target, e Entry) (RecordedEntry, error) {
	if e.Operational == nil {
		e.Operational = []byte("{}")
	}
	if !json.Valid(e.Payload) || !json.Valid(e.Operational) {
		return RecordedEntry{}, fmt.Errorf("a payload of the %q entry is not JSON", e.Kind)
	}
	next := RecordedEntry{
		EntryRef: EntryRef{Target: t.ID, Seq: t.Version + 1}, Kind: e.Kind, PrevHash: t.HeadHash,
		Payload: e.Payload, PayloadSHA256: SHA256(e.Payload),
		Operational: e.Operational, OperationalSHA256: SHA256(e.Operational), CreatedAt: tx.now(),
	}
	hash, err := HashEntry(t.ChainName(), next)
	next.Hash = hash
	return next, err
}

// queueEntry adds an entry and its notification to a batch.
func queueEntry(batch *pgx.Batch, e RecordedEntry) {
	batch.Queue(`INSERT INTO ledger_entries (target_id, seq, kind, prev_hash, hash, payload, payload_sha256,
		operational, operational_sha256, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		e.Target, e.Seq, e.Kind, e.PrevHash, e.Hash, e.Payload, e.PayloadSHA256,
		e.Operational, e.OperationalSHA256, e.CreatedAt)
	batch.Queue(`SELECT pg_notify($1, $2)`, channel, notification(e))
}

const entryColumns = `target_id, seq, hash, kind, prev_hash, payload, payload_sha256, operational, operational_sha256, created_at`

func scanEntry(row pgx.Row) (RecordedEntry, error) {
	var e RecordedEntry
	err := row.Scan(&e.Target, &e.Seq, &e.Hash, &e.Kind, &e.PrevHash, &e.Payload, &e.PayloadSHA256,
		&e.Operational, &e.OperationalSHA256, &e.CreatedAt)
	return e, err
}

// Entries reads up to limit entries of the target's chain, ascending, beginning with seq from.
func (q Queries) Entries(ctx context.Context, target TargetID, from Seq, limit int) ([]RecordedEntry, error) {
	return many(ctx, q.db, "entries", scanEntry,
		`SELECT `+entryColumns+` FROM ledger_entries WHERE target_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3`,
		target, from, limit)
}

// EntriesOfKinds is Entries for some kinds only.
func (q Queries) EntriesOfKinds(ctx context.Context, target TargetID, kinds []Kind, from Seq, limit int) ([]RecordedEntry, error) {
	return many(ctx, q.db, "entries", scanEntry,
		`SELECT `+entryColumns+` FROM ledger_entries
		 WHERE target_id = $1 AND seq >= $2 AND kind = ANY($4::text[]) ORDER BY seq LIMIT $3`,
		target, from, limit, texts(kinds))
}

// EntryAt reads one entry.
func (q Queries) EntryAt(ctx context.Context, target TargetID, seq Seq) (RecordedEntry, error) {
	return one(ctx, q.db, "entry", fmt.Sprintf("%d/%d", target, seq), scanEntry,
		`SELECT `+entryColumns+` FROM ledger_entries WHERE target_id = $1 AND seq = $2`, target, seq)
}

// EntryByHash finds the entry with this hash in the target's chain: the anchored one is there unless the chain's
// tail was cut.
func (q Queries) EntryByHash(ctx context.Context, target TargetID, hash Digest) (RecordedEntry, bool, error) {
	return maybe(ctx, q.db, "entry", scanEntry,
		`SELECT `+entryColumns+` FROM ledger_entries WHERE target_id = $1 AND hash = $2`, target, hash)
}

// MoveTarget records that the target now is at commit: an entry of kind KindTargetMoved (or e.Kind when given),
// after which every pending patch needs a decision again. It gives how many patches were flagged.
func (tx *Tx) MoveTarget(ctx context.Context, t *Target, expect Expect, commit OID, e Entry) (EntryRef, int64, error) {
	if e.Kind == "" {
		e.Kind = KindTargetMoved
	}
	e.Commit, e.Inputs = commit, true
	ref, err := tx.Append(ctx, t, expect, e)
	if err != nil {
		return EntryRef{}, 0, err
	}
	flagged, err := tx.RequireDecisions(ctx, t)
	return ref, flagged, err
}

// RequireDecisions flags every pending patch of the target as needing a decision, and gives the number of those
// that were not flagged before.
func (tx *Tx) RequireDecisions(ctx context.Context, t *Target) (int64, error) {
	if t.locker != tx {
		return 0, ErrNotLocked
	}
	tag, err := tx.db.Exec(ctx,
		`UPDATE patches SET needs_decision = true, updated_at = $2
		 WHERE target_id = $1 AND disposition = 'pending' AND NOT needs_decision`, t.ID, tx.now())
	return tag.RowsAffected(), wrap("flag patches", err)
}
