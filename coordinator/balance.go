package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
)

// balanced is who stands and who contends in a whole set.
type balanced struct {
	standing map[Identity]bool // as stand gives it
	settled  *settlement
}

// encounters are the pairs that do not lie apart, the smaller identity first.
type encounters map[[2]Identity]*encounter

// balance finds who contends. Contention and standing lean on each other: a patch whose dependency contends is compared with
// nobody, and so frees what it would have met. So both are worked out in turn, from nobody contending on: each step sees one
// set for all patches, and no step knows an order. Mostly this comes to rest. Where it goes round instead, as when each of two
// patches would have to contend for the other to be free, nobody is preferred: all that meet anywhere on the way round contend.
func (r *stateRun) balance(ctx context.Context) (*balanced, error) {
	contended := map[Identity]bool{}
	var past []encounters
	var seen []map[Identity]bool
	for {
		standing, found, err := r.step(ctx, contended)
		if err != nil {
			return nil, err
		}
		s, err := r.settle(ctx, found)
		if err != nil {
			return nil, err
		}
		next := s.contended()
		if maps.Equal(next, contended) || r.links.flat() { // where nothing builds on anything, the first answer is the last
			return &balanced{standing, s}, nil
		}
		seen, past = append(seen, contended), append(past, found)
		i := slices.IndexFunc(seen, func(m map[Identity]bool) bool { return maps.Equal(m, next) })
		if i >= 0 || len(seen) > 2*len(r.order)+2 {
			return r.widen(ctx, past[max(i, 0):])
		}
		contended = next
	}
}

// widen settles a set that does not come to rest: all pairs of the circle contend, and so does what meets on top of that.
func (r *stateRun) widen(ctx context.Context, circle []encounters) (*balanced, error) {
	all := encounters{}
	for _, found := range circle {
		maps.Copy(all, found)
	}
	for {
		s, err := r.settle(ctx, all)
		if err != nil {
			return nil, err
		}
		standing, found, err := r.step(ctx, s.contended())
		if err != nil {
			return nil, err
		}
		before := len(all)
		maps.Copy(all, found)
		if len(all) == before {
			return &balanced{standing, s}, nil
		}
	}
}

// step gives who stands while some patches contend, and which of those whose verdicts are in meet.
func (r *stateRun) step(ctx context.Context, contended map[Identity]bool) (map[Identity]bool, encounters, error) {
	standing, err := r.stand(ctx, contended)
	if err != nil {
		return nil, nil, err
	}
	firm := maps.Clone(standing)
	maps.DeleteFunc(firm, func(_ Identity, ok bool) bool { return !ok })
	found, err := r.meetings(ctx, firm)
	return standing, found, err
}

// meetings compares, in pairs, patches that stand and do not depend on each other.
func (r *stateRun) meetings(ctx context.Context, standing map[Identity]bool) (encounters, error) {
	ids := slices.Sorted(maps.Keys(standing))
	plans := make([]*Plan, len(ids))
	for i, id := range ids {
		plans[i] = r.judged[id].plan
	}
	var pairs [][2]Identity
	for _, p := range nearPairs(plans) {
		if pair := pairOf(ids[p[0]], ids[p[1]]); !r.links.related(pair[0], pair[1]) {
			pairs = append(pairs, pair)
		}
	}
	if err := r.compare(ctx, pairs); err != nil {
		return nil, err
	}
	out := encounters{}
	for _, pair := range pairs {
		if e := r.met[pair]; len(e.reasons) > 0 {
			out[pair] = e
		}
	}
	return out, nil
}

// compare fills in what is not known of pairs.
func (r *stateRun) compare(ctx context.Context, pairs [][2]Identity) error {
	fresh := slices.DeleteFunc(slices.Clone(pairs), func(p [2]Identity) bool { return r.met[p] != nil })
	ask := make([]planPair, len(fresh))
	for i, pair := range fresh {
		ask[i] = planPair{p: r.judged[pair[0]].plan, q: r.judged[pair[1]].plan, between: r.between(pair[0], pair[1])}
	}
	found, err := r.engine.contend(ctx, r.in.Target, ask)
	if err != nil {
		return err
	}
	for i, pair := range fresh {
		r.met[pair] = found[i]
	}
	return nil
}

