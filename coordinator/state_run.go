package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"patchd/worktree/git"
)

// stateRun is one computation of a state.
type stateRun struct {
	engine   *Engine
	in       Inputs
	members  map[Identity]Member
	ids      []Identity // all members, ascending
	reverted map[Identity][]git.OID
	landed   map[Identity]bool
	bases    map[Identity][]git.OID
	links    *links
	order    []Identity // what is in the set, dependencies first
	judged   map[Identity]*judgement
	blamed   map[Identity][]Reason
	met      map[[2]Identity]*encounter
	out      States
}

// judgement is what D makes of one patch on the target composed with its dependency closure.
type judgement struct {
	plan     *Plan
	decision *Decision // nil while a verdict is missing
	asks     []Question
}

// clean reports whether the plan is a candidate against which no verdict speaks.
func (j *judgement) clean() bool {
	return j.plan.Decision.Outcome == OutcomeCandidate && (j.decision == nil || j.decision.Outcome == OutcomeCandidate)
}

func newStateRun(e *Engine, in Inputs) *stateRun {
	r := &stateRun{
		engine: e, in: in, out: States{}, members: map[Identity]Member{}, reverted: map[Identity][]git.OID{}, landed: map[Identity]bool{},
		bases: map[Identity][]git.OID{}, judged: map[Identity]*judgement{}, blamed: map[Identity][]Reason{}, met: map[[2]Identity]*encounter{},
	}
	for _, m := range in.Members {
		id := m.Identity()
		if known, ok := r.members[id]; ok {
			m = Member{Submission: known.Submission, Labels: slices.Concat(known.Labels, m.Labels)}
		}
		r.members[id] = m
	}
	r.ids = slices.Sorted(maps.Keys(r.members))
	for _, l := range in.Landings {
		if l.Counts {
			r.landed[l.Identity] = true
		} else {
			r.reverted[l.Identity] = append(r.reverted[l.Identity], git.OID(l.Commit))
		}
	}
	return r
}

// prepare decides every member by itself first, so that it is known which are rejected, then looks up how they refer to
// each other.
func (r *stateRun) prepare(ctx context.Context) error {
	for _, id := range r.ids {
		r.out[id] = &Judged{Status: &PatchStatus{Identity: id}}
	}
	implicit, err := r.impliedByBases(ctx)
	if err != nil {
		return err
	}
	if err := r.planAlone(ctx); err != nil {
		return err
	}
	list := make([]Member, 0, len(r.members))
	for _, id := range r.ids {
		if !r.out[id].rejected() { // what is rejected is not in S
			list = append(list, r.members[id])
		}
	}
	r.links = linkSet(list, r.in.Landings, implicit, func(id Identity, name string) bool { return r.carried(ctx, id, name) })
	for _, m := range list {
		if _, gone := r.links.successor(m.Identity()); !gone && r.out[m.Identity()].Err == nil {
			r.order = append(r.order, m.Identity())
		}
	}
	slices.SortStableFunc(r.order, func(a, b Identity) int { return r.links.depths[a] - r.links.depths[b] })
	r.blameAll()
	return nil
}

