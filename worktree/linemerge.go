package worktree

import (
	"bytes"
	"cmp"
	"slices"
	"sort"

	"patchd/worktree/diff"
)

// contact is a pair of edits that are not apart.
type contact struct {
	code ReasonCode
	base diff.Span // the base lines that either edit touches
}

// lineMerge is what two sets of edits of one base make together.
type lineMerge struct {
	contacts []contact
	merged   []diff.Edit // both sides' edits, to be applied at once; nil when some overlap
	carried  []diff.Edit // the left's own edits as edits of the right's result; nil when some overlap
	content  [][]byte    // the result's lines where it was reached step by step, else nil
	stepped  bool        // content is set
	joined   bool        // some insertions stand side by side at one gap of a union path
}

// clean reports whether the lines merge without markers.
func (m *lineMerge) clean() bool {
	return !slices.ContainsFunc(m.contacts, func(c contact) bool { return c.code == SameLines })
}

// sideEdit is an edit with what is known of it within its side.
type sideEdit struct {
	diff.Edit
	reach diff.Span
	top   diff.Edit // the edit at its topmost place, when it is an insertion of whole lines
	whole bool      // top is set
	joins bool      // it shares its gap with an insertion of the other side, as a union path allows
}

// mergeLines merges two sides' edits of base by simultaneous application. What both do alike counts once; edits
// that lie apart, slides included, are applied to the base at once. In union mode insertions of whole lines at
// one gap stand side by side in byte order. Swapping left and right changes merged and contacts in nothing.
func mergeLines(base [][]byte, left, right []diff.Edit, union bool) *lineMerge {
	ownLeft, ownRight, alike := separate(left, right)
	l, r := describe(base, ownLeft, left, union), describe(base, ownRight, right, union)
	m := &lineMerge{contacts: contacts(l, r, union)}
	if !m.clean() {
		return m
	}
	m.joined = slices.ContainsFunc(l, func(e sideEdit) bool { return e.joins })
	m.merged = joinEdits(alike, l, r)
	m.carried = carry(l, append(asSide(alike), r...))
	return m
}

// separate takes out the edits that both sides have.
func separate(left, right []diff.Edit) (ownLeft, ownRight, alike []diff.Edit) {
	i, j := 0, 0
	for i < len(left) || j < len(right) {
		switch {
		case j >= len(right) || i < len(left) && order(left[i], right[j]) < 0:
			ownLeft = append(ownLeft, left[i])
			i++
		case i >= len(left) || order(left[i], right[j]) > 0:
			ownRight = append(ownRight, right[j])
			j++
		default:
			alike = append(alike, left[i])
			i, j = i+1, j+1
		}
	}
	return ownLeft, ownRight, alike
}

// order sorts edits by position, then by their bytes: an insertion stands before what replaces the line after it.
func order(x, y diff.Edit) int {
	if c := cmp.Or(cmp.Compare(x.Start, y.Start), cmp.Compare(x.End, y.End)); c != 0 {
		return c
	}
	return bytes.Compare(diff.Join(x.New), diff.Join(y.New))
}

// describe works out reaches and topmost places. all are all the side's edits: a topmost place stays clear of
// the edit before it.
func describe(base [][]byte, own, all []diff.Edit, union bool) []sideEdit {
	reaches := diff.Reaches(base, own)
	out := make([]sideEdit, len(own))
	for i, e := range own {
		out[i] = sideEdit{Edit: e, reach: reaches[i]}
		if !union || !wholeLines(base, e) {
			continue
		}
		top := diff.Topmost(base, e)
		at := sort.Search(len(all), func(k int) bool { return order(all[k], e) >= 0 })
		if at > 0 && all[at-1].End >= top.Start {
			continue
		}
		out[i].top, out[i].whole = top, true
	}
	return out
}

// wholeLines reports whether an edit only inserts lines that all end in a newline, after one that does.
func wholeLines(base [][]byte, e diff.Edit) bool {
	ends := func(line []byte) bool { return line[len(line)-1] == '\n' }
	if !e.IsInsertion() || e.Start > 0 && !ends(base[e.Start-1]) {
		return false
	}
	return !slices.ContainsFunc(e.New, func(line []byte) bool { return !ends(line) })
}

