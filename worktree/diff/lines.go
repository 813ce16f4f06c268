// Package diff owns lines and patches: the pinned line diff, edits and their algebra (apply, compose, reach),
// three-way text merges, and the strict reading of git-format and plain unified diffs.
//
// It knows bytes only: no repository, no object store, no policy. Everything in it is a pure function of its
// arguments, so that any machine reaches the same edits from the same two files.
package diff

import "bytes"

// DiffVersion names the line diff of this package ("rules.diff" in decision records). It changes whenever any
// two files could give other edits than before.
const DiffVersion = 1

// Edit replaces the base lines [Start, End) by New. Start and End are 0-based and half open over the base's
// lines; Start == End inserts at that gap, an empty New deletes. New's lines include their terminators.
type Edit struct {
	Start, End int
	New        [][]byte
}

// Span is a range of base lines, 0-based and half open. An empty span is the gap in front of line Start.
type Span struct {
	Start, End int
}

// Span gives the base lines that the edit replaces.
func (e Edit) Span() Span { return Span{e.Start, e.End} }

// Equal reports whether two edits replace the same range by the same bytes.
func (e Edit) Equal(o Edit) bool {
	return e.Start == o.Start && e.End == o.End && EqualLines(e.New, o.New)
}

// IsInsertion reports whether the edit only adds lines.
func (e Edit) IsInsertion() bool { return e.Start == e.End && len(e.New) > 0 }

// IsDeletion reports whether the edit only removes lines.
func (e Edit) IsDeletion() bool { return e.Start < e.End && len(e.New) == 0 }

// Lines splits text into lines that keep their terminators. Only "\n" ends a line; a carriage return before it
// belongs to the line, and a missing final newline is part of the last line. Empty text has no lines.
func Lines(text []byte) [][]byte {
	if len(text) == 0 {
		return nil
	}
	lines := make([][]byte, 0, bytes.Count(text, []byte{'\n'})+1)
	for len(text) > 0 {
		end := bytes.IndexByte(text, '\n') + 1
		if end == 0 {
			end = len(text)
		}
		lines = append(lines, text[:end:end])
		text = text[end:]
	}
	return lines
}

// Join is the inverse of Lines.
func Join(lines [][]byte) []byte { return bytes.Join(lines, nil) }

// EqualLines reports whether two sequences of lines are the same bytes line by line.
func EqualLines(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !bytes.Equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Apply replaces the edits' ranges in base, all at once. The edits must be sorted by position and must not
// overlap; several insertions at one gap are applied in the order given.
func Apply(base [][]byte, edits []Edit) [][]byte {
	size := len(base)
	for _, e := range edits {
		size += len(e.New) - (e.End - e.Start)
	}
	out := make([][]byte, 0, max(size, 0))
	at := 0
	for _, e := range edits {
		out = append(out, base[at:e.Start]...)
		out = append(out, e.New...)
		at = e.End
	}
	return append(out, base[at:]...)
}

// Apart reports whether at least one base line that neither span touches lies between the two. The gap g abuts
// the lines g-1 and g (0-based), so an insertion is in contact with an edit of either.
func Apart(a, b Span) bool {
	if b.Start < a.Start || b.Start == a.Start && b.End < a.End {
		a, b = b, a
	}
	return b.Start-a.End >= 1
}

// IsBinary reports whether git would take the content for binary: a NUL among its first 8000 bytes.
func IsBinary(content []byte) bool {
	return bytes.IndexByte(content[:min(len(content), 8000)], 0) >= 0
}
