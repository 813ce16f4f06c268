package diff

import "sort"

// The fallback for regions that the histogram cannot decide: common ends are set aside; a shortest edit script
// (Myers 1986) is taken when it needs at most maxScript edits; otherwise the region is split at the longest
// increasing sequence of lines that are unique on both sides (patience); what has neither is one replacement.

const (
	// maxScript is the longest edit script that the greedy search looks for.
	maxScript = 256
	// maxSplits bounds how often one region is split at unique lines.
	maxSplits = 24
)

// fallBack decides one region without the histogram.
func (d *differ) fallBack(r region) {
	for r.a0 < r.a1 && r.b0 < r.b1 && d.a[r.a0] == d.b[r.b0] {
		r.a0, r.b0 = r.a0+1, r.b0+1
	}
	for r.a0 < r.a1 && r.b0 < r.b1 && d.a[r.a1-1] == d.b[r.b1-1] {
		r.a1, r.b1 = r.a1-1, r.b1-1
	}
	if r.a0 == r.a1 || r.b0 == r.b1 || r.depth > maxSplits {
		d.mark(r)
		return
	}
	if d.shortest(r) {
		return
	}
	pairs := d.uniquePairs(r)
	if len(pairs) == 0 {
		d.mark(r)
		return
	}
	a, b := r.a0, r.b0
	for _, p := range pairs {
		d.stack = append(d.stack, region{a, p.a, b, p.b, r.depth + 1, true})
		a, b = p.a+1, p.b+1
	}
	d.stack = append(d.stack, region{a, r.a1, b, r.b1, r.depth + 1, true})
}

// shortest marks a shortest edit script of at most maxScript edits, or reports that there is none.
func (d *differ) shortest(r region) bool {
	a, b := d.a[r.a0:r.a1], d.b[r.b0:r.b1]
	if gap := len(a) - len(b); gap > maxScript || -gap > maxScript {
		return false
	}
	const zero = maxScript + 1
	reach := make([]int, 2*zero+1)
	var trace [][]int // trace[n]: what reach held on the diagonals [-n, n] before step n
	for n := 0; n <= maxScript; n++ {
		trace = append(trace, append([]int(nil), reach[zero-n:zero+n+1]...))
		for k := -n; k <= n; k += 2 {
			x := reach[zero+k-1] + 1
			if k == -n || k != n && reach[zero+k-1] < reach[zero+k+1] {
				x = reach[zero+k+1]
			}
			for x < len(a) && x-k < len(b) && x-k >= 0 && a[x] == b[x-k] {
				x++
			}
			reach[zero+k] = x
			if x >= len(a) && x-k >= len(b) {
				d.backtrack(r, trace, n)
				return true
			}
		}
	}
	return false
}

// backtrack walks the recorded steps from the end and marks the lines that the script deletes and inserts.
func (d *differ) backtrack(r region, trace [][]int, n int) {
	x, y := r.a1-r.a0, r.b1-r.b0
	for ; n > 0; n-- {
		// Before step n only the diagonals of step n-1 were set: index k+n of trace[n].
		at := func(k int) int { return trace[n][k+n] }
		k := x - y
		prev := k - 1
		if k == -n || k != n && at(k-1) < at(k+1) {
			prev = k + 1
		}
		px := at(prev)
		if prev == k+1 {
			d.changedB[r.b0+px-prev] = true
		} else {
			d.changedA[r.a0+px] = true
		}
		x, y = px, px-prev
	}
}

// pair is a base line and a result line taken as the same line.
type pair struct{ a, b int }

// uniquePairs gives the longest sequence, ascending on both sides, of lines that occur once on each side.
func (d *differ) uniquePairs(r region) []pair {
	seen := map[int32]*[4]int{} // count and position in a, count and position in b
	for i := r.a0; i < r.a1; i++ {
		s := seen[d.a[i]]
		if s == nil {
			s = new([4]int)
			seen[d.a[i]] = s
		}
		s[0]++
		s[1] = i
	}
	for i := r.b0; i < r.b1; i++ {
		if s := seen[d.b[i]]; s != nil {
			s[2]++
			s[3] = i
		}
	}
	var pairs []pair
	for i := r.a0; i < r.a1; i++ {
		if s := seen[d.a[i]]; s[0] == 1 && s[2] == 1 {
			pairs = append(pairs, pair{i, s[3]})
		}
	}
	return increasing(pairs)
}

// increasing gives the longest subsequence of pairs (sorted by a) whose b also rises.
func increasing(pairs []pair) []pair {
	tails := make([]int, 0, len(pairs)) // index of the pair that ends the best sequence of each length
	before := make([]int, len(pairs))
	for i, p := range pairs {
		n := sort.Search(len(tails), func(j int) bool { return pairs[tails[j]].b >= p.b })
		before[i] = -1
		if n > 0 {
			before[i] = tails[n-1]
		}
		if n == len(tails) {
			tails = append(tails, i)
		} else {
			tails[n] = i
		}
	}
	if len(tails) == 0 {
		return nil
	}
	out := make([]pair, len(tails))
	for i, at := len(tails)-1, tails[len(tails)-1]; i >= 0; i, at = i-1, before[at] {
		out[i] = pairs[at]
	}
	return out
}
