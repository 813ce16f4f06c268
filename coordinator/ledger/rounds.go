package ledger

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// RoundStatus is how far a round came.
type RoundStatus string

// The states of a round. The last four are final.
const (
	RoundSealing    RoundStatus = "sealing"
	RoundComposing  RoundStatus = "composing"
	RoundChecking   RoundStatus = "checking"
	RoundBlaming    RoundStatus = "blaming"
	RoundReady      RoundStatus = "ready"
	RoundLanding    RoundStatus = "landing"
	RoundLanded     RoundStatus = "landed"
	RoundStopped    RoundStatus = "stopped"
	RoundSuperseded RoundStatus = "superseded"
	RoundEmpty      RoundStatus = "empty"
)

// Round is a sealed set of patches on its way to land as one.
type Round struct {
	Target TargetID
	Number int64
	Status RoundStatus
	// CutSeq is the admission cut: patches admitted by entries up to it are waited for.
	CutSeq Seq
	// SealedSeq is the entry that fixed the members; zero before.
	SealedSeq    Seq
	TargetCommit OID
	HeadCommit   OID
	Tree         OID
	// Code says why a round stopped.
	Code string
	// Requested names the patches that were asked for; empty for all.
	Requested  []Identity
	Credential string
	// Data is the service's own.
	Data                 []byte
	CreatedAt, UpdatedAt time.Time
	Members              []RoundMember
}

// RoundMember is a patch within a round, at its place in the history that the round composes.
type RoundMember struct {
	Identity Identity
	Position int
	Status   string
	Commit   OID
}

// OpenRound makes the target's next round and gives its number. Members are ignored; SaveRound writes them.
func (tx *Tx) OpenRound(ctx context.Context, t *Target, r Round) (Round, error) {
	if t.locker != tx {
		return Round{}, ErrNotLocked
	}
	r.Target, r.CreatedAt, r.UpdatedAt = t.ID, tx.now(), tx.now()
	number, err := one(ctx, tx.db, "round", "", scanInto[int64],
		`INSERT INTO rounds (target_id, number, status, cut_seq, target_commit, requested, credential, data, created_at, updated_at)
		 SELECT $1, 1 + coalesce(max(number), 0), $2, $3, nullif($4, ''), $5, $6, $7, $8, $8 FROM rounds WHERE target_id = $1
		 RETURNING number`,
		t.ID, r.Status, r.CutSeq, r.TargetCommit, texts(r.Requested), r.Credential, r.Data, r.CreatedAt)
	r.Number = number
	return r, err
}

// SaveRound writes the round's progress and replaces its members.
func (tx *Tx) SaveRound(ctx context.Context, t *Target, r Round) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	var batch pgx.Batch
	batch.Queue(`UPDATE rounds SET status = $3, sealed_seq = nullif($4::bigint, 0), target_commit = nullif($5, ''),
		   head_commit = nullif($6, ''), tree = nullif($7, ''), code = nullif($8, ''), data = $9, updated_at = $10
		 WHERE target_id = $1 AND number = $2`,
		t.ID, r.Number, r.Status, r.SealedSeq, r.TargetCommit, r.HeadCommit, r.Tree, r.Code, r.Data, tx.now())
	batch.Queue(`DELETE FROM round_members WHERE target_id = $1 AND number = $2`, t.ID, r.Number)
	for _, m := range r.Members {
		batch.Queue(`INSERT INTO round_members (target_id, number, identity, position, status, commit_id)
			VALUES ($1, $2, $3, $4, $5, nullif($6, ''))`, t.ID, r.Number, m.Identity, m.Position, m.Status, m.Commit)
	}
	return wrap("save round", tx.db.SendBatch(ctx, &batch).Close())
}

const roundSelect = `SELECT target_id, number, status, cut_seq, coalesce(sealed_seq, 0), coalesce(target_commit::text, ''),
	coalesce(head_commit::text, ''), coalesce(tree::text, ''), coalesce(code::text, ''), requested, credential, data,
	created_at, updated_at FROM rounds `

func scanRound(row pgx.Row) (Round, error) {
	var r Round
	var requested []string
	err := row.Scan(&r.Target, &r.Number, &r.Status, &r.CutSeq, &r.SealedSeq, &r.TargetCommit, &r.HeadCommit, &r.Tree, &r.Code,
		&requested, &r.Credential, &r.Data, &r.CreatedAt, &r.UpdatedAt)
	r.Requested = typed[Identity](requested)
	return r, err
}

// Round gives one round with its members.
func (q Queries) Round(ctx context.Context, target TargetID, number int64) (Round, error) {
	r, err := one(ctx, q.db, "round", fmt.Sprint(number), scanRound, roundSelect+`WHERE target_id = $1 AND number = $2`, target, number)
	if err != nil {
		return Round{}, err
	}
	list := []Round{r}
	err = q.addMembers(ctx, list)
	return list[0], err
}

// OpenRounds lists the target's unfinished rounds with their members, ascending.
func (q Queries) OpenRounds(ctx context.Context, target TargetID) ([]Round, error) {
	list, err := many(ctx, q.db, "rounds", scanRound, roundSelect+
		`WHERE target_id = $1 AND status NOT IN ('landed', 'stopped', 'superseded', 'empty') ORDER BY number`, target)
	if err != nil {
		return nil, err
	}
	return list, q.addMembers(ctx, list)
}

// ListRounds pages through the target's rounds, newest first, below number before (zero for the first page).
func (q Queries) ListRounds(ctx context.Context, target TargetID, before int64, limit int) ([]Round, error) {
	list, err := many(ctx, q.db, "rounds", scanRound, roundSelect+
		`WHERE target_id = $1 AND ($2::bigint = 0 OR number < $2) ORDER BY number DESC LIMIT $3`, target, before, limit)
	if err != nil {
		return nil, err
	}
	return list, q.addMembers(ctx, list)
}

func (q Queries) addMembers(ctx context.Context, rounds []Round) error {
	if len(rounds) == 0 {
		return nil
	}
	at := make(map[int64]int, len(rounds))
	numbers := make([]int64, len(rounds))
	for i, r := range rounds {
		at[r.Number], numbers[i] = i, r.Number
	}
	scan := func(row pgx.Row) (struct{}, error) {
		var number int64
		var m RoundMember
		if err := row.Scan(&number, &m.Identity, &m.Position, &m.Status, &m.Commit); err != nil {
			return struct{}{}, err
		}
		r := &rounds[at[number]]
		r.Members = append(r.Members, m)
		return struct{}{}, nil
	}
	_, err := many(ctx, q.db, "round members", scan,
		`SELECT number, identity, position, status, coalesce(commit_id::text, '') FROM round_members
		 WHERE target_id = $1 AND number = ANY($2::bigint[]) ORDER BY number, position, identity`, rounds[0].Target, numbers)
	return err
}

// RoundsAt lists the rounds that were composed on the given target commit, ascending, without their members.
func (q Queries) RoundsAt(ctx context.Context, target TargetID, commit OID) ([]Round, error) {
	return many(ctx, q.db, "rounds", scanRound, roundSelect+`WHERE target_id = $1 AND target_commit = $2 ORDER BY number`, target, commit)
}
