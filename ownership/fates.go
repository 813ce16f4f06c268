package ownership

import (
	"fmt"

	"patchd/ownership/symbols"
)

// fates finds base symbols that one side moved, renamed, deleted or gave another signature, and that the other
// side edits.
func (c *comparison) fates(one, other *side) {
	for _, b := range sortedRefs(one.fates) {
		f := one.fates[b]
		if !other.edited[b] || c.alike(f, other.fateOf(b), one, other) || one.base(b).Kind == symbols.KindModule {
			continue
		}
		if c.toldAround(b, one, other) {
			continue
		}
		for _, code := range f.codes() {
			c.add(c.fateReason(code, b, one, other, "edits it"))
		}
	}
}

// toldAround reports whether the same is told of a symbol that encloses this one.
func (c *comparison) toldAround(b ref, one, other *side) bool {
	for p := one.base(b).Parent; p >= 0; p = one.base(ref{b.file, p}).Parent {
		if f := one.fates[ref{b.file, p}]; other.edited[ref{b.file, p}] && f.kind != fateKept && !f.inFile {
			return true
		}
	}
	return false
}

// codes lists the reason codes of a fate.
func (f fate) codes() []Code {
	var list []Code
	switch f.kind {
	case fateKept:
	case fateMoved:
		list = append(list, CodeSymbolMoved)
	case fateRenamed:
		list = append(list, CodeSymbolRenamed)
	case fateDeleted:
		list = append(list, CodeSymbolDeleted)
	}
	if f.signature {
		list = append(list, CodeSignatureChanged)
	}
	return list
}

// alike reports whether both sides did the same to a symbol as a whole.
func (c *comparison) alike(f, o fate, one, other *side) bool {
	if f.kind != o.kind || f.kind == fateKept && f.signature != o.signature {
		return false
	}
	if f.kind == fateDeleted {
		return true
	}
	if f.to.symbol < 0 || o.to.symbol < 0 || f.to.file != o.to.file {
		return false
	}
	a, b := one.result(f.to), other.result(o.to)
	return a.Path == b.Path && a.Signature == b.Signature && (f.kind != fateKept || a.Params == b.Params)
}

// fateReason explains one symbol's fate; doing says what the other side does with it.
func (c *comparison) fateReason(code Code, b ref, one, other *side, doing string) Reason {
	p, f := c.pairs[b.file], one.fates[b]
	r := Reason{Code: code, Path: p.path, Symbol: one.base(b).Path, Base: p.base.place(b.symbol)}
	ones, others := one.placeOf(f.to), other.placeOf(other.fateOf(b).to)
	if one == c.left {
		r.Left, r.Right = ones, others
	} else {
		r.Left, r.Right = others, ones
	}
	r.Detail = fmt.Sprintf("%s %s, %s %s", one.name, f.words(code, one), other.name, doing)
	return r.withLines()
}

func (s *side) placeOf(r ref) *Place {
	if r.symbol < 0 {
		return nil
	}
	return s.changes[r.file].result.place(r.symbol)
}

func (f fate) words(code Code, one *side) string {
	switch {
	case code == CodeSignatureChanged:
		return "changes its signature"
	case f.ambiguous:
		return "deletes it (several new symbols resemble it)"
	case f.kind == fateDeleted:
		return "deletes it"
	case f.inFile:
		return "moves it within the file"
	}
	to := one.result(f.to)
	where := fmt.Sprintf("%s in %s", to.Path, one.changes[f.to.file].result.version.Path)
	if f.kind == fateRenamed {
		return "renames it to " + where
	}
	return "moves it to " + where
}
