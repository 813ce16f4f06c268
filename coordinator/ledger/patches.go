package ledger

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// Disposition says whether and why a patch is out of the pending set.
type Disposition string

// The dispositions of a patch.
const (
	Pending    Disposition = "pending"
	Landed     Disposition = "landed"
	Withdrawn  Disposition = "withdrawn"
	Rejected   Disposition = "rejected"
	Superseded Disposition = "superseded"
)

// Patch is the projection of one identity at one target: what was last decided about it.
type Patch struct {
	Target   TargetID
	Identity Identity
	// PatchID is the label of the first submission; others may exist.
	PatchID string
	Base    OID
	Diff    Digest
	// AdmittedSeq is the entry that admitted it; Standing the number of its submissions not withdrawn.
	AdmittedSeq Seq
	Standing    int

	Disposition Disposition
	// DecidedCommit is the target commit, and DecidedVersion the entry, of the latest decision.
	DecidedCommit  OID
	DecidedVersion Seq
	// Stage, Outcome, Code and Class are of the patch's own decision.
	Stage, Outcome, Code, Class string
	// Published is the outcome within the pending set: contention and blocks included.
	Published       string
	PlanDigest      Digest
	DecisionDigest  Digest
	CandidateCommit OID
	CandidateTree   OID
	// Record is the content digest of the decision record.
	Record Digest

	NeedsDecision bool
	NeedsChecks   bool
	// DependsOn and Supersedes are as the manifest names them: identities or labels.
	DependsOn, Supersedes []string
	ContendsWith          []Identity
	Successor             Identity
	LandedCommit          OID
	LandedSeq             Seq
	// Data is the service's own.
	Data      []byte
	UpdatedAt time.Time
}

const patchColumns = `target_id, identity, patch_id, base_commit, diff_sha256, admitted_seq, standing, disposition,
	coalesce(decided_commit::text, ''), decided_version, coalesce(stage::text, ''), coalesce(outcome::text, ''),
	coalesce(code::text, ''), coalesce(class::text, ''), coalesce(published_outcome::text, ''),
	coalesce(plan_digest::text, ''), coalesce(decision_digest::text, ''), coalesce(candidate_commit::text, ''),
	coalesce(candidate_tree::text, ''), coalesce(record_sha256::text, ''), needs_decision, needs_checks,
	depends_on, supersedes, contends_with, coalesce(successor::text, ''), coalesce(landed_commit::text, ''),
	coalesce(landed_seq, 0), data, updated_at`

func scanPatch(row pgx.Row) (Patch, error) {
	var p Patch
	var contends []string
	err := row.Scan(&p.Target, &p.Identity, &p.PatchID, &p.Base, &p.Diff, &p.AdmittedSeq, &p.Standing, &p.Disposition,
		&p.DecidedCommit, &p.DecidedVersion, &p.Stage, &p.Outcome, &p.Code, &p.Class, &p.Published,
		&p.PlanDigest, &p.DecisionDigest, &p.CandidateCommit, &p.CandidateTree, &p.Record, &p.NeedsDecision, &p.NeedsChecks,
		&p.DependsOn, &p.Supersedes, &contends, &p.Successor, &p.LandedCommit, &p.LandedSeq, &p.Data, &p.UpdatedAt)
	p.ContendsWith = typed[Identity](contends)
	return p, err
}

const patchUpdate = `UPDATE patches SET disposition = $3, decided_commit = nullif($4, ''), decided_version = $5,
	stage = nullif($6, ''), outcome = nullif($7, ''), code = nullif($8, ''), class = nullif($9, ''),
	published_outcome = nullif($10, ''), plan_digest = nullif($11, ''), decision_digest = nullif($12, ''),
	candidate_commit = nullif($13, ''), candidate_tree = nullif($14, ''), record_sha256 = nullif($15, ''),
	needs_decision = $16, needs_checks = $17, contends_with = $18, successor = nullif($19, ''),
	landed_commit = nullif($20, ''), landed_seq = nullif($21::bigint, 0), data = $22, updated_at = $23
	WHERE target_id = $1 AND identity = $2`

