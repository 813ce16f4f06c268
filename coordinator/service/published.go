package service

import (
	"encoding/json"
	"fmt"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// publishedOf is a row's published status as it was recorded last; one that says nothing where none was yet.
func publishedOf(row ledger.Patch) (*coordinator.PatchStatus, error) {
	st := &coordinator.PatchStatus{}
	raw := noteOf(row).Status
	if raw == nil {
		return st, nil
	}
	if err := json.Unmarshal(raw, st); err != nil {
		return nil, fmt.Errorf("read published status of patch %s: %w", row.Identity, err)
	}
	return st, nil
}

// publish writes what the set makes of a patch over what its own decision says: outcome, class and codes are those of the
// two together.
func (p *Patch) publish(row ledger.Patch) error {
	if row.Disposition != ledger.Pending || givenUp(row) {
		return nil
	}
	st, err := publishedOf(row)
	if err == nil {
		p.take(st)
	}
	return err
}

func (p *Patch) take(st *coordinator.PatchStatus) {
	p.Due, p.Contention, p.Blame, p.BlockedBy = st.Due, st.Contention, st.Blame, st.BlockedBy
	p.Superseded, p.Resolved = st.SupersededBy, st.Resolved
	reasons := slices.Concat(st.Contention, st.Blame)
	switch {
	case st.Waiting != nil:
		p.Outcome, p.Class, p.Codes = coordinator.OutcomeWaiting, "", []coordinator.Code{st.Waiting.Code}
		return
	case len(reasons) == 0:
		return
	}
	if p.Decision != nil && p.Decision.Conflict != nil {
		reasons = append(reasons, p.Decision.Conflict.Reasons...)
	}
	p.Outcome, p.Class, p.Codes = coordinator.OutcomeConflict, classOf(reasons), codesOf(reasons)
}

// classOf is the first class that has a reason.
func classOf(reasons []coordinator.Reason) coordinator.Class {
	for _, class := range []coordinator.Class{coordinator.ClassTextual, coordinator.ClassStructural, coordinator.ClassBehavioral} {
		if slices.ContainsFunc(reasons, func(r coordinator.Reason) bool { return r.Class == class }) {
			return class
		}
	}
	return ""
}

func codesOf(reasons []coordinator.Reason) []coordinator.Code {
	out := make([]coordinator.Code, 0, len(reasons))
	for _, r := range reasons {
		out = append(out, r.Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
