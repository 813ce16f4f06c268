package symbols

import (
	"cmp"
	"slices"
)

// mark notes the roles that a node gives to the names below it. It runs before those are reached.
func (x *extractor) mark(i int32, in *info) {
	t := x.t
	for _, f := range in.writes {
		if f == "" {
			x.spread(i, UseWrite)
			continue
		}
		for c := t.nodes[i].first; c >= 0; c = t.nodes[c].next {
			if t.inField(c, f) {
				x.spread(c, UseWrite)
			}
		}
	}
	if in.label != "" {
		if c := t.field(i, in.label); c >= 0 {
			x.roles[c] |= UseLabel
		}
	}
	if in.member != nil {
		x.member(i, in.member)
	}
	if in.call != nil {
		x.call(i, in.call)
	}
}

func (x *extractor) spread(n int32, role UseKind) {
	for i := n; i <= x.t.nodes[n].last; i++ {
		x.roles[i] |= role
	}
}

func (x *extractor) member(i int32, fields *[2]string) {
	property := x.t.field(i, fields[1])
	if property < 0 {
		return
	}
	x.roles[property] |= UseMember
	if name := x.lastName(x.t.field(i, fields[0])); name >= 0 {
		x.quals[property] = name
	}
}

// lastName gives the name that an expression ends in: b of a.b, -1 for what is no name.
func (x *extractor) lastName(n int32) int32 {
	if n < 0 {
		return -1
	}
	for i := x.t.nodes[n].last; i >= n; i-- {
		in := x.t.g.info(x.t.nodes[i].sym)
		if x.t.nodes[i].first < 0 && in.named {
			if in.ident || x.t.is(i, "this", "self", "super") {
				return x.intern(x.t.content(i))
			}
			return -1
		}
		if x.t.nodes[i].first < 0 && x.t.nodes[i].end > x.t.nodes[i].start {
			if s := x.t.content(i); s == "this" || s == "self" || s == "super" {
				return x.intern(s)
			}
			return -1
		}
	}
	return -1
}

func (x *extractor) call(i int32, fields *[2]string) {
	t := x.t
	callee := t.field(i, fields[0])
	if callee < 0 {
		callee = firstNamed(t, i)
	}
	args := int16(-1)
	if list := t.field(i, fields[1]); list >= 0 {
		args = x.count(list)
	}
	for callee >= 0 {
		in := t.g.info(t.nodes[callee].sym)
		if in.ident {
			x.roles[callee] |= UseCall
			x.args[callee] = args
			return
		}
		if in.member == nil {
			return
		}
		callee = t.field(callee, in.member[1])
	}
}

// count gives the number of arguments, or -1 where a spread or a block hides it.
func (x *extractor) count(list int32) int16 {
	n := int16(0)
	x.t.children(list, func(c int32) {
		in := x.t.g.info(x.t.nodes[c].sym)
		switch {
		case in.comment || n < 0:
		case x.t.is(c, "spread_element", "list_splat", "dictionary_splat", "variadic_argument", "splat_argument", "hash_splat_argument"):
			n = -1
		default:
			n++
		}
	})
	if x.t.child(list, "...") >= 0 {
		return -1
	}
	return n
}

func (x *extractor) use(i int32, in *info) {
	u := Use{Name: x.intern(x.t.content(i)), Line: int32(x.t.line(x.t.nodes[i].start)), Symbol: -1, Kind: x.roles[i], Args: -1, Qualifier: -1}
	if len(x.stack) > 0 {
		top := &x.stack[len(x.stack)-1]
		u.Symbol = top.symbol
		if !top.named && x.out.Names[u.Name] == top.own {
			top.named = true
			u.Kind |= UseName | UseWrite
		}
	}
	if in.typ {
		u.Kind |= UseType
	}
	if a, ok := x.args[i]; ok {
		u.Args = a
	}
	if q, ok := x.quals[i]; ok {
		u.Qualifier = q
	}
	if u.Kind&(UseWrite|UseName|UseLabel) == 0 {
		u.Kind |= UseRead
	}
	x.out.Uses = append(x.out.Uses, u)
}

func (x *extractor) intern(s string) int32 {
	if id, ok := x.names[s]; ok {
		return id
	}
	id := int32(len(x.out.Names))
	x.names[s] = id
	x.out.Names = append(x.out.Names, s)
	return id
}

// sort puts the symbols in the order that Outline promises and renumbers what refers to them.
func (x *extractor) sort() {
	order := make([]int, len(x.out.Symbols))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		l, r := x.out.Symbols[a].Lines, x.out.Symbols[b].Lines
		return cmp.Or(cmp.Compare(l.Start, r.Start), cmp.Compare(r.End, l.End), cmp.Compare(a, b))
	})
	place := make([]int, len(order))
	sorted := make([]Symbol, len(order))
	for to, from := range order {
		place[from] = to
		sorted[to] = x.out.Symbols[from]
	}
	for i := range sorted {
		if sorted[i].Parent >= 0 {
			sorted[i].Parent = place[sorted[i].Parent]
		}
	}
	supers := make(map[int][]string, len(x.out.Supers))
	for from, names := range x.out.Supers {
		supers[place[from]] = names
	}
	for i := range x.out.Uses {
		if s := x.out.Uses[i].Symbol; s >= 0 {
			x.out.Uses[i].Symbol = int32(place[s])
		}
	}
	x.out.Symbols, x.out.Supers = sorted, supers
}
