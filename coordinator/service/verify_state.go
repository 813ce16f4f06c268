package service

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// implied is what the entries of a chain say of one patch.
type implied struct {
	standing int
	decision ledger.Digest // of the latest decision
	version  ledger.Seq
}

// verifyState replays the entries of a chain and names every patch whose row says something else than they do, and every
// decision whose digests do not follow from its own record.
func (s *Service) verifyState(ctx context.Context, t *target) ([]string, error) {
	var faults []string
	err := s.store.Snapshot(ctx, func(ctx context.Context, q ledger.Queries) error {
		patches := map[ledger.Identity]*implied{}
		for from := ledger.Seq(1); ; {
			entries, err := q.Entries(ctx, t.id, from, pageMax)
			if err != nil {
				return err
			}
			for _, e := range entries {
				fault, err := follow(patches, e)
				if err != nil {
					return err
				}
				if fault != "" {
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

// follow applies one entry.
func follow(patches map[ledger.Identity]*implied, e ledger.RecordedEntry) (string, error) {
	switch e.Kind {
	case KindAdmitted, KindWithdrawn:
		var body struct {
			Identity ledger.Identity `json:"identity"`
		}
		if err := json.Unmarshal(e.Payload, &body); err != nil {
			return "", fmt.Errorf("read entry %d: %w", e.Seq, err)
		}
		p := patches[body.Identity]
		if p == nil {
			p = &implied{}
			patches[body.Identity] = p
		}
		if e.Kind == KindAdmitted {
			p.standing++
		} else {
			p.standing--
		}
	case KindDecided:
		var d coordinator.Decision
		if err := json.Unmarshal(e.Payload, &d); err != nil {
			return "", fmt.Errorf("read entry %d: %w", e.Seq, err)
		}
		p := patches[ledger.Identity(d.Patch.Identity)]
		if p == nil {
			return fmt.Sprintf("state: entry %d decides patch %s, which no entry admitted", e.Seq, d.Patch.Identity), nil
		}
		p.decision, p.version = ledger.Digest(d.DecisionDigest), e.Seq
		claimed := d.DecisionDigest
		if err := d.SealDecision(); err != nil {
			return "", err
		}
		if d.DecisionDigest != claimed {
			return fmt.Sprintf("state: entry %d claims decision digest %s, its record has %s", e.Seq, claimed, d.DecisionDigest), nil
		}
	}
	return "", nil
}

func compareRows(ctx context.Context, q ledger.Queries, t *target, patches map[ledger.Identity]*implied, faults *[]string) error {
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
			if got := (implied{row.Standing, row.DecisionDigest, row.DecidedVersion}); got != *want {
				*faults = append(*faults, fmt.Sprintf("state: patch %s: the row says %+v, the entries say %+v", row.Identity, got, *want))
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