// SavePatches writes everything of each patch that a decision may change, in one round trip: all fields but the
// keys, the label, Base, Diff, AdmittedSeq, Standing, DependsOn, Supersedes and UpdatedAt. The transaction must
// hold the target's lock.
func (tx *Tx) SavePatches(ctx context.Context, t *Target, patches ...Patch) error {
	if t.locker != tx {
		return ErrNotLocked
	}
	now := tx.now()
	var batch pgx.Batch
	for _, p := range patches {
		batch.Queue(patchUpdate, t.ID, p.Identity, p.Disposition, p.DecidedCommit, p.DecidedVersion,
			p.Stage, p.Outcome, p.Code, p.Class, p.Published, p.PlanDigest, p.DecisionDigest,
			p.CandidateCommit, p.CandidateTree, p.Record, p.NeedsDecision, p.NeedsChecks, texts(p.ContendsWith), p.Successor,
			p.LandedCommit, p.LandedSeq, p.Data, now)
	}
	if len(patches) == 0 {
		return nil
	}
	return wrap("save patches", tx.db.SendBatch(ctx, &batch).Close())
}

// Patch gives one patch.
func (q Queries) Patch(ctx context.Context, target TargetID, identity Identity) (Patch, error) {
	return one(ctx, q.db, "patch", string(identity), scanPatch,
		`SELECT `+patchColumns+` FROM patches WHERE target_id = $1 AND identity = $2`, target, identity)
}

// Manifest gives the manifest of a patch as first received.
func (q Queries) Manifest(ctx context.Context, target TargetID, identity Identity) ([]byte, error) {
	return one(ctx, q.db, "patch", string(identity), scanInto[[]byte],
		`SELECT manifest FROM patches WHERE target_id = $1 AND identity = $2`, target, identity)
}

// PendingPatches lists the pending set by identity.
func (q Queries) PendingPatches(ctx context.Context, target TargetID) ([]Patch, error) {
	return many(ctx, q.db, "patches", scanPatch,
		`SELECT `+patchColumns+` FROM patches WHERE target_id = $1 AND disposition = 'pending' ORDER BY identity`, target)
}

// UndecidedPatches lists pending patches that need a decision, earliest admitted first.
func (q Queries) UndecidedPatches(ctx context.Context, target TargetID, limit int) ([]Patch, error) {
	return many(ctx, q.db, "patches", scanPatch,
		`SELECT `+patchColumns+` FROM patches WHERE target_id = $1 AND disposition = 'pending' AND needs_decision
		 ORDER BY admitted_seq, identity LIMIT $2`, target, limit)
}

// CountUndecided gives how many pending patches need a decision among those admitted at or before seq upTo.
func (q Queries) CountUndecided(ctx context.Context, target TargetID, upTo Seq) (int, error) {
	return one(ctx, q.db, "patches", "", scanInto[int],
		`SELECT count(*) FROM patches WHERE target_id = $1 AND disposition = 'pending' AND needs_decision AND admitted_seq <= $2`,
		target, upTo)
}

// PatchCount is how many patches of a target share a disposition and a published outcome.
type PatchCount struct {
	Disposition Disposition
	Published   string
	Count       int
}

// CountPatches counts a target's patches, sorted by disposition and outcome.
func (q Queries) CountPatches(ctx context.Context, target TargetID) ([]PatchCount, error) {
	scan := func(row pgx.Row) (PatchCount, error) {
		var c PatchCount
		err := row.Scan(&c.Disposition, &c.Published, &c.Count)
		return c, err
	}
	return many(ctx, q.db, "patches", scan,
		`SELECT disposition, coalesce(published_outcome::text, ''), count(*) FROM patches WHERE target_id = $1 GROUP BY 1, 2 ORDER BY 1, 2`,
		target)
}

