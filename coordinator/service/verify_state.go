package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// implied is what a patch's row says, or has to say by the entries of its chain.
type implied struct {
	Standing                    int
	Disposition                 ledger.Disposition
	Stage, Outcome, Code, Class string
	Published                   string
	PlanDigest, DecisionDigest  ledger.Digest
	Candidate, CandidateTree    ledger.OID
	DecidedCommit               ledger.OID
	DecidedVersion              ledger.Seq
}

func impliedBy(standing int, p ledger.Patch) implied {
	return implied{
		standing, p.Disposition, p.Stage, p.Outcome, p.Code, p.Class, p.Published, p.PlanDigest, p.DecisionDigest,
		p.CandidateCommit, p.CandidateTree, p.DecidedCommit, p.DecidedVersion,
	}
}

// followed is a patch as the entries so far make it.
type followed struct {
	standing int
	row      ledger.Patch
	landed   bool // a landing of it counts
}

func (f *followed) implied() implied {
	row := f.row
	switch {
	case f.landed:
		row.Disposition = ledger.Landed
	case row.Disposition == ledger.Rejected:
	case f.standing == 0:
		row.Disposition = ledger.Withdrawn
	default:
		row.Disposition = ledger.Pending
	}
	return impliedBy(f.standing, row)
}

// verifyState replays the entries of a chain and names every patch whose row says something else than they do, and every
// decision whose digests do not follow from its own record.
func (s *Service) verifyState(ctx context.Context, t *target) ([]string, error) {
	var faults []string
	err := s.store.Snapshot(ctx, func(ctx context.Context, q ledger.Queries) error {
		patches := map[ledger.Identity]*followed{}
		for from := ledger.Seq(1); ; {
			entries, err := q.Entries(ctx, t.id, from, pageMax)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if fault := follow(patches, e); fault != "" {
					faults = append(faults, fault)
				}
				from = e.Seq + 1
			}
			if len(entries) < pageMax {
				break
			}
		}
		return compareRows(ctx, q, t, patches, &faults)
	})
	if err != nil {
		return nil, fmt.Errorf("verify state: %w", err)
	}
	slices.Sort(faults)
	return faults, nil
}

// follow applies one entry, and says what is wrong with it. Whoever can write to the database may have put anything there.
func follow(patches map[ledger.Identity]*followed, e ledger.RecordedEntry) string {
	switch e.Kind {
	case KindAdmitted, KindWithdrawn:
		var body struct {
			Identity ledger.Identity `json:"identity"`
		}
		if err := json.Unmarshal(e.Payload, &body); err != nil {
			return fmt.Sprintf("state: entry %d cannot be read: %v", e.Seq, err)
		}
		p := patches[body.Identity]
		if p == nil {
			p = &followed{}
			patches[body.Identity] = p
		}
		if e.Kind == KindAdmitted {
			p.standing++
		} else {
			p.standing--
		}
	case KindDecided:
		return followDecision(patches, e)
	case KindState, KindLanded, ledger.KindTargetMoved, KindResolution:
		return followSet(patches, e)
	}
	return ""
}

// followSet applies an entry that is about the set, or about several patches of it.
func followSet(patches map[ledger.Identity]*followed, e ledger.RecordedEntry) string {
	var body struct {
		Patches    []coordinator.PatchStatus `json:"patches"`
		Identities []ledger.Identity         `json:"identities"`
		Reverted   []ledger.Identity         `json:"reverted"`
		Restored   []ledger.Identity         `json:"restored"`
		Identity   ledger.Identity           `json:"identity"`
		Action     coordinator.Action        `json:"action"`
	}
	if err := json.Unmarshal(e.Payload, &body); err != nil {
		return fmt.Sprintf("state: entry %d cannot be read: %v", e.Seq, err)
	}
	each := func(ids []ledger.Identity, do func(*followed)) {
		for _, id := range ids {
			if p := patches[id]; p != nil {
				do(p)
			}
		}
	}
	for _, st := range body.Patches {
		if p := patches[ledger.Identity(st.Identity)]; p != nil && st.Outcome != "" {
			p.row.Published = string(st.Outcome)
		}
	}
	each(slices.Concat(body.Identities, body.Restored), func(p *followed) { p.landed = true })
	each(body.Reverted, func(p *followed) { p.landed = false })
	each([]ledger.Identity{body.Identity}, func(p *followed) {
		switch body.Action {
		case coordinator.ActionReject:
			p.row.Disposition, p.row.Published, p.row.Code = ledger.Rejected, string(coordinator.OutcomeRejected), ""
		case coordinator.ActionReopen:
			p.row.Disposition, p.landed = ledger.Pending, false
		case coordinator.ActionAccept, coordinator.ActionChoose, coordinator.ActionApprove, coordinator.ActionSubmit, coordinator.ActionComment:
		}
	})
	return ""
}

func followDecision(patches map[ledger.Identity]*followed, e ledger.RecordedEntry) string {
	var d coordinator.Decision
	if err := json.Unmarshal(e.Payload, &d); err != nil {
		return fmt.Sprintf("state: entry %d cannot be read: %v", e.Seq, err)
	}
	p := patches[ledger.Identity(d.Patch.Identity)]
	if p == nil {
		return fmt.Sprintf("state: entry %d decides patch %s, which no entry admitted", e.Seq, d.Patch.Identity)
	}
	claimed := d.DecisionDigest
	if err := d.SealDecision(); err != nil || d.DecisionDigest != claimed {
		return fmt.Sprintf("state: entry %d claims decision digest %s, its record has %s", e.Seq, claimed, d.DecisionDigest)
	}
	if d.Outcome == coordinator.OutcomeCandidate && d.Candidate == nil || d.Conflict != nil && len(d.Conflict.Reasons) == 0 {
		return fmt.Sprintf("state: entry %d is no decision: its outcome is %q and nothing says why", e.Seq, d.Outcome)
	}
	project(&p.row, &d, e.Seq)
	return ""
}

func compareRows(ctx context.Context, q ledger.Queries, t *target, patches map[ledger.Identity]*followed, faults *[]string) error {
	seen := map[ledger.Identity]bool{}
	for cursor := (ledger.PatchCursor{}); ; {
		rows, err := q.ListPatches(ctx, t.id, ledger.PatchFilter{}, cursor, pageMax)
		if err != nil {
			return err
		}
		for _, row := range rows {
			cursor = ledger.PatchCursor{AdmittedSeq: row.AdmittedSeq, Identity: row.Identity}
			seen[row.Identity] = true
			want := patches[row.Identity]
			if want == nil {
				*faults = append(*faults, fmt.Sprintf("state: patch %s has a row and no entry", row.Identity))
				continue
			}
			if got := impliedBy(row.Standing, row); got != want.implied() {
				*faults = append(*faults, fmt.Sprintf("state: patch %s: the row says %+v, the entries say %+v", row.Identity, got, want.implied()))
			}
		}
		if len(rows) < pageMax {
			break
		}
	}
	for id := range patches {
		if !seen[id] {
			*faults = append(*faults, fmt.Sprintf("state: patch %s was admitted and has no row", id))
		}
	}
	return nil
}
