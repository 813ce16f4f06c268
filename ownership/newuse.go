package ownership

import (
	"fmt"
	"slices"
	"strings"

	"patchd/ownership/symbols"
)

// newUse is a use of a name that a side adds to a file.
type newUse struct {
	file int
	name string
	// qualifier is what stands before the dot, if anything does.
	qualifier string
	symbols.Use
}

// newUses lists, by name, the uses that a side adds: those on lines it adds, of names that these lines use more
// often than the lines it removes from the same file.
func (s *side) newUses() map[string][]newUse {
	if s.uses != nil {
		return s.uses
	}
	list := map[string][]newUse{}
	s.uses = list
	for f, c := range s.changes {
		if s.degraded[f] || c.result == nil || c.result.outline == nil {
			continue
		}
		balance := map[string]int{}
		var added []newUse
		for i := range c.edits {
			e := &c.edits[i]
			if e.quiet {
				continue
			}
			if c.base != nil {
				c.base.eachUse(e.base(), func(u newUse) { balance[u.name]-- })
			}
			c.result.eachUse(e.result(), func(u newUse) {
				balance[u.name]++
				u.file = f
				added = append(added, u)
			})
		}
		for _, u := range added {
			if balance[u.name] > 0 && (u.Kind&symbols.UseName == 0 || c.result.imports(u)) {
				list[u.name] = append(list[u.name], u)
			}
		}
	}
	return list
}

// imports reports whether a use is the name that an import brings in.
func (v *view) imports(u newUse) bool {
	return u.Symbol >= 0 && v.symbol(int(u.Symbol)).Kind == symbols.KindImport
}

// eachUse calls f with the uses on a range of lines.
func (v *view) eachUse(l symbols.Lines, f func(newUse)) {
	if v.outline == nil || l.Empty() {
		return
	}
	from, _ := slices.BinarySearchFunc(v.outline.Uses, l.Start, func(u symbols.Use, line int) int { return int(u.Line) - line })
	for _, u := range v.outline.Uses[from:] {
		if int(u.Line) > l.End {
			return
		}
		n := newUse{name: v.outline.Names[u.Name], Use: u}
		if u.Qualifier >= 0 {
			n.qualifier = v.outline.Names[u.Qualifier]
		}
		f(n)
	}
}

// newReferences finds uses that the other side adds of symbols that one side removed from where they were, or
// changed the signature of.
func (c *comparison) newReferences(one, other *side) {
	if len(one.fates) == 0 {
		return
	}
	uses := other.newUses()
	for _, b := range sortedRefs(one.fates) {
		f := one.fates[b]
		from := one.base(b)
		if c.alike(f, other.fateOf(b), one, other) {
			continue
		}
		for _, u := range uses[from.Name] {
			if !c.refers(u, b, one, other) {
				continue
			}
			if !f.inFile && f.kind != fateKept && !c.stillThere(b, f, one) {
				c.broken(f.codes()[0], u, b, one, other)
			} else if f.signature && u.Kind&symbols.UseCall != 0 && !f.accepts(b, one) {
				c.add(c.fateReason(CodeSignatureChanged, b, one, other, fmt.Sprintf("adds a call in %s", c.pathOf(u, other))))
			}
		}
	}
}

// broken adds the fate of the symbol and the reference that it breaks.
func (c *comparison) broken(code Code, u newUse, b ref, one, other *side) {
	where := c.pathOf(u, other)
	c.add(c.fateReason(code, b, one, other, "adds a use of it in "+where))
	r := c.fateReason(code, b, one, other, "")
	r.Code, r.Path = CodeReferenceBroken, c.pairs[u.file].path
	r.Base = nil
	used := &Place{Path: where, Lines: symbols.Lines{Start: int(u.Line), End: int(u.Line)}, Header: other.changes[u.file].result.lineText(int(u.Line))}
	if other == c.left {
		r.Left = used
	} else {
		r.Right = used
	}
	r.BaseLines, r.LeftLines, r.RightLines = [2]int{}, [2]int{}, [2]int{}
	r.Detail = fmt.Sprintf("%s uses %s in %s, which %s", other.name, one.base(b).Path, where, one.name+" "+strings.Replace(one.fates[b].words(code, one), " it", "", 1))
	c.add(r.withLines())
}

func (c *comparison) pathOf(u newUse, s *side) string { return s.changes[u.file].result.version.Path }

// stillThere reports whether a name still means something where the use looks for it: another definition took it,
// the file brings it in from elsewhere, or the symbol moved to a place that the use sees as well.
func (c *comparison) stillThere(b ref, f fate, one *side) bool {
	from := one.base(b)
	ch := one.changes[b.file]
	if ch.result != nil && ch.result.outline != nil {
		o := ch.result.outline
		for i := range o.Symbols {
			if o.Symbols[i].Path == from.Path {
				return true
			}
		}
		if from.Parent < 0 && imports(ch.result, from.Name) && !imports(ch.base, from.Name) {
			return true // what was imported beside the definition is the definition, brought into an inner module
		}
	}
	if f.kind != fateMoved {
		return false
	}
	to := one.result(f.to)
	if to.Path != from.Path {
		return false
	}
	oldPath, newPath := ch.base.version.Path, one.changes[f.to.file].result.version.Path
	switch scopeOf(ch.base.outline.Language) {
	case scopePackage:
		return dir(oldPath) == dir(newPath)
	case scopeProgram:
		return true
	case scopeFile:
	}
	return oldPath == newPath
}

// accepts reports whether a call that fits the old signature surely fits the new one: parameters were only added at
// the end, and have defaults.
func (f fate) accepts(b ref, one *side) bool {
	if f.to.symbol < 0 {
		return false
	}
	from, to := one.base(b), one.result(f.to)
	return compatible(params(from.Params), params(to.Params))
}

// compatible reports whether new parameters extend old ones by such as may be left out.
func compatible(from, to []string) bool {
	if len(to) < len(from) {
		return false
	}
	for i, p := range from {
		if p != to[i] {
			return false
		}
	}
	for _, p := range to[len(from):] {
		if !strings.ContainsAny(p, "=?*") && !strings.Contains(p, "...") {
			return false
		}
	}
	return len(to) > len(from)
}

// params splits a normalised parameter list at its outer commas.
func params(list string) []string {
	list = strings.TrimSuffix(strings.TrimPrefix(list, "("), ")")
	if list == "" {
		return nil
	}
	var parts []string
	level, start := 0, 0
	for i, c := range list {
		switch c {
		case '(', '[', '{', '<':
			level++
		case ')', ']', '}', '>':
			level--
		case ',':
			if level == 0 {
				parts = append(parts, list[start:i])
				start = i + 1
			}
		}
	}
	if start < len(list) {
		parts = append(parts, list[start:])
	}
	return parts
}
