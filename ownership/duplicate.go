package ownership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"patchd/ownership/symbols"
)

// duplicates finds definitions of one name that both sides add at different places of one scope.
func (c *comparison) duplicates() {
	left, right := c.left.added(), c.right.added()
	for _, l := range left {
		for _, r := range right {
			a, b := c.left.result(l), c.right.result(r)
			if a.Path != b.Path || !c.oneScope(l, r) || !collide(c.left.language(l), a, b) {
				continue
			}
			if l.file == r.file && c.pairs[l.file].base == nil {
				continue // one new file on both sides: its lines tell
			}
			c.add(c.duplicateReason(l, r, a))
		}
	}
	for _, p := range c.pairs {
		c.duplicateImports(p)
	}
}

// added lists the symbols that a side adds, including those that come from elsewhere, members only where their
// container is no addition itself.
func (s *side) added() []ref {
	var list []ref
	for f, c := range s.changes {
		if s.degraded[f] {
			continue
		}
		for i := range c.edits {
			for _, r := range c.edits[i].added {
				sym := c.result.symbol(r)
				if sym.Kind != symbols.KindImport && sym.Kind != symbols.KindModule && (sym.Parent < 0 || c.toBase[sym.Parent] >= 0) {
					list = append(list, ref{f, r})
				}
			}
		}
	}
	slices.SortFunc(list, compareRefs)
	return slices.Compact(list)
}

func (s *side) language(r ref) symbols.Language { return s.changes[r.file].result.outline.Language }

// oneScope reports whether two new symbols of one path would stand side by side: in one file, or at the top of
// two files of one Go or Java package.
func (c *comparison) oneScope(l, r ref) bool {
	if l.file == r.file {
		return true
	}
	lang := c.left.language(l)
	if lang != c.right.language(r) || scopeOf(lang) != scopePackage {
		return false
	}
	a, b := c.left.changes[l.file].result.version.Path, c.right.changes[r.file].result.version.Path
	return dir(a) == dir(b) && a != b && (lang != "go" || goTestFile(a) == goTestFile(b) || !goTestFile(a) || !goTestFile(b))
}

func goTestFile(p string) bool { return len(p) > 8 && p[len(p)-8:] == "_test.go" }

// collide reports whether a language refuses or overrides the second of two definitions.
func collide(l symbols.Language, a, b *symbols.Symbol) bool {
	if a.Kind == symbols.KindImpl || a.Kind == symbols.KindRule || a.Kind == symbols.KindSection {
		return false
	}
	if a.Kind == symbols.KindEntry {
		return !strings.Contains(a.Path, "[]") // items of a list are no siblings
	}
	if l == "go" && (a.Name == "init" || a.Name == "_") {
		return false
	}
	if overloads(l) && kindGroup(a.Kind) == 1 {
		return a.Params == b.Params
	}
	return true
}

// overloads reports whether functions of one name may differ by their parameters.
func overloads(l symbols.Language) bool {
	switch l {
	case "java", "kotlin", "scala", "groovy", "cpp", "csharp", "swift", "typescript", "tsx", "elixir":
		return true
	}
	return false
}

func (c *comparison) duplicateReason(l, r ref, a *symbols.Symbol) Reason {
	lp, rp := c.left.placeOf(l), c.right.placeOf(r)
	out := Reason{Code: CodeDuplicateSymbol, Path: min(c.pairs[l.file].path, c.pairs[r.file].path), Symbol: a.Path, Left: lp, Right: rp}
	out.Detail = fmt.Sprintf("both sides add %s", a.Path)
	if lp.Path != rp.Path {
		out.Detail += fmt.Sprintf(", in %s and %s", min(lp.Path, rp.Path), max(lp.Path, rp.Path))
	}
	return out.withLines()
}