// between lists the plans that either of two patches depends on, ascending.
func (r *stateRun) between(a, b Identity) []*Plan {
	ids := slices.Concat(r.links.closure(a), r.links.closure(b))
	slices.Sort(ids)
	var out []*Plan
	for _, id := range slices.Compact(ids) {
		out = append(out, r.judged[id].plan)
	}
	return out
}

// conclude writes down what the set makes of every patch.
func (r *stateRun) conclude(ctx context.Context, b *balanced) error {
	contended := b.settled.contended()
	for _, id := range r.ids {
		j := r.out[id]
		switch by, gone := r.links.successor(id); {
		case j.rejected():
			var err error
			if j.Decision, _, err = Conclude(j.Plan, nil); err != nil {
				return err
			}
		case gone:
			j.Status.SupersededBy, j.Plan = by, nil
		case j.Err != nil:
			j.Plan = nil
		case r.links.refused[id] != nil:
			if err := r.holdBack(id, r.links.refused[id]); err != nil {
				return err
			}
		default:
			if err := r.place(id, b, r.held(id, b.standing, contended)); err != nil {
				return err
			}
		}
	}
	return r.foresee(ctx, b)
}

// place publishes a patch of the set: blocked, or as D has it and as it meets the others.
func (r *stateRun) place(id Identity, b *balanced, held []Identity) error {
	j := r.out[id]
	j.Status.Contention, j.Status.Resolved = b.settled.reasons[id], b.settled.resolved[id]
	j.Open, j.Together = b.settled.open[id], b.settled.together[id]
	if len(held) > 0 {
		j.Status.BlockedBy = held
		return r.holdBack(id, &Refusal{
			Code: CodeBlockedBy, Value: string(held[0]), Message: fmt.Sprintf("dependency %s is no candidate", held[0].Short()), Hint: "resolve or withdraw it",
		})
	}
	own := r.judged[id]
	if own == nil {
		j.Plan, j.Err = nil, fmt.Errorf("compose the dependencies of patch %s: %w", id.Short(), &NotComposableError{})
		return nil
	}
	j.Plan, j.Decision, j.Asks = own.plan, own.decision, own.asks
	for _, dep := range r.links.depends[id] {
		if !b.standing[dep] {
			j.Decision = nil
		}
	}
	j.Status.Due = j.Decision == nil
	if j.sound = own.clean(); j.sound {
		j.Status.Blame = r.blamed[id]
	}
	return nil
}

// holdBack makes a patch wait for the set: its record says for what.
func (r *stateRun) holdBack(id Identity, refusal *Refusal) error {
	j := r.out[id]
	j.Status.Waiting, j.Plan = refusal, nil
	d := newRecord(r.members[id].Submission, r.in.Target)
	d.wait(refusal)
	if err := d.sealPlan(); err != nil {
		return err
	}
	j.Decision = &d
	return d.SealDecision()
}

// foresee tells of patches whose verdicts are not in whom they would contend with.
func (r *stateRun) foresee(ctx context.Context, b *balanced) error {
	found, err := r.meetings(ctx, b.standing)
	if err != nil {
		return err
	}
	for pair := range found {
		if b.standing[pair[0]] && b.standing[pair[1]] || b.settled.accepted[pair] {
			continue
		}
		for i, id := range pair {
			r.out[id].Meets = append(r.out[id].Meets, pair[1-i])
		}
	}
	for _, j := range r.out {
		slices.Sort(j.Meets)
	}
	r.couple(b)
	return nil
}

// couple tells patches that stand whose edits theirs can reach: evidence, and a hint for the search for failing subsets.
func (r *stateRun) couple(b *balanced) {
	for pair, e := range r.met {
		_, first := b.standing[pair[0]]
		_, second := b.standing[pair[1]]
		if !first || !second {
			continue
		}
		for i, id := range pair {
			for _, c := range e.coupled {
				c.With = string(pair[1-i])
				r.out[id].Status.Coupled = append(r.out[id].Status.Coupled, c)
			}
		}
	}
	for _, j := range r.out {
		slices.SortFunc(j.Status.Coupled, compareCouplings)
	}
}

func compareCouplings(a, b Coupling) int {
	return cmp.Or(cmp.Compare(a.With, b.With), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Symbol, b.Symbol), compareRanges(a.BaseLines, b.BaseLines))
}
