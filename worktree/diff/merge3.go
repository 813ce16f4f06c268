package diff

import "bytes"

// Labels name the two sides in conflict markers.
type Labels struct{ Ours, Theirs string }

// DefaultLabels are the labels of merge candidates: the patch is ours, the target is theirs.
func DefaultLabels() Labels { return Labels{Ours: "ours", Theirs: "theirs"} }

// Merge3 merges two edited versions of base. Edits that overlap, and different insertions at one gap, are
// written with git's conflict markers; edits of lines that merely abut are both applied, insertions before the
// line that they abut. Swapping the sides swaps the halves of each conflict and nothing else.
func Merge3(base, ours, theirs [][]byte, labels Labels) (content []byte, hasMarkers bool) {
	m := merger{base: base, labels: labels, left: Edits(base, ours), right: Edits(base, theirs)}
	for m.i < len(m.left) || m.j < len(m.right) {
		m.cluster()
	}
	m.copyBase(len(base))
	return m.out.Bytes(), m.markers
}

// merger holds the state of one three-way merge.
type merger struct {
	base        [][]byte
	left, right []Edit
	i, j, at    int
	labels      Labels
	out         bytes.Buffer
	markers     bool
}

// overlap reports whether two edits cannot both be applied: they replace a common line, one inserts inside what
// the other replaces, or both insert at one gap.
func overlap(x, y Edit) bool {
	switch {
	case x.Start == x.End && y.Start == y.End:
		return x.Start == y.Start
	case x.Start == x.End:
		return y.Start < x.Start && x.Start < y.End
	case y.Start == y.End:
		return x.Start < y.Start && y.Start < x.End
	default:
		return max(x.Start, y.Start) < min(x.End, y.End)
	}
}

// Overlap reports whether two edits of one base meet in more than abutting lines.
func Overlap(x, y Edit) bool { return overlap(x, y) }

// before orders edits by position: an insertion at a gap stands before a replacement of the line after it.
func before(x, y Edit) bool {
	return x.Start < y.Start || x.Start == y.Start && x.End < y.End
}

// cluster takes the next edits that overlap one another, from both sides, and writes them.
func (m *merger) cluster() {
	i0, j0 := m.i, m.j
	if m.j >= len(m.right) || m.i < len(m.left) && !before(m.right[m.j], m.left[m.i]) {
		m.i++
	} else {
		m.j++
	}
	for grown := true; grown; {
		grown = false
		for m.j < len(m.right) && anyOverlap(m.left[i0:m.i], m.right[m.j]) {
			m.j++
			grown = true
		}
		for m.i < len(m.left) && anyOverlap(m.right[j0:m.j], m.left[m.i]) {
			m.i++
			grown = true
		}
	}
	m.write(m.left[i0:m.i], m.right[j0:m.j])
}

// anyOverlap reports whether e overlaps one of the edits, of which only the last can reach it.
func anyOverlap(edits []Edit, e Edit) bool {
	return len(edits) > 0 && overlap(edits[len(edits)-1], e)
}

// write emits one cluster: a plain edit when one side is silent or both agree, else a conflict.
func (m *merger) write(left, right []Edit) {
	lo, hi := len(m.base), 0
	for _, edits := range [][]Edit{left, right} {
		if len(edits) > 0 {
			lo, hi = min(lo, edits[0].Start), max(hi, edits[len(edits)-1].End)
		}
	}
	m.copyBase(lo)
	ours, theirs := within(m.base, left, lo, hi), within(m.base, right, lo, hi)
	m.at = max(m.at, hi)
	switch {
	case len(right) == 0 || EqualLines(ours, theirs):
		m.emit(ours)
	case len(left) == 0:
		m.emit(theirs)
	default:
		m.conflict(ours, theirs)
	}
}

// within applies the edits to base[lo:hi].
func within(base [][]byte, edits []Edit, lo, hi int) [][]byte {
	moved := make([]Edit, len(edits))
	for i, e := range edits {
		moved[i] = Edit{Start: e.Start - lo, End: e.End - lo, New: e.New}
	}
	return Apply(base[lo:hi], moved)
}

// copyBase writes the untouched base lines up to line end.
func (m *merger) copyBase(end int) {
	if m.at < end {
		m.emit(m.base[m.at:end])
		m.at = end
	}
}

func (m *merger) emit(lines [][]byte) {
	for _, line := range lines {
		m.out.Write(line)
	}
}

// conflict writes both versions between markers, without the lines that they begin and end with alike.
func (m *merger) conflict(ours, theirs [][]byte) {
	m.markers = true
	head, tail := 0, 0
	for head < min(len(ours), len(theirs)) && bytes.Equal(ours[head], theirs[head]) {
		head++
	}
	for tail < min(len(ours), len(theirs))-head && bytes.Equal(ours[len(ours)-1-tail], theirs[len(theirs)-1-tail]) {
		tail++
	}
	eol := "\n"
	if len(m.base) > 0 && bytes.HasSuffix(m.base[0], []byte("\r\n")) {
		eol = "\r\n"
	}
	m.emit(ours[:head])
	m.marker("<<<<<<< "+m.labels.Ours, eol)
	m.emit(ours[head : len(ours)-tail])
	m.marker("=======", eol)
	m.emit(theirs[head : len(theirs)-tail])
	m.marker(">>>>>>> "+m.labels.Theirs, eol)
	m.emit(ours[len(ours)-tail:])
}

// marker writes a marker on a line of its own, also after a line without a final newline.
func (m *merger) marker(text, eol string) {
	if b := m.out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
		m.out.WriteString(eol)
	}
	m.out.WriteString(text + eol)
}