// contacts finds every pair of edits of the two sides that are not apart, and marks those that a union path lets
// stand side by side.
func contacts(l, r []sideEdit, union bool) []contact {
	byReach := make([]int, len(r)) // indices of r, sorted by where their reach begins
	for i := range byReach {
		byReach[i] = i
	}
	slices.SortStableFunc(byReach, func(a, b int) int { return cmp.Compare(r[a].reach.Start, r[b].reach.Start) })
	furthest := make([]int, len(r)) // the furthest end of any reach so far
	for i, k := range byReach {
		furthest[i] = r[k].reach.End
		if i > 0 {
			furthest[i] = max(furthest[i], furthest[i-1])
		}
	}
	var out []contact
	for i := range l {
		x := &l[i]
		from := sort.Search(len(furthest), func(k int) bool { return furthest[k] >= x.reach.Start })
		for _, k := range byReach[from:] {
			y := &r[k]
			if y.reach.Start > x.reach.End {
				break
			}
			if diff.Apart(x.reach, y.reach) {
				continue
			}
			if union && x.whole && y.whole && x.top.Start == y.top.Start {
				x.joins, y.joins = true, true
				continue
			}
			out = append(out, contact{code: touchCode(x.Edit, y.Edit), base: diff.Span{Start: min(x.Start, y.Start), End: max(x.End, y.End)}})
		}
	}
	return out
}

// touchCode tells how two edits that are not apart meet.
func touchCode(x, y diff.Edit) ReasonCode {
	switch {
	case diff.Apart(x.Span(), y.Span()):
		return PlacementAmbiguous
	case diff.Overlap(x, y):
		return SameLines
	default:
		return AdjacentLines
	}
}

// place gives the edit where it is applied: at its topmost place when it stands beside another insertion.
func (s *sideEdit) place() diff.Edit {
	if s.joins {
		return s.top
	}
	return s.Edit
}

// asSide wraps edits that both sides have.
func asSide(edits []diff.Edit) []sideEdit {
	out := make([]sideEdit, len(edits))
	for i, e := range edits {
		out[i] = sideEdit{Edit: e}
	}
	return out
}

// joinEdits puts edits of several sides in order; equal ones count once.
func joinEdits(alike []diff.Edit, sides ...[]sideEdit) []diff.Edit {
	all := slices.Clone(alike)
	for _, side := range sides {
		for i := range side {
			all = append(all, side[i].place())
		}
	}
	slices.SortFunc(all, order)
	return slices.CompactFunc(all, diff.Edit.Equal)
}

// carry gives edits of the base as edits of what the other edits make of it; those that the others hold too are
// left out.
func carry(edits, others []sideEdit) []diff.Edit {
	placed := make([]diff.Edit, len(others))
	for i := range others {
		placed[i] = others[i].place()
	}
	slices.SortFunc(placed, order)
	shift := make([]int, len(placed)+1)
	for i, e := range placed {
		shift[i+1] = shift[i] + len(e.New) - (e.End - e.Start)
	}
	var out []diff.Edit
	for i := range edits {
		e := edits[i].place()
		n, found := slices.BinarySearchFunc(placed, e, order)
		if found {
			continue
		}
		out = append(out, diff.Edit{Start: e.Start + shift[n], End: e.End + shift[n], New: e.New})
	}
	slices.SortStableFunc(out, func(x, y diff.Edit) int { return cmp.Compare(x.Start, y.Start) })
	return out
}

// mapSpan gives the lines of the result that stand where the base's span stood, for sorted edits.
func mapSpan(edits []diff.Edit, s diff.Span) diff.Span {
	before, inside := 0, 0
	for _, e := range edits {
		grow := len(e.New) - (e.End - e.Start)
		switch {
		case e.End <= s.Start && e.Start < s.Start:
			before += grow
		case e.End <= s.End:
			inside += grow
		}
	}
	start := s.Start + before
	return diff.Span{Start: start, End: max(start, s.End+before+inside)}
}

// mergeSteps merges left's edits into a union path that the right side changed step by step: over each step in
// turn, insertions at one gap find their place by their bytes. It gives nil when some step meets left otherwise.
func mergeSteps(base [][]byte, left []diff.Edit, steps [][]diff.Edit) *lineMerge {
	lines, carried := base, left
	for _, step := range steps {
		m := mergeLines(lines, carried, step, true)
		if len(m.contacts) > 0 {
			return nil
		}
		lines, carried = diff.Apply(lines, step), m.carried
	}
	return &lineMerge{carried: carried, content: diff.Apply(lines, carried), stepped: true}
}
