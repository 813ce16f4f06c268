package ownership

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"patchd/ownership/symbols"
)

// Touch is what one change does to one path, for footprints and owned hunks.
type Touch struct {
	// Op is the file operation as the caller names it, for example "modify", "add", "delete" or "rename".
	Op           string
	Base, Result *Version
	Edits        []Edit
}

func (t *Touch) path() string {
	if t.Base != nil {
		return t.Base.Path
	}
	if t.Result != nil {
		return t.Result.Path
	}
	return ""
}

// Claim is the outcome of deriving and checking what a change owns.
type Claim struct {
	// Footprint is sorted by path and line.
	Footprint []Footprint
	Degraded  []Degraded
}

// Own derives the footprint of a change and checks the hunks that it declares: each edit of a path that declares
// any must lie in one of them, the range must exist at the base, and a declared symbol must be the one that the
// range belongs to. A broken claim is a *HunkError, the first by path and line; any other error is the outliner's.
func Own(ctx context.Context, outliner symbols.Outliner, touches []Touch, declared []Hunk) (*Claim, error) {
	files := make([]File, len(touches))
	for i, t := range touches {
		files[i] = File{Base: t.Base, Left: t.Result, Right: t.Base}
	}
	views, err := outlineAll(ctx, outliner, files)
	if err != nil {
		return nil, err
	}
	claim := &Claim{}
	for i := range touches {
		t := &touches[i]
		c := newChange(views[i][0], views[i][1], t.Edits)
		why := c.degraded()
		if why != "" {
			claim.Degraded = append(claim.Degraded, Degraded{t.path(), why})
		}
		claim.Footprint = append(claim.Footprint, c.footprint(t, why != "")...)
		if err := c.checkDeclared(t, declared); err != nil {
			return nil, err
		}
	}
	if err := undeclared(touches, declared); err != nil {
		return nil, err
	}
	slices.SortFunc(claim.Footprint, compareFootprints)
	claim.Footprint = slices.Compact(claim.Footprint)
	slices.SortFunc(claim.Degraded, func(a, b Degraded) int { return cmp.Compare(a.Path, b.Path) })
	return claim, nil
}

func compareFootprints(a, b Footprint) int {
	return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End),
		cmp.Compare(a.Op, b.Op), cmp.Compare(a.Symbol, b.Symbol))
}

// degraded gives the reason for which symbols of this change cannot be told, or "".
func (c *change) degraded() symbols.Why {
	for _, v := range []*view{c.base, c.result} {
		if v != nil && v.outline == nil {
			return v.why
		}
	}
	for _, e := range c.edits {
		if c.brokenAt(e.Edit) {
			return symbols.WhySyntaxError
		}
	}
	return ""
}

// footprint lists each edit with the symbols it touches; a path without edits is listed once.
func (c *change) footprint(t *Touch, degraded bool) []Footprint {
	if len(c.edits) == 0 {
		return []Footprint{{Path: t.path(), Op: t.Op}}
	}
	var list []Footprint
	for i := range c.edits {
		e := &c.edits[i]
		f := Footprint{Path: t.path(), Op: t.Op, Start: e.BaseStart + 1, End: e.BaseEnd}
		var names []string
		if !degraded {
			names = c.touchedNames(e)
		}
		for _, s := range names {
			f.Symbol = s
			list = append(list, f)
		}
		if len(names) == 0 {
			list = append(list, f)
		}
	}
	return list
}