// duplicateImports finds names that both sides import anew by different lines, where a language allows that once.
func (c *comparison) duplicateImports(p *filePair) {
	if p.degraded || p.base == nil || p.left == nil || p.right == nil {
		return
	}
	switch p.base.outline.Language {
	case "go", "javascript", "typescript", "tsx":
	default:
		return
	}
	for name, l := range p.l.newImports() {
		if r, ok := p.r.newImports()[name]; ok {
			line := func(v *view, im symbols.Import) *Place {
				return &Place{Path: v.version.Path, Lines: symbols.Lines{Start: im.Line, End: im.Line}, Header: v.lineText(im.Line)}
			}
			out := Reason{Code: CodeDuplicateSymbol, Path: p.path, Symbol: name, Left: line(p.left, l), Right: line(p.right, r)}
			out.Detail = fmt.Sprintf("both sides import %s anew", name)
			c.add(out.withLines())
		}
	}
}

// newImports gives the imports on lines that a side adds, of names that the base does not import.
func (c *change) newImports() map[string]symbols.Import {
	list := map[string]symbols.Import{}
	for _, im := range c.result.outline.Imports {
		if im.Name == "" || slices.ContainsFunc(c.base.outline.Imports, func(o symbols.Import) bool { return o.Name == im.Name }) {
			continue
		}
		if slices.ContainsFunc(c.edits, func(e edited) bool { return im.Line > e.NewStart && im.Line <= e.NewEnd }) {
			list[im.Name] = im
		}
	}
	return list
}

// brokenImports finds names that one side stops importing and the other side uses anew.
func (c *comparison) brokenImports(one, other *side) {
	for f, p := range c.pairs {
		ch := one.changes[f]
		if p.degraded || ch.base == nil || ch.result == nil || len(ch.edits) == 0 {
			continue
		}
		gone := ch.goneImports()
		if len(gone) == 0 {
			continue
		}
		uses := other.newUses()
		for _, im := range gone {
			for _, u := range uses[im.Name] {
				using := other.changes[u.file].result
				if u.file != f || u.Kind&(symbols.UseMember|symbols.UseLabel) != 0 || using.local(u, im.Name) || onImport(using, u) || !imports(using, im.Name) {
					continue
				}
				c.add(c.importReason(p, ch, im, u, one, other))
			}
		}
	}
}

func (c *change) goneImports() []symbols.Import {
	o := c.result.outline
	var list []symbols.Import
	for _, im := range c.base.outline.Imports {
		defined := imports(c.result, im.Name) || slices.ContainsFunc(o.Symbols, func(s symbols.Symbol) bool {
			return s.Name == im.Name && s.Parent < 0 && s.Kind != symbols.KindImport
		})
		if im.Name != "" && !defined {
			list = append(list, im)
		}
	}
	slices.SortFunc(list, func(a, b symbols.Import) int { return cmp.Compare(a.Line, b.Line) })
	return list
}

func imports(v *view, name string) bool {
	return slices.ContainsFunc(v.outline.Imports, func(im symbols.Import) bool { return im.Name == name })
}

// onImport reports whether a use is the import itself.
func onImport(v *view, u newUse) bool {
	return slices.ContainsFunc(v.outline.Imports, func(im symbols.Import) bool { return im.Line == int(u.Line) })
}

func (c *comparison) importReason(p *filePair, ch *change, im symbols.Import, u newUse, one, other *side) Reason {
	used := other.changes[u.file].result
	place := &Place{Path: used.version.Path, Lines: symbols.Lines{Start: int(u.Line), End: int(u.Line)}, Header: used.lineText(int(u.Line))}
	r := Reason{Code: CodeReferenceBroken, Path: p.path, Symbol: im.Name}
	r.Base = &Place{Path: ch.base.version.Path, Lines: symbols.Lines{Start: im.Line, End: im.Line}, Header: ch.base.lineText(im.Line)}
	if other == c.left {
		r.Left = place
	} else {
		r.Right = place
	}
	r.Detail = fmt.Sprintf("%s drops the import of %s, %s adds a use of it", one.name, im.Name, other.name)
	return r.withLines()
}
