//nolint:gosec // G115: counts and offsets stay below the size cap of a file
package symbols

import (
	"cmp"
	"slices"
	"strings"
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
			if t.inField(c, f) && !t.is(c, "init_declarator") { // which has a target of its own
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
	if in.subscript && x.roles[i]&UseWrite != 0 {
		x.subscript(i)
	}
	if in.call != nil {
		x.call(i, in.call)
	}
}

// readOnly takes back what an assignment around said of a part that it only reads.
func (x *extractor) readOnly(n int32) {
	for i := n; i <= x.t.nodes[n].last; i++ {
		x.roles[i] &^= UseWrite
	}
}

// subscript takes the places of a[i] = 1 for read.
func (x *extractor) subscript(i int32) {
	first := firstNamed(x.t, i)
	x.t.children(i, func(c int32) {
		if c != first {
			x.readOnly(c)
		}
	})
}

func (x *extractor) spread(n int32, role UseKind) {
	for i := n; i <= x.t.nodes[n].last; i++ {
		x.roles[i] |= role
	}
}

// member marks the name after the dot; without anything before the dot it is no member.
func (x *extractor) member(i int32, fields *[2]string) {
	object := x.t.field(i, fields[0])
	if fields[0] == "" {
		object = firstNamed(x.t, i)
	}
	property := x.property(i, fields)
	if property < 0 || object < 0 || object == property {
		return
	}
	x.roles[property] |= UseMember
	if x.roles[i]&UseWrite != 0 {
		x.readOnly(object) // a.b = 1 writes b
	}
	if name := x.lastName(object); name >= 0 {
		x.quals[property] = name
	}
}

// property gives the leaf that names the member: the last identifier of the field, or of the node.
func (x *extractor) property(i int32, fields *[2]string) int32 {
	n := i
	if fields[1] != "" {
		if n = x.t.field(i, fields[1]); n < 0 {
			return -1
		}
	}
	for k := x.t.nodes[n].last; k >= n; k-- {
		in := x.t.g.info(x.t.nodes[k].sym)
		if in.whole || in.ident && x.t.nodes[k].first < 0 {
			if p := x.t.nodes[k].parent; p >= n && x.t.g.info(x.t.nodes[p].sym).whole {
				continue
			}
			return k
		}
	}
	return -1
}

// lastName gives the name that an expression ends in: b of a.b, -1 for what is no name.
func (x *extractor) lastName(n int32) int32 {
	if n < 0 {
		return -1
	}
	for i := x.t.nodes[n].last; i >= n; i-- {
		in := x.t.g.info(x.t.nodes[i].sym)
		if x.t.nodes[i].first < 0 && in.named {
			if in.ident || x.t.is(i, "this", "self", "super", "this_expression", "self_expression", "super_expression") {
				return x.intern(x.t.content(i))
			}
			return -1
		}
		if in.whole {
			return x.intern(strings.TrimPrefix(x.t.content(i), "$"))
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
	list := t.field(i, fields[1])
	if list < 0 {
		list = t.child(i, "value_arguments", "arguments", "argument_list")
	}
	if list < 0 {
		list = t.child(t.child(i, "call_suffix"), "value_arguments")
	}
	if list >= 0 {
		args = x.count(list)
	}
	for callee >= 0 {
		in := t.g.info(t.nodes[callee].sym)
		switch {
		case in.ident || in.whole:
			x.roles[callee] |= UseCall
			x.args[callee] = args
			return
		case in.member != nil:
			callee = x.property(callee, in.member)
		case t.is(callee, "generic_function", "command_name", "value_path", "value_expr", "generic_name", "qualified_name", "template_function", "scoped_type_identifier", "generic_type"):
			callee = x.property(callee, &[2]string{})
		default:
			return
		}
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
	start, _ := x.t.trim(x.t.nodes[i].start, x.t.nodes[i].end)
	u := Use{Name: x.intern(x.t.content(i)), Line: int32(x.t.line(start)), Symbol: -1, Kind: x.roles[i], Args: -1, Qualifier: -1}
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
