package coordinator

import (
	"context"
	"fmt"
	"slices"

	"patchd/ownership"
	"patchd/worktree"
	"patchd/worktree/git"
)

// contendAt compares the candidates up to one dependency level in pairs of which at least one is of that level, and makes
// those that do not lie apart conflicts that name each other. Nobody wins by anything but a resolution.
func (r *stateRun) contendAt(ctx context.Context, level int) error {
	var ids []Identity
	for _, id := range r.ids() {
		if r.level[id] <= level && r.out[id].candidate() {
			ids = append(ids, id)
		}
	}
	sides := make([]*worktree.Side, len(ids))
	for i, id := range ids {
		sides[i] = r.out[id].Plan.Side
	}
	found := map[Identity][]Reason{}
	for _, pair := range worktree.SharingPairs(sides) {
		a, b := ids[pair[0]], ids[pair[1]]
		if max(r.level[a], r.level[b]) != level || r.related(a, b) {
			continue
		}
		reasons, err := r.engine.contention(ctx, r.in.Target, r.out[a].Plan, r.out[b].Plan, r.between(a, b))
		if err != nil {
			return fmt.Errorf("compare patches %s and %s: %w", a.Short(), b.Short(), err)
		}
		for _, x := range reasons {
			x.With = string(b)
			found[a] = append(found[a], x)
			x.With = string(a)
			found[b] = append(found[b], x)
		}
	}
	return r.settle(ids, found)
}

// related reports whether one of the two depends on the other.
func (r *stateRun) related(a, b Identity) bool {
	return slices.Contains(r.links.closure(a), b) || slices.Contains(r.links.closure(b), a)
}

// between lists the plans that either of two patches depends on, ascending.
func (r *stateRun) between(a, b Identity) []*Plan {
	ids := append(r.links.closure(a), r.links.closure(b)...)
	slices.Sort(ids)
	var out []*Plan
	for _, id := range slices.Compact(ids) {
		out = append(out, r.out[id].Plan)
	}
	return out
}

// settle applies what people resolved and marks the rest. A patch that was chosen over exactly those that it contends with
// goes ahead; a pair that was accepted together does not contend.
func (r *stateRun) settle(ids []Identity, found map[Identity][]Reason) error {
	accepted, err := r.acceptedPairs(ids, found)
	if err != nil {
		return err
	}
	for _, id := range ids {
		reasons := slices.DeleteFunc(slices.Clone(found[id]), func(x Reason) bool { return accepted[pairOf(id, Identity(x.With))] })
		if len(reasons) == 0 {
			continue
		}
		c := contentionCase(id, reasons)
		chosen, err := r.in.Rulings.holds(ActionChoose, id, c)
		if err != nil {
			return err
		}
		j := r.out[id]
		if chosen {
			j.Status.Resolved = append(j.Status.Resolved, c)
			continue
		}
		j.Open = append(j.Open, c)
		slices.SortFunc(reasons, compareReasons)
		j.Status.Contention = slices.CompactFunc(append(j.Status.Contention, reasons...), func(a, b Reason) bool { return compareReasons(a, b) == 0 })
	}
	return nil
}

// acceptedPairs lists the contending pairs that a person accepted together.
func (r *stateRun) acceptedPairs(ids []Identity, found map[Identity][]Reason) (map[[2]Identity]bool, error) {
	out := map[[2]Identity]bool{}
	for _, id := range ids {
		for _, other := range withOf(found[id]) {
			c := pairCase(id, other, found[id])
			holds, err := r.in.Rulings.holds(ActionAccept, id, c)
			if err != nil {
				return nil, err
			}
			if holds && Composable(c.Codes) && !out[pairOf(id, other)] {
				out[pairOf(id, other)] = true
				for _, member := range []Identity{id, other} {
					r.out[member].Status.Resolved = append(r.out[member].Status.Resolved, c)
				}
			}
		}
	}
	return out, nil
}

// Composable reports whether patches that meet for these reasons can be applied at once all the same: their lines lie apart,
// and only what the lines mean is in question. Others can be chosen between, or rebased one onto the other.
func Composable(codes []Code) bool {
	return !slices.ContainsFunc(codes, func(c Code) bool {
		class, err := ClassOf(c)
		return err != nil || class == ClassTextual || c == CodePlacementAmbiguous || c == CodeFileRenamed
	})
}

func pairOf(a, b Identity) [2]Identity { return [2]Identity{min(a, b), max(a, b)} }

