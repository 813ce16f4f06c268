package diff

// The histogram diff (as described for JGit and git's --histogram): the region's lines of the base are counted;
// among the runs of lines that both sides have, the one whose rarest line is rarest in the base, then the
// longest, then the first found, is taken as common; what lies before and after is treated the same way.
// Where every common line occurs more than maxOccurrences times, and where the work bound is reached, the
// fallback of fallback.go takes the region.

const (
	// maxOccurrences is how often a base line may occur in a region and still anchor a run.
	maxOccurrences = 64
	// workBase and workPerLine bound the steps of one histogram diff; past the bound regions go to the fallback.
	workBase, workPerLine = 1 << 23, 64
)

// region is a part of both sequences that is still to be compared: [a0, a1) of the base, [b0, b1) of the result.
type region struct {
	a0, a1, b0, b1 int
	depth          int // how often the fallback has split it
	fallback       bool
}

// differ compares two sequences of interned lines and marks what has changed.
type differ struct {
	a, b               []int32
	changedA, changedB []bool
	first, count       []int32 // per line id: first position in the base's region, and occurrences there
	next               []int32 // per base position: next position of the same line in the region, or -1
	work               int
	stack              []region
}

// newDiffer prepares the comparison of a and b, whose ids are below ids.
func newDiffer(a, b []int32, ids int) *differ {
	return &differ{
		a: a, b: b,
		changedA: make([]bool, len(a)), changedB: make([]bool, len(b)),
		first: make([]int32, ids), count: make([]int32, ids), next: make([]int32, len(a)),
		work: workBase + workPerLine*(len(a)+len(b)),
	}
}

// run marks the changed lines of both sequences.
func (d *differ) run() {
	d.stack = append(d.stack, region{a1: len(d.a), b1: len(d.b)})
	for len(d.stack) > 0 {
		r := d.stack[len(d.stack)-1]
		d.stack = d.stack[:len(d.stack)-1]
		switch {
		case r.a0 == r.a1 || r.b0 == r.b1:
			d.mark(r)
		case r.fallback || d.work <= 0:
			d.fallBack(r)
		default:
			d.split(r)
		}
	}
}

// mark declares the whole region changed.
func (d *differ) mark(r region) {
	for i := r.a0; i < r.a1; i++ {
		d.changedA[i] = true
	}
	for i := r.b0; i < r.b1; i++ {
		d.changedB[i] = true
	}
}

// split finds the region's best common run and pushes what lies before and after it.
func (d *differ) split(r region) {
	d.index(r)
	best, common := d.longestRare(r)
	d.unindex(r)
	switch {
	case common && best.rarest > maxOccurrences:
		r.fallback = true
		d.stack = append(d.stack, r)
	case best.length == 0:
		d.mark(r)
	default:
		d.stack = append(d.stack,
			region{a0: best.a + best.length, a1: r.a1, b0: best.b + best.length, b1: r.b1},
			region{a0: r.a0, a1: best.a, b0: r.b0, b1: best.b})
	}
}

// index counts the region's base lines and links equal ones in ascending order.
func (d *differ) index(r region) {
	for i := r.a1 - 1; i >= r.a0; i-- {
		id := d.a[i]
		d.next[i] = -1
		if d.count[id] > 0 {
			d.next[i] = d.first[id]
		}
		d.first[id] = int32(i) //nolint:gosec // a file has fewer than 2^31 lines: its bytes are bounded
		d.count[id]++
	}
	d.work -= r.a1 - r.a0
}

// unindex clears the counts for the next region.
func (d *differ) unindex(r region) {
	for _, id := range d.a[r.a0:r.a1] {
		d.count[id] = 0
	}
}

// commonRun is a common run: where it starts on either side, how long it is, and how often its rarest line occurs.
type commonRun struct {
	a, b, length int
	rarest       int32
}

// longestRare scans the result's lines for the best common run; common says whether the sides share any line.
func (d *differ) longestRare(r region) (best commonRun, common bool) {
	best.rarest = maxOccurrences + 1
	for b := r.b0; b < r.b1; {
		id := d.b[b]
		d.work--
		if d.count[id] == 0 {
			b++
			continue
		}
		common = true
		if d.count[id] > best.rarest {
			b++
			continue
		}
		b = d.runsAt(r, b, &best)
	}
	return best, common
}

// runsAt tries every base occurrence of the result's line b, keeps the best run and gives the first result line
// that none of the runs covers.
func (d *differ) runsAt(r region, b int, best *commonRun) int {
	after := b + 1
	id := d.b[b]
	for at := int(d.first[id]); at >= 0; {
		got, end := d.extend(r, at, b)
		after = max(after, got.b+got.length)
		if best.length < got.length && (best.length > 0 || got.length > 1) || got.rarest < best.rarest {
			*best = got
		}
		at = int(d.next[at])
		for at >= 0 && at < end {
			at = int(d.next[at])
		}
		if d.work <= 0 {
			break
		}
	}
	return after
}

// extend grows the match of base line a and result line b in both directions; end is the base line after it.
func (d *differ) extend(r region, a, b int) (got commonRun, end int) {
	rarest := d.count[d.a[a]]
	as, bs, ae, be := a, b, a+1, b+1
	for as > r.a0 && bs > r.b0 && d.a[as-1] == d.b[bs-1] {
		as, bs = as-1, bs-1
		rarest = min(rarest, d.count[d.a[as]])
	}
	for ae < r.a1 && be < r.b1 && d.a[ae] == d.b[be] {
		rarest = min(rarest, d.count[d.a[ae]])
		ae, be = ae+1, be+1
	}
	d.work -= ae - as
	return commonRun{a: as, b: bs, length: ae - as, rarest: rarest}, ae
}
