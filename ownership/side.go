package ownership

import (
	"slices"

	"patchd/ownership/symbols"
)

// ref names a symbol: the file by its place in the comparison, and the symbol's index in one version of it.
type ref struct{ file, symbol int }

// fateKind is what one side did to a symbol of the base as a whole.
type fateKind uint8

const (
	fateKept fateKind = iota
	fateMoved
	fateRenamed
	fateDeleted
)

// fate is what became of a base symbol on one side.
type fate struct {
	kind fateKind
	// to is the symbol in the result; symbol -1 when it is gone.
	to ref
	// signature says that its header changed.
	signature bool
	// ambiguous says that several new symbols could be it, so that it counts as deleted.
	ambiguous bool
	// inFile says that it moved within its file and container.
	inFile bool
}

// side is what one side did to all files.
type side struct {
	name    string
	changes []*change
	// degraded marks files whose symbols do not count.
	degraded []bool
	fates    map[ref]fate
	// edited marks base symbols in which the side edits something that counts, or to which it adds a member.
	edited map[ref]bool
	// uses are the new uses by name, once they were asked for.
	uses map[string][]newUse
}

func newSide(name string, changes []*change, degraded []bool) *side {
	s := &side{name: name, changes: changes, degraded: degraded, fates: map[ref]fate{}, edited: map[ref]bool{}}
	for f, c := range changes {
		if degraded[f] {
			continue
		}
		for i := range c.edits {
			s.noteEdited(f, c, &c.edits[i])
		}
		for b, r := range c.toResult {
			if r >= 0 {
				s.keep(ref{f, b}, ref{f, r}, c)
			}
		}
	}
	s.match()
	return s
}

// noteEdited marks what an edit touches, and for a symbol that it adds the base symbols around it.
func (s *side) noteEdited(f int, c *change, e *edited) {
	if e.quiet {
		return
	}
	for _, b := range e.touched {
		s.edited[ref{f, b}] = true
		for p := c.base.symbol(b).Parent; p >= 0; p = c.base.symbol(p).Parent {
			if kindGroup(c.base.symbol(p).Kind) == 1 {
				s.edited[ref{f, p}] = true // the body of a function holds what is defined in it
			}
		}
	}
	if c.toBase == nil {
		return
	}
	for _, r := range e.added {
		for p := c.result.symbol(r).Parent; p >= 0; p = c.result.symbol(p).Parent {
			if b := c.toBase[p]; b >= 0 {
				s.edited[ref{f, b}] = true
				break
			}
		}
	}
}

// keep records a symbol that has its path: with a new signature, or at another place of the file.
func (s *side) keep(b, r ref, c *change) {
	from, to := c.base.symbol(b.symbol), c.result.symbol(r.symbol)
	fa := fate{to: r, signature: signatureChanged(from, to)}
	if c.movedInFile(from, to) {
		fa.kind, fa.inFile = fateMoved, true
	}
	if fa.kind != fateKept || fa.signature {
		s.fates[b] = fa
	}
}

func signatureChanged(from, to *symbols.Symbol) bool {
	if kindGroup(from.Kind) == 1 {
		return from.Signature != to.Signature
	}
	return from.Params != to.Params
}

// movedInFile reports whether the line that names the symbol was removed at one place and added at another.
func (c *change) movedInFile(from, to *symbols.Symbol) bool {
	if !isCode(from.Kind) {
		return false
	}
	removed, added := -1, -1
	for i := range c.edits {
		if e := &c.edits[i]; !e.quiet {
			if from.NameLine > e.BaseStart && from.NameLine <= e.BaseEnd {
				removed = i
			}
			if to.NameLine > e.NewStart && to.NameLine <= e.NewEnd {
				added = i
			}
		}
	}
	return removed >= 0 && added >= 0 && removed != added
}

func (s *side) base(r ref) *symbols.Symbol   { return s.changes[r.file].base.symbol(r.symbol) }
func (s *side) result(r ref) *symbols.Symbol { return s.changes[r.file].result.symbol(r.symbol) }

// fateOf gives what became of a base symbol; without a record it was kept.
func (s *side) fateOf(b ref) fate {
	if f, ok := s.fates[b]; ok {
		return f
	}
	c := s.changes[b.file]
	if c.toResult == nil {
		return fate{to: ref{b.file, -1}}
	}
	return fate{to: ref{b.file, c.toResult[b.symbol]}}
}

// sortedRefs gives the keys of a map in order.
func sortedRefs[V any](m map[ref]V) []ref {
	list := make([]ref, 0, len(m))
	for r := range m {
		list = append(list, r)
	}
	slices.SortFunc(list, compareRefs)
	return list
}

func compareRefs(a, b ref) int {
	if a.file != b.file {
		return a.file - b.file
	}
	return a.symbol - b.symbol
}
