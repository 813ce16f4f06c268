package ownership

import (
	"bytes"
	"slices"

	"patchd/ownership/symbols"
)

// change is what one side did to one file, in symbols.
type change struct {
	base, result *view
	edits        []edited
	// toResult maps a base symbol to the one that it became in this file, toBase the other way; -1 for none.
	toResult, toBase []int
}

// edited is one edit with the symbols that it touches.
type edited struct {
	Edit
	// quiet says that the edit changes comments and spacing only.
	quiet bool
	// touched are indices of base symbols, sorted; added are those of result symbols that the base does not have.
	touched, added []int
}

func newChange(base, result *view, edits []Edit) *change {
	c := &change{base: base, result: result}
	for _, e := range edits {
		c.edits = append(c.edits, edited{Edit: e})
	}
	switch {
	case base == nil && result == nil:
	case base == nil:
		if result.outline != nil {
			c.toBase = unmatched(len(result.outline.Symbols))
			c.edits = []edited{{Edit: Edit{NewEnd: len(result.lines())}, added: all(len(result.outline.Symbols))}}
		}
	case base.outline == nil:
	case result == nil:
		c.toResult = unmatched(len(base.outline.Symbols))
	case result.outline != nil:
		c.toResult, c.toBase = matchInFile(base.outline, result.outline)
		for i := range c.edits {
			c.attribute(&c.edits[i])
		}
	}
	return c
}

func all(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// attribute finds the symbols of an edit: base lines belong to base symbols, new lines to those of the result, so
// that a method that is added to a class touches itself and not the class.
func (c *change) attribute(e *edited) {
	if e.quiet = c.isQuiet(e.Edit); e.quiet {
		return
	}
	for line := e.BaseStart + 1; line <= e.BaseEnd; line++ {
		if s := c.base.symbolAt(line); s >= 0 && c.base.says(line) {
			e.touched = append(e.touched, s)
		}
	}
	for line := e.NewStart + 1; line <= e.NewEnd; line++ {
		s := c.result.symbolAt(line)
		if s < 0 || !c.result.says(line) {
			continue
		}
		if b := c.toBase[s]; b >= 0 {
			e.touched = append(e.touched, b)
		} else {
			e.added = append(e.added, s)
		}
	}
	e.touched, e.added = sortedSet(e.touched), sortedSet(e.added)
}

func sortedSet(list []int) []int {
	slices.Sort(list)
	return slices.Compact(list)
}

// isQuiet reports whether the lines say the same before and after, comments and spacing aside.
func (c *change) isQuiet(e Edit) bool {
	if e.BaseEnd > len(c.base.outline.Text) || e.NewEnd > len(c.result.outline.Text) {
		return false
	}
	return slices.Equal(spoken(c.base.outline.Text[e.BaseStart:e.BaseEnd]), spoken(c.result.outline.Text[e.NewStart:e.NewEnd]))
}

func spoken(text []uint64) []uint64 {
	var list []uint64
	for _, h := range text {
		if h != 0 {
			list = append(list, h)
		}
	}
	return list
}

// matchInFile pairs the symbols of two versions of one file that have the same path. Where their number differs,
// those that say the same are paired first, the others in their order.
func matchInFile(base, result *symbols.Outline) (toResult, toBase []int) {
	if samePaths(base, result) {
		return all(len(base.Symbols)), all(len(result.Symbols))
	}
	toResult, toBase = unmatched(len(base.Symbols)), unmatched(len(result.Symbols))
	groups := map[string][]int{}
	for i := range result.Symbols {
		groups[result.Symbols[i].Path] = append(groups[result.Symbols[i].Path], i)
	}
	var order []string
	byPath := map[string][]int{}
	for i := range base.Symbols {
		p := base.Symbols[i].Path
		if byPath[p] == nil {
			order = append(order, p)
		}
		byPath[p] = append(byPath[p], i)
	}
	for _, p := range order {
		pairUp(base, result, byPath[p], groups[p], toResult, toBase)
	}
	return toResult, toBase
}

// samePaths reports whether two outlines have the same symbols in the same order, which pairs them one by one.
func samePaths(a, b *symbols.Outline) bool {
	if len(a.Symbols) != len(b.Symbols) {
		return false
	}
	for i := range a.Symbols {
		if a.Symbols[i].Path != b.Symbols[i].Path {
			return false
		}
	}
	return true
}

func unmatched(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = -1
	}
	return list
}

func pairUp(base, result *symbols.Outline, from, to, toResult, toBase []int) {
	if len(from) != len(to) {
		pairEqual(from, to, toResult, toBase, func(b, r int) bool { return base.Symbols[b].Exact == result.Symbols[r].Exact })
		pairEqual(from, to, toResult, toBase, func(b, r int) bool { return base.Symbols[b].Params == result.Symbols[r].Params })
	}
	pairEqual(from, to, toResult, toBase, func(int, int) bool { return true })
}

// pairEqual pairs what is still free, in order, where equal says so.
func pairEqual(from, to, toResult, toBase []int, equal func(b, r int) bool) {
	for _, b := range from {
		if toResult[b] >= 0 {
			continue
		}
		for _, r := range to {
			if toBase[r] < 0 && equal(b, r) {
				toResult[b], toBase[r] = r, b
				break
			}
		}
	}
}

// dropAlike removes from both sides the edits that they have in common: same base lines, same bytes.
func dropAlike(f *File, left, right *view) (l, r []Edit) {
	if left == nil || right == nil {
		return f.LeftEdits, f.RightEdits
	}
	same := func(a, b Edit) bool {
		return a.BaseStart == b.BaseStart && a.BaseEnd == b.BaseEnd && bytes.Equal(left.text(a.result()), right.text(b.result()))
	}
	for _, a := range f.LeftEdits {
		if !slices.ContainsFunc(f.RightEdits, func(b Edit) bool { return same(a, b) }) {
			l = append(l, a)
		}
	}
	for _, b := range f.RightEdits {
		if !slices.ContainsFunc(f.LeftEdits, func(a Edit) bool { return same(a, b) }) {
			r = append(r, b)
		}
	}
	return l, r
}

// apart reports whether a base line that neither edit touches lies between the two.
func apart(a, b Edit) bool { return a.BaseEnd < b.BaseStart || b.BaseEnd < a.BaseStart }
