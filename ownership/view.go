package ownership

import (
	"bytes"

	"patchd/ownership/symbols"
)

// view is one version of a file with its outline. Most views are looked at in a few places only, so what takes a pass over the
// whole file is worked out when it is first asked for.
type view struct {
	version *Version
	outline *symbols.Outline
	why     symbols.Why
	inner   []int32  // the innermost symbol of each line; nil until symbolAt
	split   [][]byte // the lines; nil until lines
}

// symbolAt gives the index of the innermost symbol on a 1-based line, or -1.
func (v *view) symbolAt(line int) int {
	if v == nil || v.outline == nil {
		return -1
	}
	if v.inner == nil {
		v.inner = v.outline.Innermost()
	}
	if line < 1 || line > len(v.inner) {
		return -1
	}
	return int(v.inner[line-1])
}

// says reports whether the line holds more than comment and spacing; without an outline every line does.
func (v *view) says(line int) bool {
	if v.outline == nil || line < 1 || line > len(v.outline.Text) {
		return true
	}
	return v.outline.Text[line-1] != 0
}

func (v *view) symbol(i int) *symbols.Symbol { return &v.outline.Symbols[i] }

func (v *view) text(l symbols.Lines) []byte {
	lines := v.lines()
	if l.Start < 1 || l.End < l.Start || l.End > len(lines) {
		return nil
	}
	return bytes.Join(lines[l.Start-1:l.End], nil)
}

// header gives the first line of a symbol's own definition, for people.
func (v *view) header(i int) string {
	return v.lineText(v.symbol(i).NameLine)
}

func (v *view) place(i int) *Place {
	if v == nil || v.outline == nil || i < 0 {
		return nil
	}
	return &Place{Path: v.version.Path, Lines: v.symbol(i).Lines, Header: v.header(i)}
}

// lineText gives a 1-based line without the space around it.
func (v *view) lineText(line int) string {
	lines := v.lines()
	if line < 1 || line > len(lines) {
		return ""
	}
	return string(bytes.TrimSpace(lines[line-1]))
}

// lines gives the text line by line.
func (v *view) lines() [][]byte {
	if v.split == nil {
		v.split = splitLines(v.version.Text)
	}
	return v.split
}

func splitLines(text []byte) [][]byte {
	lines := bytes.SplitAfter(text, []byte{'\n'})
	if n := len(lines); n > 0 && len(lines[n-1]) == 0 {
		lines = lines[:n-1]
	}
	return lines
}

func newView(v *Version, r symbols.Result) *view {
	if v == nil {
		return nil
	}
	return &view{version: v, outline: r.Outline, why: r.Why}
}