// planAlone plans every member without its dependencies. Git is asked about all of them together.
func (r *stateRun) planAlone(ctx context.Context) error {
	asked := newOpinions(r.engine.repo)
	todo := slices.DeleteFunc(slices.Clone(r.ids), func(id Identity) bool { return r.out[id].Err != nil })
	for {
		err := eachOf(ctx, len(todo), func(ctx context.Context, i int) error {
			j, around := r.out[todo[i]], r.circumstances(todo[i], nil)
			around.merger = asked
			j.Plan, j.Err = r.engine.planCached(ctx, r.in.Target, r.members[todo[i]].Submission, around)
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		if todo = slices.DeleteFunc(todo, func(id Identity) bool { return !errors.Is(r.out[id].Err, errAsked) }); len(todo) == 0 {
			return nil
		}
		if err := asked.answer(ctx, r.engine.repo); err != nil {
			return err
		}
	}
}

// carried reports whether a commit of the target since the member's base carries a patch: it has landed, if not through here.
func (r *stateRun) carried(ctx context.Context, id Identity, name string) bool {
	if !Digest(name).Valid() {
		return false
	}
	t, err := r.engine.cache.trailers(ctx, r.engine.repo, r.members[id].Submission.Manifest.BaseCommit, r.in.Target)
	return err == nil && len(t.landings[Identity(name)]) > 0
}

func (r *stateRun) circumstances(id Identity, under []*Plan) Circumstances {
	c := Circumstances{Under: under, InSet: true, Rulings: r.in.Rulings, Bases: r.bases[id]}
	if !r.landed[id] {
		c.Reverted = r.reverted[id]
	}
	return c
}

// judge works out D of a patch on its dependency closure, whose plans must compose. It is worked out once.
func (r *stateRun) judge(ctx context.Context, id Identity) (*judgement, error) {
	if j, ok := r.judged[id]; ok {
		return j, nil
	}
	j := &judgement{plan: r.out[id].Plan}
	if closure := r.links.closure(id); len(closure) > 0 {
		under := make([]*Plan, len(closure))
		for i, dep := range closure {
			under[i] = r.judged[dep].plan
		}
		var err error
		if j.plan, err = r.engine.planCached(ctx, r.in.Target, r.members[id].Submission, r.circumstances(id, under)); err != nil {
			return nil, err
		}
	}
	known := Verdicts{}
	if r.in.Verdicts != nil {
		var err error
		if known, err = r.in.Verdicts(ctx, j.plan); err != nil {
			return nil, fmt.Errorf("look up verdicts: %w", err)
		}
	}
	var err error
	if j.decision, j.asks, err = Conclude(j.plan, known); err != nil {
		return nil, err
	}
	r.judged[id] = j
	return j, nil
}

// stand finds who is a candidate while the given patches contend: those with a clean plan on dependencies that stand, do not
// contend and are not blamed. The value says whether all verdicts are in, of the patch and of what it depends on.
func (r *stateRun) stand(ctx context.Context, contended map[Identity]bool) (map[Identity]bool, error) {
	standing := map[Identity]bool{}
	for _, id := range r.order {
		if r.links.refused[id] != nil || len(r.held(id, standing, contended)) > 0 {
			continue
		}
		j, err := r.judge(ctx, id)
		var apart *NotComposableError
		switch {
		case errors.As(err, &apart): // two of its dependencies contend, which will show
			continue
		case err != nil && ctx.Err() != nil:
			return nil, err
		case err != nil:
			r.out[id].Err = err
			continue
		}
		if !j.clean() {
			continue
		}
		firm := j.decision != nil
		for _, dep := range r.links.depends[id] {
			firm = firm && standing[dep]
		}
		standing[id] = firm
	}
	return standing, nil
}

// held lists the members of a patch's closure on which nobody can build, ascending.
func (r *stateRun) held(id Identity, standing, contended map[Identity]bool) []Identity {
	var out []Identity
	for _, dep := range r.links.closure(id) {
		if _, ok := standing[dep]; !ok || contended[dep] || len(r.blamed[dep]) > 0 {
			out = append(out, dep)
		}
	}
	return out
}

// blameAll collects what rounds at this target found against patches: it counts while everybody concerned is in the set.
func (r *stateRun) blameAll() {
	in := map[Identity]bool{}
	for _, id := range r.order {
		in[id] = true
	}
	for _, b := range r.in.Blames {
		if b.Target != r.in.Target || !in[b.Identity] || slices.ContainsFunc(b.Subset, func(m Identity) bool { return !in[m] }) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(b.Subset), func(m Identity) bool { return m == b.Identity })
		if len(others) == 0 {
			others = []Identity{""}
		}
		for _, other := range others {
			r.blamed[b.Identity] = append(r.blamed[b.Identity], Reason{Class: ClassBehavioral, Code: b.Code, Command: b.Command, With: string(other)})
		}
	}
	for id := range r.blamed {
		r.blamed[id] = sortedReasons(r.blamed[id])
	}
}

// sortedReasons sorts and drops repeats.
func sortedReasons(list []Reason) []Reason {
	slices.SortFunc(list, compareReasons)
	return slices.CompactFunc(list, func(a, b Reason) bool { return compareReasons(a, b) == 0 })
}
