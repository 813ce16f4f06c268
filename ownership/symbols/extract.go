//nolint:gosec // G115: counts and offsets stay below the size cap of a file
package symbols

import (
	"bytes"
	"slices"
	"strings"
)

// maxName is the length in bytes above which a text is not taken for a name.
const maxName = 400

// extractor builds an outline from a flat tree in one pre-order pass.
type extractor struct {
	t       *tree
	out     *Outline
	classes []lineClass
	tokens  []token
	stack   []frame
	paths   map[string]int
	names   map[string]int32
	roles   []UseKind
	args    map[int32]int16
	quals   map[int32]int32
}

// frame is a symbol whose nodes are being walked.
type frame struct {
	symbol int32
	last   int32
	own    string
	prefix string
	named  bool
}

func outlineOf(g *grammar, text []byte) (*Outline, error) {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if g.before != "" || g.after != "" {
		rest := bytes.TrimRight(text, " \t\r\n")
		text = slices.Concat([]byte(g.before), rest, []byte(g.after), text[len(rest):])
	}
	t, err := parse(g, text)
	if err != nil {
		return nil, err
	}
	x := &extractor{
		t: t, out: &Outline{Language: g.language, Total: countLines(text), Supers: map[int][]string{}},
		tokens: t.tokens(), paths: map[string]int{}, names: map[string]int32{},
		roles: make([]UseKind, len(t.nodes)), args: map[int32]int16{}, quals: map[int32]int32{},
	}
	x.out.Text, x.classes = t.says(t.segments())
	x.walk()
	x.statements()
	x.sort()
	return x.out, nil
}

func (x *extractor) walk() {
	whole := int32(-1) // the last node of an identifier with parts
	for i := range int32(len(x.t.nodes)) {
		for len(x.stack) > 0 && i > x.stack[len(x.stack)-1].last {
			x.stack = x.stack[:len(x.stack)-1]
		}
		n := &x.t.nodes[i]
		in := x.t.g.info(n.sym)
		x.errors(i, n)
		x.mark(i, in)
		if in.imports != nil {
			x.imports(i, in)
		}
		if in.def != nil && (!in.def.top || x.atTop()) {
			x.define(i, in.def)
		}
		if i > whole && (in.whole || in.ident && n.first < 0) && n.start < n.end {
			x.use(i, in)
		}
		if in.whole {
			whole = max(whole, n.last)
		}
	}
	for _, offset := range x.t.deep {
		line := x.t.line(offset)
		x.out.Errors = append(x.out.Errors, Lines{line, line})
	}
}

// errors notes what did not parse. A token that is missing leaves the extent of the definition around it in doubt.
func (x *extractor) errors(i int32, n *node) {
	if n.sym != errorSymbol && !n.missing {
		return
	}
	if x.t.g.harmless != nil && x.t.g.harmless(x.t, i) {
		return
	}
	l := x.t.span(i)
	if n.missing && len(x.stack) > 0 {
		l = x.out.Symbols[x.stack[len(x.stack)-1].symbol].Lines
	}
	x.out.Errors = append(x.out.Errors, l)
}

func (x *extractor) imports(i int32, in *info) {
	line := x.t.span(i).Start
	for _, im := range in.imports(x.t, i) {
		if im.Line == 0 {
			im.Line = line
		}
		x.out.Imports = append(x.out.Imports, im)
	}
}

func (x *extractor) define(i int32, d *def) {
	var top *frame
	for _, nm := range x.namesOf(i, d) {
		nm.text = strings.TrimSpace(nm.text)
		if nm.text == "" || len(nm.text) > maxName {
			continue
		}
		symbol := x.symbol(i, d, nm)
		if top == nil {
			last := x.t.nodes[i].last
			if over := max(nm.at, nm.through); over > 0 {
				last = x.t.nodes[over].last
			}
			top = &frame{symbol: symbol, last: last, own: nm.text, prefix: x.prefix(symbol, nm)}
		}
	}
	if top != nil {
		x.stack = append(x.stack, *top)
	}
}

// atTop reports whether only modules enclose the place.
func (x *extractor) atTop() bool {
	for _, f := range x.stack {
		if x.out.Symbols[f.symbol].Kind != KindModule {
			return false
		}
	}
	return true
}

// prefix gives what the paths of a symbol's members begin with.
func (x *extractor) prefix(symbol int32, nm name) string {
	if nm.prefix == "" {
		return x.out.Symbols[symbol].Path
	}
	if len(x.stack) > 0 {
		return x.stack[len(x.stack)-1].prefix + "." + nm.prefix
	}
	return nm.prefix
}

func (x *extractor) namesOf(i int32, d *def) []name {
	if d.names != nil {
		return d.names(x.t, i)
	}
	n := x.t.field(i, "name")
	if n < 0 {
		return nil
	}
	return []name{{text: squeeze(x.t.content(n))}}
}

func (x *extractor) symbol(i int32, d *def, nm name) int32 {
	parent := -1
	parts := make([]string, 0, 3)
	if len(x.stack) > 0 {
		parent = int(x.stack[len(x.stack)-1].symbol)
		parts = append(parts, x.stack[len(x.stack)-1].prefix)
	}
	if nm.container != "" {
		parts = append(parts, nm.container)
	}
	s := Symbol{Kind: d.kind, Name: nm.text, Parent: parent, Path: strings.Join(append(parts, nm.text), ".")}
	if nm.kind != "" {
		s.Kind = nm.kind
	}
	if s.Kind == KindFunction && parent >= 0 && isClassLike(x.out.Symbols[parent].Kind) {
		s.Kind = KindMethod
	}
	s.Ordinal = x.paths[s.Path]
	x.paths[s.Path]++
	x.place(i, d, nm, &s)
	index := int32(len(x.out.Symbols))
	x.out.Symbols = append(x.out.Symbols, s)
	if x.t.g.supers != nil && isClassLike(s.Kind) {
		if supers := x.t.g.supers(x.t, i); len(supers) > 0 {
			x.out.Supers[int(index)] = supers
		}
	}
	return index
}

func isClassLike(k Kind) bool {
	return k == KindClass || k == KindInterface || k == KindEnum || k == KindImpl || k == KindType
}

// statements keeps the simple statements of several lines that hold no other statement.
func (x *extractor) statements() {
	next := int32(len(x.t.nodes))
	for i := int32(len(x.t.nodes)) - 1; i >= 0; i-- {
		n := &x.t.nodes[i]
		if !x.t.g.info(n.sym).statement {
			continue
		}
		if l := x.t.span(i); next > n.last && l.End > l.Start {
			x.out.Statements = append(x.out.Statements, l)
		}
		next = i
	}
	slices.Reverse(x.out.Statements)
}
