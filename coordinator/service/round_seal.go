package service

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// sealStep fixes the members of a round once everything admitted before its cut has its plan, and its verdicts where plans
// contend: no patch gets in or stays out for how long its own checks take. The set is the one of the cut: what was admitted,
// withdrawn or resolved since then changes nothing of who is chosen, whenever this runs.
func (s *Service) sealStep(ctx context.Context, t *target, r ledger.Round) (bool, error) {
	row, err := s.observe(ctx, t)
	if err != nil {
		return false, err
	}
	if busy, err := s.earlierRounds(ctx, r); err != nil || busy {
		return false, err // what comes of it wakes the round
	}
	pending, err := s.loadSetAt(ctx, t, row, r.CutSeq)
	if err != nil {
		return false, err
	}
	scope := r.Requested
	if len(scope) == 0 {
		scope = slices.Sorted(maps.Keys(pending.patches))
	} else {
		scope = closed(scope, pending)
	}
	if waits := waitsFor(pending, scope); len(waits) > 0 {
		return s.askForWithdrawn(ctx, pending, waits)
	}
	members, refusal := chooseMembers(r, pending, scope)
	if slices.ContainsFunc(members, pending.awaited) {
		return false, nil // or it could land before it is on record why; what records it wakes the round
	}
	return refusal == nil && len(members) > 0, s.inRound(ctx, r, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
		if !sameInputs(*locked, row) {
			return &ledger.StaleError{Target: t.id, MovedWhat: "inputs", Version: locked.Version, Inputs: locked.Inputs, Commit: locked.Commit}
		}
		now.TargetCommit = row.Commit
		if refusal != nil {
			return stopRound(ctx, tx, locked, now, refusal)
		}
		return seal(ctx, tx, locked, now, members)
	})
}

// awaited reports whether the decision of a pending patch is known and about to be recorded.
func (p *set) awaited(id ledger.Identity) bool {
	row, j := p.patches[id], p.states[coordinator.Identity(id)]
	return j != nil && j.Decision != nil && row.Disposition == ledger.Pending && row.NeedsDecision && !givenUp(row)
}

// earlierRounds reports whether a round that was opened before this one is still being worked out. A default seal waits for it:
// else it would depend on the time which patches are known to be blamed. What is sealed by name waits for nobody else.
func (s *Service) earlierRounds(ctx context.Context, r ledger.Round) (bool, error) {
	if len(r.Requested) > 0 {
		return false, nil
	}
	open, err := s.store.OpenRounds(ctx, r.Target)
	return slices.ContainsFunc(open, func(o ledger.Round) bool {
		return o.Number < r.Number && o.Status != ledger.RoundReady && o.Status != ledger.RoundLanding
	}), err
}

// seal records the members of a round. A member that was withdrawn since the cut supersedes the round, as it would have later.
func seal(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round, members []ledger.Identity) error {
	now.Status = ledger.RoundComposing
	if len(members) == 0 {
		now.Status = ledger.RoundEmpty
	}
	gone := false
	for i, id := range members {
		p, err := tx.Patch(ctx, locked.ID, id)
		if err != nil {
			return err
		}
		gone = gone || p.Disposition != ledger.Pending
		now.Members = append(now.Members, ledger.RoundMember{Identity: id, Position: i, Status: "sealed"})
	}
	now.SealedSeq = locked.Version + 1
	err := appendFact(ctx, tx, locked, KindSealed, map[string]any{"round": now.Number, "target": now.TargetCommit, "cut": now.CutSeq, "members": members}, nil)
	if err != nil {
		return err
	}
	if gone {
		return supersede(ctx, tx, locked, now, "a member was withdrawn")
	}
	return tx.SaveRound(ctx, locked, now)
}

// askForWithdrawn runs the checks of patches that were withdrawn since the cut and on whose verdicts it depends who contended
// at the cut: nobody else runs them any more. It reports whether there were any; whatever settles the others wakes the round.
func (s *Service) askForWithdrawn(ctx context.Context, p *set, waits []ledger.Identity) (bool, error) {
	asked := false
	for _, id := range waits {
		j := p.states[coordinator.Identity(id)]
		if j == nil || p.patches[id].Disposition == ledger.Pending {
			continue
		}
		for _, q := range j.Asks {
			if _, err := s.ask(ctx, p.target, j.Plan, q, noteOf(p.patches[id]).RunsAfter); err != nil {
				return false, err
			}
			asked = true
		}
	}
	return asked, nil
}

