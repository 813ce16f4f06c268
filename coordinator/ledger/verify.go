package ledger

import (
	"context"
	"fmt"
)

// Codes of what VerifyChain can find wrong.
const (
	ProblemGap         = "seq_gap"              // an entry is missing before this one
	ProblemLink        = "prev_hash_mismatch"   // it does not name the hash of the entry before it
	ProblemHash        = "hash_mismatch"        // its hash is not that of its fields
	ProblemPayload     = "payload_mismatch"     // the payload's bytes are not those that were hashed
	ProblemOperational = "operational_mismatch" // nor the operational payload's
	ProblemHead        = "head_mismatch"        // the target's recorded head is not the chain's end
	ProblemAnchor      = "anchor_missing"       // the anchored hash is not in the chain: its tail was cut or rewritten
	ProblemContent     = "content_missing"      // bytes that a submission or record names are gone or changed
)

// Problem is one thing wrong with a chain. Seq is zero where no single entry is at fault.
type Problem struct {
	Seq    Seq
	Code   string
	Detail string
}

// Report is the result of a walk along a chain.
type Report struct {
	Target  Target
	Entries int64
	// Head and HeadSeq are the last entry's, as read.
	Head    Digest
	HeadSeq Seq
	// AnchorSeq is the entry with the anchored hash; it may be older than the head after a crash.
	AnchorSeq Seq
	Problems  []Problem
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool { return len(r.Problems) == 0 }

// Anchor is a head hash kept outside the database. The zero value stands for "none was ever kept".
type Anchor struct{ Hash Digest }

// pageSize is how many entries are read at a time.
const pageSize = 500

// VerifyChain walks the target's chain from its first entry and recomputes every digest, within one snapshot. It
// reports all problems; an error means that the chain could not be read.
func (s *Store) VerifyChain(ctx context.Context, target TargetID, anchor Anchor) (Report, error) {
	var report Report
	err := s.snapshot(ctx, func(ctx context.Context, q Queries) error {
		t, err := q.Target(ctx, target)
		if err != nil {
			return err
		}
		w := walk{report: Report{Target: t, Head: ZeroHash}, anchor: anchor.Hash}
		if err := w.chain(ctx, q); err != nil {
			return err
		}
		w.end()
		report = w.report
		report.Problems, err = q.contentProblems(ctx, target, report.Problems)
		return err
	})
	if err != nil {
		return Report{}, fmt.Errorf("verify chain of target %d: %w", target, err)
	}
	return report, nil
}

type walk struct {
	report Report
	anchor Digest
}

func (w *walk) chain(ctx context.Context, q Queries) error {
	for {
		page, err := q.Entries(ctx, w.report.Target.ID, w.report.HeadSeq+1, pageSize)
		if err != nil {
			return err
		}
		for _, e := range page {
			if err := w.entry(e); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

func (w *walk) entry(e RecordedEntry) error {
	r := &w.report
	if e.Seq != r.HeadSeq+1 {
		w.problem(e.Seq, ProblemGap, fmt.Sprintf("entry %d follows entry %d", e.Seq, r.HeadSeq))
	}
	if e.PrevHash != r.Head {
		w.problem(e.Seq, ProblemLink, fmt.Sprintf("names %s, the entry before it has %s", e.PrevHash, r.Head))
	}
	if SHA256(e.Payload) != e.PayloadSHA256 {
		w.problem(e.Seq, ProblemPayload, "the payload was changed")
	}
	if SHA256(e.Operational) != e.OperationalSHA256 {
		w.problem(e.Seq, ProblemOperational, "the operational payload was changed")
	}
	hash, err := HashEntry(r.Target.ChainName(), e)
	if err != nil {
		return err
	}
	if hash != e.Hash {
		w.problem(e.Seq, ProblemHash, fmt.Sprintf("has %s, its fields give %s", e.Hash, hash))
	}
	if e.Hash == w.anchor {
		r.AnchorSeq = e.Seq
	}
	r.Entries++
	r.Head, r.HeadSeq = e.Hash, e.Seq
	return nil
}

func (w *walk) end() {
	r := &w.report
	if r.Target.Version != r.HeadSeq || r.Target.HeadHash != r.Head {
		w.problem(0, ProblemHead, fmt.Sprintf("the target records %d %s, the chain ends with %d %s",
			r.Target.Version, r.Target.HeadHash, r.HeadSeq, r.Head))
	}
	if w.anchor != "" && w.anchor != ZeroHash && r.AnchorSeq == 0 {
		w.problem(0, ProblemAnchor, fmt.Sprintf("anchored hash %s is not in the chain", w.anchor))
	}
}

func (w *walk) problem(seq Seq, code, detail string) {
	w.report.Problems = append(w.report.Problems, Problem{Seq: seq, Code: code, Detail: detail})
}

// contentProblems adds the contents that the target's submissions and records name and that do not have their digest.
func (q Queries) contentProblems(ctx context.Context, target TargetID, found []Problem) ([]Problem, error) {
	bad, err := many(ctx, q.db, "contents", scanInto[string],
		`SELECT n.sha256::text FROM (
		   SELECT diff_sha256 AS sha256 FROM submissions WHERE target_id = $1
		   UNION SELECT record_sha256 FROM patches WHERE target_id = $1 AND record_sha256 IS NOT NULL) n
		 LEFT JOIN contents c ON c.sha256 = n.sha256
		 WHERE c.sha256 IS NULL OR encode(sha256(c.bytes), 'hex') <> c.sha256::text ORDER BY 1`, target)
	for _, digest := range bad {
		found = append(found, Problem{Code: ProblemContent, Detail: "content " + digest + " is missing or changed"})
	}
	return found, err
}