func (c *change) touchedNames(e *edited) []string {
	var names []string
	for _, s := range e.touched {
		names = append(names, c.base.symbol(s).Path)
	}
	for _, s := range e.added {
		names = append(names, c.result.symbol(s).Path)
	}
	if c.base == nil && c.result != nil {
		for _, s := range c.result.outline.Symbols {
			if s.Parent < 0 {
				names = append(names, s.Path)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkDeclared holds the declared hunks of one path against its base and its edits.
func (c *change) checkDeclared(t *Touch, declared []Hunk) error {
	var own []Hunk
	for _, h := range declared {
		if h.Path == t.path() {
			own = append(own, h)
		}
	}
	if len(own) == 0 {
		return nil
	}
	slices.SortFunc(own, func(a, b Hunk) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End), cmp.Compare(a.Symbol, b.Symbol))
	})
	for _, h := range own {
		if err := c.checkHunk(t, h); err != nil {
			return err
		}
	}
	for _, e := range c.edits {
		if !slices.ContainsFunc(own, func(h Hunk) bool { return e.inside(h) }) {
			return &HunkError{
				Code: CodeHunkNotOwned, Path: t.path(), Line: e.BaseStart + 1, Value: ranges(own),
				Want: fmt.Sprintf("a hunk that holds lines %d to %d", e.BaseStart+1, max(e.BaseEnd, e.BaseStart+1)),
			}
		}
	}
	return nil
}

// inside reports whether the edit lies in the hunk; an insertion may stand right before or after it.
func (e *edited) inside(h Hunk) bool { return e.BaseStart >= h.Start-1 && e.BaseEnd <= h.End }

func ranges(own []Hunk) string {
	parts := make([]string, len(own))
	for i, h := range own {
		parts[i] = fmt.Sprintf("%d-%d", h.Start, h.End)
	}
	return strings.Join(parts, ", ")
}

// checkHunk reports a range that the base does not have, or a symbol that is not the range's.
func (c *change) checkHunk(t *Touch, h Hunk) error {
	total := 0
	if c.base != nil {
		total = len(c.base.lines())
	}
	if h.Start < 1 || h.End < h.Start || h.End > total {
		return &HunkError{
			Code: CodeOwnedHunkStale, Path: t.path(), Line: h.Start, Value: fmt.Sprintf("%d-%d", h.Start, h.End),
			Want: fmt.Sprintf("lines within 1-%d, as the file has at the base", total),
		}
	}
	l := symbols.Lines{Start: h.Start, End: h.End}
	if h.Symbol == "" || c.base.outline == nil || c.base.outline.Broken(l) {
		return nil
	}
	found := c.base.owner(l)
	if found >= 0 && named(c.base.symbol(found), h.Symbol) {
		return nil
	}
	want := "no symbol: the lines belong to none"
	if found >= 0 {
		want = fmt.Sprintf("symbol %q, to which the lines belong at the base", c.base.symbol(found).Path)
	}
	return &HunkError{Code: CodeOwnedHunkStale, Path: t.path(), Line: h.Start, Value: h.Symbol, Want: want}
}

// owner gives the symbol that a range belongs to: the innermost that holds it without its blank edges, or the only
// one whose lines say anything in it.
func (v *view) owner(l symbols.Lines) int {
	for l.Start < l.End && !v.says(l.Start) && v.symbolAt(l.Start) < 0 {
		l.Start++
	}
	for l.End > l.Start && !v.says(l.End) && v.symbolAt(l.End) < 0 {
		l.End--
	}
	if s := v.outline.At(l); s >= 0 {
		return v.widest(s, l)
	}
	return -1
}

// widest gives the outermost symbol with exactly the lines of s: of several names on the same lines the first.
func (v *view) widest(s int, l symbols.Lines) int {
	for i := range v.outline.Symbols {
		if v.symbol(i).Lines == v.symbol(s).Lines && v.symbol(i).Lines.Contains(l) {
			return i
		}
	}
	return s
}

// named reports whether a declared name means the symbol: its path, or the end of it after a dot.
func named(s *symbols.Symbol, declared string) bool {
	return declared == s.Path || declared == s.Name || strings.HasSuffix(s.Path, "."+declared)
}

// undeclared reports a declared hunk of a path that the change does not touch.
func undeclared(touches []Touch, declared []Hunk) error {
	for _, h := range declared {
		if !slices.ContainsFunc(touches, func(t Touch) bool { return t.path() == h.Path }) {
			return &HunkError{Code: CodeOwnedHunkStale, Path: h.Path, Line: h.Start, Value: h.Path, Want: "a path that the diff touches"}
		}
	}
	return nil
}
