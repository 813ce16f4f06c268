package ownership

import (
	"fmt"
	"slices"
	"strings"

	"patchd/ownership/symbols"
)

// actor is a symbol that a side edits or adds, as it stands in that side's result.
type actor struct {
	at ref
	// base is the base symbol, symbol -1 for one that the side adds.
	base ref
	view *view
	uses map[string][]newUse
}

func (a *actor) symbol() *symbols.Symbol { return a.view.symbol(a.at.symbol) }

// actors lists what a side edits or adds, in order. What holds other code counts with its own lines only.
func (s *side) actors() []*actor {
	seen := map[ref]bool{}
	var list []*actor
	for f, c := range s.changes {
		if s.degraded[f] || c.result == nil || c.result.outline == nil {
			continue
		}
		for i := range c.edits {
			e := &c.edits[i]
			if e.quiet {
				continue
			}
			for _, b := range c.withFunctions(e.touched) {
				if r := c.toResult[b]; r >= 0 && !seen[ref{f, r}] {
					seen[ref{f, r}] = true
					list = append(list, newActor(c.result, ref{f, r}, ref{f, b}))
				}
			}
			for _, r := range e.added {
				if !seen[ref{f, r}] {
					seen[ref{f, r}] = true
					list = append(list, newActor(c.result, ref{f, r}, ref{f, -1}))
				}
			}
		}
	}
	slices.SortFunc(list, func(a, b *actor) int { return compareRefs(a.at, b.at) })
	return list
}

// withFunctions adds the functions around base symbols: their bodies hold them.
func (c *change) withFunctions(touched []int) []int {
	list := slices.Clone(touched)
	for _, b := range touched {
		for p := c.base.symbol(b).Parent; p >= 0; p = c.base.symbol(p).Parent {
			if kindGroup(c.base.symbol(p).Kind) == 1 {
				list = append(list, p)
			}
		}
	}
	return sortedSet(list)
}

func newActor(v *view, at, base ref) *actor {
	a := &actor{at: at, base: base, view: v, uses: map[string][]newUse{}}
	sym := v.symbol(at.symbol)
	own := kindGroup(sym.Kind) != 1
	v.eachUse(sym.Lines, func(u newUse) {
		if own && int(u.Symbol) != at.symbol {
			return
		}
		u.file = at.file
		a.uses[u.name] = append(a.uses[u.name], u)
	})
	return a
}

// coupled finds pairs of edits that can reach each other in one step: what one side edits is used by what the other
// edits, or two methods of one class share a field that one of them writes.
func (c *comparison) coupled() {
	left, right := c.left.actors(), c.right.actors()
	c.callers(c.left, c.right, left, right)
	c.callers(c.right, c.left, right, left)
	for _, l := range left {
		for _, r := range right {
			c.shareField(l, r)
		}
	}
	c.out.Coupled = sortReasons(c.out.Coupled)
	if c.in.ReviewCoupled {
		c.out.Reasons = append(c.out.Reasons, c.out.Coupled...)
	}
}

// callers finds users on the other side of base symbols that one side edits.
func (c *comparison) callers(one, other *side, edited, users []*actor) {
	for _, callee := range edited {
		if callee.base.symbol < 0 || kindGroup(callee.symbol().Kind) == 0 || kindGroup(callee.symbol().Kind) > 3 {
			continue
		}
		for _, caller := range users {
			if caller.base == callee.base || !c.reach(caller, callee, one, other) {
				continue
			}
			r := Reason{Code: CodeCoupledEdits, Path: c.pairs[callee.base.file].path, Base: c.pairs[callee.base.file].base.place(callee.base.symbol)}
			r.Symbol = callee.symbol().Path + " used by " + caller.symbol().Path
			c.addCoupled(r, callee, caller, one, fmt.Sprintf("%s edits %s, %s edits %s, which uses it", one.name, callee.symbol().Path, other.name, caller.symbol().Path))
		}
	}
}

func (c *comparison) reach(caller, callee *actor, one, other *side) bool {
	return slices.ContainsFunc(caller.uses[callee.symbol().Name], func(u newUse) bool {
		return u.Kind&symbols.UseName == 0 && c.refers(u, callee.base, one, other)
	})
}

// addCoupled puts what the first actor's side did on that side of the reason.
func (c *comparison) addCoupled(r Reason, a, b *actor, one *side, detail string) {
	first, second := a.view.place(a.at.symbol), b.view.place(b.at.symbol)
	if one == c.left {
		r.Left, r.Right = first, second
	} else {
		r.Left, r.Right = second, first
	}
	r.Detail = detail
	c.out.Coupled = append(c.out.Coupled, r.withLines())
}

// shareField reports two methods of one class of which one writes a field that the other uses.
func (c *comparison) shareField(l, r *actor) {
	a, b := l.symbol(), r.symbol()
	if l.base == r.base && l.base.symbol >= 0 || a.Path == b.Path || container(a) != container(b) || !isMember(a, l.view) || !isMember(b, r.view) {
		return
	}
	if l.at.file != r.at.file && (scopeOf(l.view.outline.Language) != scopePackage || dir(l.view.version.Path) != dir(r.view.version.Path)) {
		return
	}
	field := sharedField(l.fields(), r.fields())
	if field == "" {
		return
	}
	out := Reason{Code: CodeCoupledEdits, Path: min(c.pairs[l.at.file].path, c.pairs[r.at.file].path)}
	out.Symbol = min(a.Path, b.Path) + " and " + max(a.Path, b.Path)
	c.addCoupled(out, l, r, c.left, fmt.Sprintf("%s and %s share the field %s", min(a.Path, b.Path), max(a.Path, b.Path), field))
}

// sharedField gives the first name, in order, that both use and one writes.
func sharedField(a, b map[string]symbols.UseKind) string {
	best := ""
	for name, kind := range a {
		if other, ok := b[name]; ok && (kind|other)&symbols.UseWrite != 0 && (best == "" || name < best) {
			best = name
		}
	}
	return best
}

// fields gives the roles of the fields of its own object that a method uses.
func (a *actor) fields() map[string]symbols.UseKind {
	list := map[string]symbols.UseKind{}
	receiver, declared := a.receiver(), a.declaredFields()
	for name, uses := range a.uses {
		for _, u := range uses {
			own := u.Kind&symbols.UseMember != 0 && u.Kind&symbols.UseCall == 0 &&
				(u.qualifier == "self" || u.qualifier == "this" || receiver != "" && u.qualifier == receiver)
			bare := u.Kind&symbols.UseMember == 0 && (strings.HasPrefix(name, "@") || declared[name])
			if own || bare {
				list[name] |= u.Kind
			}
		}
	}
	return list
}

// receiver gives the name of a Go method's receiver: the first name that the method defines.
func (a *actor) receiver() string {
	if a.view.outline.Language != "go" {
		return ""
	}
	first := newUse{}
	a.view.eachUse(a.symbol().Lines, func(u newUse) {
		if first.name == "" && u.Kind&symbols.UseWrite != 0 && u.Kind&symbols.UseName == 0 {
			first = u
		}
	})
	return first.name
}

// declaredFields gives the names that the class around a method defines, where they need no "this".
func (a *actor) declaredFields() map[string]bool {
	list := map[string]bool{}
	parent := a.symbol().Parent
	if parent < 0 || !implicitThis(a.view.outline.Language) {
		return list
	}
	a.view.eachUse(a.view.symbol(parent).Lines, func(u newUse) {
		if int(u.Symbol) == parent && u.Kind&symbols.UseWrite != 0 && u.Kind&symbols.UseName == 0 {
			list[u.name] = true
		}
	})
	return list
}