// PatchCursor is where a page of patches ended. The zero value asks for the first page.
type PatchCursor struct {
	AdmittedSeq Seq
	Identity    Identity
}

// PatchFilter narrows ListPatches; zero values do not.
type PatchFilter struct {
	Dispositions []Disposition
	Published    string
}

// ListPatches pages through a target's patches, latest admitted first.
func (q Queries) ListPatches(ctx context.Context, target TargetID, f PatchFilter, after PatchCursor, limit int) ([]Patch, error) {
	return many(ctx, q.db, "patches", scanPatch,
		`SELECT `+patchColumns+` FROM patches
		 WHERE target_id = $1 AND (cardinality($2::text[]) = 0 OR disposition = ANY($2::text[]))
		   AND ($3 = '' OR published_outcome = $3)
		   AND ($4::bigint = 0 OR (admitted_seq, identity::text) < ($4::bigint, $5))
		 ORDER BY admitted_seq DESC, identity DESC LIMIT $6`,
		target, texts(f.Dispositions), f.Published, after.AdmittedSeq, string(after.Identity), limit)
}

// FindPatches gives the identities that name stands for: a label of any of their submissions, a submission's id,
// an identity, or a prefix of one of at least seven digits. Sorted; more than one is an ambiguous name.
func (q Queries) FindPatches(ctx context.Context, target TargetID, name string) ([]Identity, error) {
	return many(ctx, q.db, "patches", scanInto[Identity],
		`SELECT identity FROM submissions WHERE target_id = $1 AND patch_id = $2
		 UNION SELECT identity FROM submissions WHERE target_id = $1 AND id::text = lower($2)
		 UNION SELECT identity FROM patches WHERE target_id = $1 AND $2 ~ '^[0-9a-f]{7,64}$'
		   AND identity >= rpad($2, 64, '0') AND identity <= rpad($2, 64, 'f')
		 ORDER BY 1`, target, name)
}

// Labels lists the labels of the submissions of the target's patches that stand or have landed, by identity.
func (q Queries) Labels(ctx context.Context, target TargetID) (map[Identity][]string, error) {
	return q.labels(ctx, `SELECT DISTINCT s.identity, s.patch_id FROM submissions s JOIN patches p USING (target_id, identity)
	    LEFT JOIN withdrawals w ON w.submission_id = s.id
	    WHERE s.target_id = $1 AND p.disposition IN ('pending', 'landed', 'superseded') AND (w.submission_id IS NULL OR p.disposition = 'landed')
	    ORDER BY 1, 2`, target)
}

func (q Queries) labels(ctx context.Context, sql string, args ...any) (map[Identity][]string, error) {
	type row struct {
		id    Identity
		label string
	}
	rows, err := many(ctx, q.db, "labels", func(r pgx.Row) (row, error) {
		var x row
		err := r.Scan(&x.id, &x.label)
		return x, err
	}, sql, args...)
	if err != nil {
		return nil, err
	}
	out := map[Identity][]string{}
	for _, x := range rows {
		out[x.id] = append(out[x.id], x.label)
	}
	return out, nil
}

// Manifests gives the manifests of patches as first received.
func (q Queries) Manifests(ctx context.Context, target TargetID, ids []Identity) (map[Identity][]byte, error) {
	type row struct {
		id  Identity
		raw []byte
	}
	rows, err := many(ctx, q.db, "manifests", func(r pgx.Row) (row, error) {
		var x row
		err := r.Scan(&x.id, &x.raw)
		return x, err
	}, `SELECT identity, manifest FROM patches WHERE target_id = $1 AND identity = ANY($2::text[])`, target, texts(ids))
	if err != nil {
		return nil, err
	}
	out := map[Identity][]byte{}
	for _, x := range rows {
		out[x.id] = x.raw
	}
	return out, nil
}
