//nolint:gosec // G115: counts and offsets stay below the size cap of a file
package symbols

import (
	"bytes"
	"slices"
)

const (
	// maxDepth ends the descent into a tree; what lies deeper is not looked at and counts as an error.
	maxDepth = 500
	// maxNodes bounds the memory that one file's tree may take.
	maxNodes = 4_000_000
	// parseMicros bounds the time of one parse.
	parseMicros = 4_000_000
	errorSymbol = 0xFFFF
)

// node is one node of the flat tree. Links are indices, -1 for none.
type node struct {
	start, end          uint32
	parent, first, next int32
	prev, last          int32 // last is the index of the last node below
	sym                 uint16
	field               uint8
	missing             bool
}

// tree is a syntax tree copied out of the parser's memory, so that tables walk it without crossing into C.
type tree struct {
	text   []byte
	nodes  []node
	fields []string
	g      *grammar
	lines  []uint32 // byte offset at which each line begins
	deep   []uint32 // offsets at which the descent was ended
}

func parse(g *grammar, text []byte) (*tree, error) {
	t := &tree{text: text, g: g, lines: lineStarts(text), fields: g.fields}
	if err := t.flatten(); err != nil {
		return nil, err
	}
	for i := range slices.Backward(t.nodes) {
		n := &t.nodes[i]
		n.last = max(n.last, int32(i))
		if n.parent >= 0 {
			t.nodes[n.parent].last = max(t.nodes[n.parent].last, n.last)
		}
	}
	return t, nil
}

func lineStarts(text []byte) []uint32 {
	starts := make([]uint32, 1, bytes.Count(text, []byte{'\n'})+1)
	for i, c := range text {
		if c == '\n' && i+1 < len(text) {
			starts = append(starts, uint32(i+1))
		}
	}
	return starts
}

// line gives the 1-based line of a byte offset.
func (t *tree) line(offset uint32) int {
	low, high := 0, len(t.lines)
	for high-low > 1 {
		if mid := (low + high) / 2; t.lines[mid] <= offset {
			low = mid
		} else {
			high = mid
		}
	}
	return low + 1
}

// span gives the lines of a node; an end at the start of a line does not count that line.
func (t *tree) span(n int32) Lines { return t.spanOf(t.nodes[n].start, t.nodes[n].end) }

func (t *tree) spanOf(start, end uint32) Lines {
	start, end = t.trim(start, end)
	last := end
	if end > start {
		last = end - 1
	}
	return Lines{t.line(start), t.line(last)}
}

// trim leaves out spacing at both ends, which some grammars count in.
func (t *tree) trim(start, end uint32) (uint32, uint32) {
	for start < end && isSpace(t.text[start]) {
		start++
	}
	for end > start && isSpace(t.text[end-1]) {
		end--
	}
	return start, end
}

func (t *tree) kind(n int32) string { return t.g.info(t.nodes[n].sym).name }

func (t *tree) is(n int32, kinds ...string) bool {
	if n < 0 {
		return false
	}
	return slices.Contains(kinds, t.kind(n))
}

func (t *tree) content(n int32) string {
	if n < 0 {
		return ""
	}
	start, end := t.trim(t.nodes[n].start, t.nodes[n].end)
	return string(t.text[start:end])
}

// field gives the first child in the named field, or -1.
func (t *tree) field(n int32, name string) int32 {
	if n < 0 {
		return -1
	}
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if t.fields[t.nodes[c].field] == name {
			return c
		}
	}
	return -1
}

func (t *tree) inField(n int32, name string) bool { return t.fields[t.nodes[n].field] == name }

// child gives the first child of one of the kinds, or -1.
func (t *tree) child(n int32, kinds ...string) int32 {
	if n < 0 {
		return -1
	}
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if t.is(c, kinds...) {
			return c
		}
	}
	return -1
}

// find gives the first node of one of the kinds in n's subtree, n included, or -1.
func (t *tree) find(n int32, kinds ...string) int32 {
	if n < 0 {
		return -1
	}
	for i := n; i <= t.nodes[n].last; i++ {
		if t.is(i, kinds...) {
			return i
		}
	}
	return -1
}

func (t *tree) named(n int32) bool { return t.g.info(t.nodes[n].sym).named }

// children calls f with each named child.
func (t *tree) children(n int32, f func(c int32)) {
	if n < 0 {
		return
	}
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if t.named(c) {
			f(c)
		}
	}
}
