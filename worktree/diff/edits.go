package diff

import "slices"

// Edits is the pinned line diff: the edits that turn base into result, sorted, with at least one unchanged base
// line between any two. It is deterministic and follows git's --histogram (see histogram.go), with slides at
// their canonical position (see compact.go). Its work is bounded for every input; where the bound is reached
// the edits are larger than needed, and still exact. The edits' lines alias result.
func Edits(base, result [][]byte) []Edit {
	if EqualLines(base, result) {
		return nil
	}
	a, b, ids := intern(base, result)
	d := newDiffer(a, b, ids)
	d.run()
	m := align(a, b, d.changedA, d.changedB)
	m.compact()
	return lower(base, m.edits(result))
}

// Canonical gives edits (sorted, not overlapping) in the form that Edits gives: edits that abut are joined, those
// that change nothing dropped, insertions and deletions moved down as far as they slide. Edits that replace stay
// where they are, and so does what they replace: an alignment that is known is not given up for another one.
func Canonical(base [][]byte, edits []Edit) []Edit {
	var joined []Edit
	for _, e := range edits {
		if EqualLines(base[e.Start:e.End], e.New) {
			continue
		}
		if n := len(joined) - 1; n >= 0 && joined[n].End == e.Start {
			joined[n] = Edit{Start: joined[n].Start, End: e.End, New: slices.Concat(joined[n].New, e.New)}
			continue
		}
		joined = append(joined, e)
	}
	return lower(base, joined)
}

// lower moves insertions and deletions down as far as they slide while a line stays between them and the next
// edit. The edits stand apart already; they are changed in place.
func lower(base [][]byte, edits []Edit) []Edit {
	limit := len(base)
	for i, e := range slices.Backward(edits) {
		n := 0
		switch {
		case e.IsInsertion():
			k := len(e.New)
			for e.End+n < limit && string(base[e.End+n]) == string(e.New[n%k]) {
				n++
			}
			if n%k > 0 {
				e.New = slices.Concat(e.New[n%k:], e.New[:n%k])
			}
		case e.IsDeletion():
			for e.End+n < limit && string(base[e.End+n]) == string(base[e.Start+n]) {
				n++
			}
		}
		e.Start, e.End = e.Start+n, e.End+n
		edits[i] = e
		limit = e.Start - 1
	}
	return edits
}

// slideSteps bounds how far one insertion or deletion is followed; past it the reach is the whole file.
const slideSteps = 1 << 20

// Reach is the slide range of an edit: every place to which the same insertion or deletion can be shifted with
// the same result. An edit that does both stays where it is.
func Reach(base [][]byte, e Edit) Span {
	span, _ := reach(base, e, slideSteps)
	return span
}

// Reaches gives the reach of each edit of one file within a common bound of work; edits past the bound reach
// over the whole file.
func Reaches(base [][]byte, edits []Edit) []Span {
	out := make([]Span, len(edits))
	left := slideSteps * 4
	for i, e := range edits {
		var used int
		out[i], used = reach(base, e, min(left, slideSteps))
		left -= used
	}
	return out
}

// reach follows a slide for at most steps lines in either direction and gives the number of lines followed.
func reach(base [][]byte, e Edit, steps int) (Span, int) {
	low, high := 0, 0
	switch {
	case e.IsInsertion():
		k := len(e.New)
		for high < steps && e.End+high < len(base) && string(base[e.End+high]) == string(e.New[high%k]) {
			high++
		}
		for low < steps && low < e.Start && string(base[e.Start-1-low]) == string(e.New[k-1-low%k]) {
			low++
		}
	case e.IsDeletion():
		for high < steps && e.End+high < len(base) && string(base[e.End+high]) == string(base[e.Start+high]) {
			high++
		}
		for low < steps && low < e.Start && string(base[e.Start-1-low]) == string(base[e.End-1-low]) {
			low++
		}
	default:
		return e.Span(), 0
	}
	if low >= steps || high >= steps {
		return Span{0, len(base)}, low + high
	}
	return Span{e.Start - low, e.End + high}, low + high
}

// Topmost shifts an insertion as far up as it goes with the same result: the bytes turn with it. Edits that do
// more than insert are given back unchanged.
func Topmost(base [][]byte, e Edit) Edit {
	if !e.IsInsertion() {
		return e
	}
	k := len(e.New)
	low := 0
	for low < slideSteps && low < e.Start && string(base[e.Start-1-low]) == string(e.New[k-1-low%k]) {
		low++
	}
	if low == 0 {
		return e
	}
	turned := make([][]byte, k)
	for i := range turned {
		turned[i] = e.New[((i-low)%k+k)%k]
	}
	return Edit{Start: e.Start - low, End: e.End - low, New: turned}
}

// Compose gives edits of base that do what first (base to mid) and then second (mid to new) do. Each contiguous
// changed region is compared anew, so that what cancels out is dropped, and slides are canonical.
func Compose(base [][]byte, first, second []Edit) []Edit {
	if len(first) == 0 || len(second) == 0 {
		return Canonical(base, append(append([]Edit(nil), first...), second...))
	}
	mid := Apply(base, first)
	result := Apply(mid, second)
	var out []Edit
	shiftBase, shiftNew := 0, 0 // mid position minus base position, new position minus mid position
	for i, j := 0, 0; i < len(first) || j < len(second); {
		lo, hi, ni, nj := component(first, second, i, j, shiftBase)
		b0, n0 := lo-shiftBase, lo+shiftNew
		for ; i < ni; i++ {
			shiftBase += len(first[i].New) - (first[i].End - first[i].Start)
		}
		for ; j < nj; j++ {
			shiftNew += len(second[j].New) - (second[j].End - second[j].Start)
		}
		for _, e := range Edits(base[b0:hi-shiftBase], result[n0:hi+shiftNew]) {
			out = append(out, Edit{Start: e.Start + b0, End: e.End + b0, New: e.New})
		}
	}
	return Canonical(base, out)
}

// component finds the next run of edits that touch each other in mid's lines, from first[i] and second[j] on:
// its range of mid lines and the indices after it. shift is mid position minus base position before first[i].
func component(first, second []Edit, i, j, shift int) (lo, hi, ni, nj int) {
	lo, hi = -1, -1
	for i < len(first) || j < len(second) {
		takeFirst := j >= len(second) || i < len(first) && first[i].Start+shift <= second[j].Start
		var start, end int
		if takeFirst {
			start = first[i].Start + shift
			end = start + len(first[i].New)
		} else {
			start, end = second[j].Start, second[j].End
		}
		if lo >= 0 && start > hi {
			break
		}
		if lo < 0 {
			lo = start
		}
		hi = max(hi, end)
		if takeFirst {
			shift += len(first[i].New) - (first[i].End - first[i].Start)
			i++
		} else {
			j++
		}
	}
	return lo, hi, i, j
}
