package coordinator

import "slices"

// shrink finds a minimal failing set within the failing closed set x, which contains none that is known. It lines x up so that
// each prefix is closed and finds by binary search the shortest prefix that still fails: its last member is in every
// failing set within the prefix. That member and what it depends on join the base, and the search goes on before it
// until the base alone fails.
func (t *trace) shrink(x memberSet) bool {
	l := t.lattice
	t.spent = 0
	base := newMemberSet(len(l.ids))
	order, hint := t.lineUp(x)
	for {
		fails, ok := t.fails(base)
		if !ok {
			return false
		}
		if fails || len(order) == 0 {
			return t.claim(base)
		}
		at, ok := t.shortestFailing(base, order, hint)
		if !ok {
			return false
		}
		hint = 0 // a guess is good for one search
		base = base.union(l.down[order[at]])
		rest := make([]int, 0, at)
		for _, i := range order[:at] {
			if !base.has(i) {
				rest = append(rest, i)
			}
		}
		order = rest
	}
}

// shortestFailing gives the place of the member with which base and a prefix of order begin to fail. The base alone passes,
// with all of order it fails. The first cut is after hint members where that is inside, else in the middle.
func (t *trace) shortestFailing(base memberSet, order []int, hint int) (at int, ok bool) {
	passing, failing := 0, len(order)
	for failing-passing > 1 {
		mid := (passing + failing) / 2
		if passing < hint && hint < mid {
			mid = hint
		}
		prefix := newMemberSet(len(t.lattice.ids))
		for _, i := range order[:mid] {
			prefix.add(i)
		}
		fails, ok := t.fails(base.union(prefix))
		if !ok {
			return 0, false
		}
		if fails {
			failing = mid
		} else {
			passing = mid
		}
	}
	return failing - 1, true
}

// lineUp orders a failing set for shrinking: suspected members first, since a short prefix that fails ends the search
// soon, and within each part those that require the command last, since prefixes without them need no run. It says how
// many the suspected ones are.
func (t *trace) lineUp(x memberSet) (order []int, suspected int) {
	suspects := newMemberSet(len(t.lattice.ids))
	for _, pair := range t.suspects {
		if pair.within(x) {
			suspects = suspects.union(pair)
		}
	}
	rank := func(i int) int {
		r := 0
		if !suspects.has(i) {
			r = 2
		}
		if t.command.requires.has(i) {
			r++
		}
		return r
	}
	return t.lattice.lineUp(x, rank), suspects.size()
}

// claim runs a minimal failing set and each of its immediate closed subsets, as far as that was not done, and books it.
func (t *trace) claim(g memberSet) bool {
	tops := t.lattice.maximal(g)
	batch := []memberSet{g}
	for i := range tops.all() {
		without := newMemberSet(len(t.lattice.ids))
		without.add(i)
		batch = append(batch, g.minus(without))
	}
	if !t.buy(batch...) {
		return false
	}
	t.paid += max(t.setPrice(tops.size()), 1+t.spent)
	t.spent = 0
	t.found, t.tops = append(t.found, g), append(t.tops, tops)
	return true
}

// prober runs largest closed sets that contain no known minimal failing set, until one fails or none is left. Batches grow with
// success: one set, and after each batch that passes as many more as passed; so of the runs that turn out not to be needed
// there are never more than passing ones.
type prober struct {
	*trace
	batch   []memberSet
	size    int
	failing []memberSet
	ok      bool
}

// probe gives the failing sets of the first batch that has any, or none when all that is not known to fail passes.
func (t *trace) probe() (failing []memberSet, ok bool) {
	p := &prober{trace: t, size: 1, ok: true}
	none := newMemberSet(len(t.lattice.ids))
	if p.walk(none, none) {
		p.flush()
	}
	return p.failing, p.ok
}

// walk visits the ways to leave out a member of each known minimal failing set: out is left out with all that depends on
// it, in is kept with all that it depends on. It returns false to end the walk.
func (p *prober) walk(out, in memberSet) bool {
	if p.covered(out) {
		return true
	}
	options, hit := p.choices(out, in)
	if hit {
		p.batch = append(p.batch, p.grow(p.lattice.every.minus(out)))
		return len(p.batch) < p.size || p.flush()
	}
	for i := range options.all() {
		if !p.walk(out.union(p.lattice.up[i]), in) {
			return false
		}
		in = in.union(p.lattice.down[i])
	}
	return true
}

// covered reports whether all that is not left out lies within a set that passes or is about to be run.
func (p *prober) covered(out memberSet) bool {
	rest := p.lattice.every.minus(out)
	return slices.ContainsFunc(p.clear, rest.within) || slices.ContainsFunc(p.batch, rest.within)
}

// choices gives the members of which one must be left out next: those of the known set with the fewest. hit says that
// of each known set one is left out already.
func (p *prober) choices(out, in memberSet) (options memberSet, hit bool) {
	for k, g := range p.found {
		if g.meets(out) {
			continue
		}
		if o := p.tops[k].minus(in); options == nil || o.size() < options.size() {
			options = o
		}
	}
	return options, options == nil
}

// grow adds to a closed set, dependencies first, every member with which it still contains no known failing set.
func (p *prober) grow(x memberSet) memberSet {
	for _, i := range p.lattice.lineUp(p.lattice.every.minus(x), func(int) int { return 0 }) {
		more := newMemberSet(len(p.lattice.ids))
		more.add(i)
		more = more.union(x)
		if p.lattice.down[i].within(more) && !p.holdsFound(more) {
			x = more
		}
	}
	return x
}

// flush asks the batch and books what passes; it returns false when the walk is over.
func (p *prober) flush() bool {
	if !p.ask(p.paid+1, p.batch...) {
		p.ok = false
		return false
	}
	for _, x := range p.batch {
		switch {
		case !p.applies(x):
			p.clear = append(p.clear, x)
		case p.asked[x.key()]:
			p.failing = append(p.failing, x)
		default:
			p.clear = append(p.clear, x)
			p.paid += 2
			p.size++
		}
	}
	p.batch = nil
	return len(p.failing) == 0
}