func closed(ids []ledger.Identity, p *set) []ledger.Identity {
	var chosen []coordinator.Identity
	for _, id := range ids {
		chosen = append(chosen, coordinator.Identity(id))
	}
	var out []ledger.Identity
	for _, id := range coordinator.Closed(chosen, p.states) {
		out = append(out, ledger.Identity(id))
	}
	return out
}

// waitsFor lists what a seal has to wait for: patches without a plan, and patches without verdicts whose plans contend. What was
// given up is not waited for.
func waitsFor(p *set, scope []ledger.Identity) []ledger.Identity {
	var out []ledger.Identity
	for _, id := range scope {
		j := p.states[coordinator.Identity(id)]
		if j == nil {
			continue
		}
		if j.Err != nil && !givenUp(p.patches[id]) {
			out = append(out, id)
		}
		if len(j.Meets) == 0 {
			continue
		}
		for _, x := range append([]coordinator.Identity{coordinator.Identity(id)}, j.Meets...) {
			if j := p.states[x]; j != nil && j.Status.Due && !givenUp(p.patches[ledger.Identity(x)]) {
				out = append(out, ledger.Identity(x))
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// chooseMembers is S': the patches that were asked for, each of which must be ready, or all that are ready. A patch that
// changes what governs the repository is sealed alone.
func chooseMembers(r ledger.Round, p *set, scope []ledger.Identity) ([]ledger.Identity, *coordinator.Refusal) {
	if len(r.Requested) > 0 {
		for _, id := range scope {
			j := p.states[coordinator.Identity(id)]
			if !j.Sealable() {
				return nil, &coordinator.Refusal{Code: notReady(j), Value: string(id), Message: fmt.Sprintf("patch %s is not ready", coordinator.Identity(id).Short()), Hint: "see `patchd show` for why"}
			}
			if j.Plan.Governs() && len(scope) > 1 {
				return nil, &coordinator.Refusal{Code: coordinator.CodeOwnerApproval, Value: string(id), Message: fmt.Sprintf("patch %s changes what governs the repository", coordinator.Identity(id).Short()), Hint: "seal it alone"}
			}
		}
		return scope, nil
	}
	var ready []coordinator.Identity
	for _, id := range coordinator.Sealable(p.states) {
		if slices.Contains(scope, ledger.Identity(id)) {
			ready = append(ready, id)
		}
	}
	var out []ledger.Identity
	limit := p.maxPatches()
	for _, id := range ready {
		whole := closed([]ledger.Identity{ledger.Identity(id)}, p)
		if slices.ContainsFunc(whole, func(dep ledger.Identity) bool { return !slices.Contains(ready, coordinator.Identity(dep)) }) {
			continue
		}
		for _, dep := range whole {
			if !slices.Contains(out, dep) {
				out = append(out, dep)
			}
		}
		if limit > 0 && len(out) >= limit {
			break
		}
	}
	slices.Sort(out)
	return out, nil
}

// maxPatches is the policy's bound on an automatic round's size; 0 is none.
func (p *set) maxPatches() int {
	for _, j := range p.states {
		if j.Plan != nil && j.Plan.Policy != nil {
			return j.Plan.Policy.Rounds.MaxPatches
		}
	}
	return 0
}

// notReady is the code that keeps a patch out of a round.
func notReady(j *coordinator.Judged) coordinator.Code {
	switch {
	case j == nil:
		return coordinator.CodeDependencyUnknown
	case j.Status.Waiting != nil:
		return j.Status.Waiting.Code
	case len(j.Status.Contention) > 0:
		return j.Status.Contention[0].Code
	case len(j.Status.Blame) > 0:
		return j.Status.Blame[0].Code
	case j.Decision != nil && len(j.Decision.Codes()) > 0:
		return j.Decision.Codes()[0]
	}
	return coordinator.CodeBlockedBy
}

// stopRound ends a round without blame.
func stopRound(ctx context.Context, tx *ledger.Tx, row *ledger.Target, r ledger.Round, why *coordinator.Refusal) error {
	r.Status, r.Code = ledger.RoundStopped, string(why.Code)
	if err := saveStory(&r, func(st *story) { st.Message = why.Error() }); err != nil {
		return err
	}
	err := appendFact(ctx, tx, row, KindRoundStopped, map[string]any{"round": r.Number, "code": why.Code, "value": why.Value}, map[string]any{"message": why.Error()})
	if err != nil {
		return err
	}
	return tx.SaveRound(ctx, row, r)
}
