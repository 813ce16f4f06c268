package ownership

import (
	"slices"

	"patchd/ownership/symbols"
)

// canMeet reports whether two edits in one symbol can influence each other: one changes the header, both sit in
// one statement, or one defines, assigns or deletes a name that the other reads or writes.
func (p *filePair) canMeet(s int, l, r *edited) bool {
	header := p.base.symbol(s).Header
	if body := p.base.symbol(s).Body; !body.Empty() && (touchesHeader(l.Edit, header) || touchesHeader(r.Edit, header)) {
		return true
	}
	if p.oneStatement(l.Edit, r.Edit) {
		return true
	}
	left, right := p.l.uses(l.Edit), p.r.uses(r.Edit)
	return meets(left, right) || meets(right, left)
}

func touchesHeader(e Edit, header symbols.Lines) bool {
	if e.BaseStart == e.BaseEnd {
		return e.BaseStart >= header.Start && e.BaseStart < header.End
	}
	return e.base().Meets(header)
}

// oneStatement reports whether a simple statement of several lines holds both edits.
func (p *filePair) oneStatement(a, b Edit) bool {
	return slices.ContainsFunc(p.base.outline.Statements, func(s symbols.Lines) bool {
		return touchesHeader(a, s) && touchesHeader(b, s)
	})
}

// uses collects the roles of each name on the lines that an edit removes and adds. Names that it keeps count too:
// the line around them changed.
func (c *change) uses(e Edit) map[string]symbols.UseKind {
	names := map[string]symbols.UseKind{}
	c.base.usesOn(e.base(), names)
	c.result.usesOn(e.result(), names)
	return names
}

func (v *view) usesOn(l symbols.Lines, names map[string]symbols.UseKind) {
	from, _ := slices.BinarySearchFunc(v.outline.Uses, l.Start, func(u symbols.Use, line int) int { return int(u.Line) - line })
	for _, u := range v.outline.Uses[from:] {
		if int(u.Line) > l.End {
			break
		}
		names[v.outline.Names[u.Name]] |= u.Kind
	}
}

// meets reports whether a writes a name that b uses.
func meets(a, b map[string]symbols.UseKind) bool {
	for name, kind := range a {
		if kind&symbols.UseWrite != 0 && b[name]&(symbols.UseRead|symbols.UseWrite|symbols.UseCall) != 0 {
			return true
		}
	}
	return false
}
