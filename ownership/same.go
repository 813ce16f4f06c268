package ownership

import (
	"fmt"
	"slices"

	"patchd/ownership/symbols"
)

// sameSymbol finds edits of the two sides that lie apart and touch one innermost symbol.
func (c *comparison) sameSymbol(file int, p *filePair) {
	if p.degraded || p.base == nil || c.in.SameSymbol == SameSymbolAllow {
		return
	}
	for i := range p.l.edits {
		for k := range p.r.edits {
			l, r := &p.l.edits[i], &p.r.edits[k]
			if !apart(l.Edit, r.Edit) {
				continue
			}
			for _, s := range l.touched {
				if slices.Contains(r.touched, s) && !c.moved(ref{file, s}) && c.counts(p, s, l, r) {
					c.add(c.sameReason(p, s))
				}
			}
		}
	}
}

// moved reports whether a side moved the symbol, which is told as such: what it adds elsewhere is no second edit.
func (c *comparison) moved(b ref) bool {
	return c.left.fates[b].kind == fateMoved || c.right.fates[b].kind == fateMoved
}

// counts leaves out what only holds other code (a namespace is package level) and, where the policy says so,
// edits that cannot meet.
func (c *comparison) counts(p *filePair, s int, l, r *edited) bool {
	if p.base.symbol(s).Kind == symbols.KindModule {
		return false
	}
	return c.in.SameSymbol != SameSymbolDependent || p.canMeet(s, l, r)
}

func (c *comparison) sameReason(p *filePair, s int) Reason {
	r := p.reason(CodeSameSymbol, s)
	r.Detail = fmt.Sprintf("both sides edit %s, in places apart", p.base.symbol(s).Path)
	return r
}

// reason fills in where a base symbol stands in the three versions.
func (p *filePair) reason(code Code, s int) Reason {
	r := Reason{Code: code, Path: p.path, Symbol: p.base.symbol(s).Path, Base: p.base.place(s)}
	if p.l.toResult != nil {
		r.Left = p.left.place(p.l.toResult[s])
	}
	if p.r.toResult != nil {
		r.Right = p.right.place(p.r.toResult[s])
	}
	return r.withLines()
}

// withLines copies the ranges of the places.
func (r Reason) withLines() Reason {
	for _, x := range []struct {
		from *Place
		to   *[2]int
	}{{r.Base, &r.BaseLines}, {r.Left, &r.LeftLines}, {r.Right, &r.RightLines}} {
		if x.from != nil {
			*x.to = pair(x.from.Lines)
		}
	}
	return r
}

// ownedRanges finds declared hunks of one side that the other side's edits touch.
func (c *comparison) ownedRanges(p *filePair) {
	if p.base == nil {
		return
	}
	c.ownedBy(p, c.in.LeftOwned, p.r, c.in.LeftName, c.in.RightName)
	c.ownedBy(p, c.in.RightOwned, p.l, c.in.RightName, c.in.LeftName)
}

func (c *comparison) ownedBy(p *filePair, hunks []Hunk, other *change, owner, editor string) {
	for _, h := range hunks {
		if h.Path != p.path {
			continue
		}
		for i := range other.edits {
			e := &other.edits[i]
			if e.quiet && !p.degraded || !e.reaches(symbols.Lines{Start: h.Start, End: h.End}) {
				continue
			}
			c.add(p.ownedReason(h, e, other == p.l, fmt.Sprintf("%s changes lines %d to %d, which %s declares as its own", editor, h.Start, h.End, owner)))
		}
	}
}

// reaches reports whether the edit changes a line of the range or inserts between two of them.
func (e *edited) reaches(l symbols.Lines) bool {
	if e.BaseStart == e.BaseEnd {
		return e.BaseStart >= l.Start && e.BaseStart < l.End
	}
	return e.base().Meets(l)
}

func (p *filePair) ownedReason(h Hunk, e *edited, byLeft bool, detail string) Reason {
	r := Reason{Code: CodeOwnedRangeChanged, Path: p.path, Symbol: h.Symbol, BaseLines: [2]int{h.Start, h.End}, Detail: detail}
	if r.Symbol == "" && p.base.outline != nil {
		if s := p.base.outline.At(symbols.Lines{Start: h.Start, End: h.End}); s >= 0 {
			r.Symbol = p.base.symbol(s).Path
		}
	}
	lines := pair(e.result())
	if lines[1] < lines[0] {
		lines[1] = lines[0]
	}
	if byLeft {
		r.LeftLines = lines
	} else {
		r.RightLines = lines
	}
	return r
}