// withOf lists the other sides of reasons, ascending.
func withOf(reasons []Reason) []Identity {
	var out []Identity
	for _, x := range reasons {
		out = append(out, Identity(x.With))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// contentionCase is one patch against all that it contends with: what choose binds.
func contentionCase(id Identity, reasons []Reason) Case {
	c := caseOf(id, reasons, nil)
	c.Contenders = withOf(reasons)
	return c
}

// pairCase is two patches that contend with each other: what accept binds. It is the same from both sides.
func pairCase(a, b Identity, reasons []Reason) Case {
	only := slices.DeleteFunc(slices.Clone(reasons), func(x Reason) bool { return Identity(x.With) != b })
	c := caseOf(a, only, nil)
	c.Identities = []Identity{a, b}
	return c
}

// contention compares two candidates in the coordinates of the target composed with all that either depends on. It is
// symmetric. The reasons carry no other side yet.
func (e *Engine) contention(ctx context.Context, target git.OID, p, q *Plan, between []*Plan) ([]Reason, error) {
	if q.Identity() < p.Identity() {
		p, q = q, p
	}
	key := contentionKey{target, p.Decision.PlanDigest, q.Decision.PlanDigest}
	if r, ok := e.cache.contentions.get(key); ok {
		return r, nil
	}
	commit, err := e.repo.ReadCommit(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("read target: %w", err)
	}
	ov := git.NewOverlay(e.repo)
	for _, x := range []*Plan{p, q} {
		for _, o := range x.Objects.Objects() {
			ov.Put(o.Type, o.Data)
		}
	}
	rules := e.rulesOf(commit.Tree, p.Policy)
	g, err := e.groundOn(ctx, ov, commit, between, rules)
	if err != nil {
		return nil, err
	}
	var sides [2]*worktree.Side
	for i, x := range []*Plan{p, q} {
		if sides[i], err = e.carryTo(ctx, ov, x.Side, g.tip.Tree, rules); err != nil {
			return nil, err
		}
	}
	reasons, err := e.compareSides(ctx, ov, sides[0], sides[1], rules, p.Policy)
	if err != nil {
		return nil, err
	}
	e.cache.contentions.put(key, reasons)
	return reasons, nil
}

// compareSides finds what speaks against two sides of one tree going together: lines with git's second opinion, both ways
// round, and symbols.
func (e *Engine) compareSides(ctx context.Context, ov *git.Overlay, left, right *worktree.Side, rules worktree.Rules, policy *Policy) ([]Reason, error) {
	r, err := worktree.RebaseSides(ctx, worktree.SidesInput{Overlay: ov, Merger: e.repo, Patch: left, Target: right, Rules: rules})
	if err != nil {
		return nil, err
	}
	back, err := worktree.RebaseSides(ctx, worktree.SidesInput{Overlay: ov, Merger: e.repo, Patch: right, Target: left, Rules: rules})
	if err != nil {
		return nil, err
	}
	var out []Reason
	for _, x := range append(slices.Clone(r.Reasons), back.Reasons...) {
		class, err := ClassOf(Code(x.Code))
		if err != nil {
			return nil, err
		}
		out = append(out, Reason{Class: class, Code: Code(x.Code), Path: x.Path, BaseLines: lineRange(x.BaseLines)})
	}
	if r.Tree != back.Tree && r.Tree != "" && back.Tree != "" {
		return nil, fmt.Errorf("composing two patches gave trees %s and %s", r.Tree, back.Tree)
	}
	structural, err := e.structuralContention(ctx, ov, left, right, policy)
	if err != nil {
		return nil, err
	}
	out = append(out, structural...)
	slices.SortFunc(out, compareReasons)
	return slices.CompactFunc(out, func(a, b Reason) bool { return compareReasons(a, b) == 0 }), nil
}

func (e *Engine) structuralContention(ctx context.Context, ov *git.Overlay, left, right *worktree.Side, policy *Policy) ([]Reason, error) {
	in := ownership.Input{
		LeftName: "one patch", RightName: "the other", SameSymbol: ownership.SameSymbol(policy.Ownership.SameSymbol), ReviewCoupled: policy.Ownership.Coupled == "review",
	}
	var err error
	if in.Files, err = sharedFiles(ctx, ov, left, right); err != nil || len(in.Files) == 0 {
		return nil, err
	}
	found, err := ownership.Classify(ctx, e.outlines, in)
	if err != nil {
		return nil, fmt.Errorf("compare symbols: %w", err)
	}
	var out []Reason
	for _, x := range found.Reasons {
		class, err := ClassOf(Code(x.Code))
		if err != nil {
			return nil, err
		}
		out = append(out, Reason{Class: class, Code: Code(x.Code), Path: x.Path, Symbol: x.Symbol, BaseLines: lineRange(x.BaseLines)})
	}
	return out, nil
}
