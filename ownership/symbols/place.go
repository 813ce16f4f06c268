package symbols

import "bytes"

// place works out the symbol's lines and fingerprints.
func (x *extractor) place(i int32, d *def, nm name, s *Symbol) {
	t, own, outer := x.t, i, nm.at
	if nm.at > 0 {
		own = nm.at
	} else {
		outer = x.wrapped(i)
	}
	end := t.nodes[outer].end
	if nm.through > 0 {
		end = t.nodes[nm.through].end
	}
	s.Lines = t.spanOf(t.nodes[outer].start, end)
	s.NameLine = t.span(own).Start
	start := t.nodes[outer].start
	for c := t.nodes[outer].prev; c >= 0; c = t.nodes[c].prev {
		in := t.g.info(t.nodes[c].sym)
		attached := in.attached || t.g.attach != nil && t.g.attach(t, c)
		if !attached && !in.comment {
			break
		}
		if attached {
			start = t.nodes[c].start
			s.Lines.Start = t.span(c).Start
		}
	}
	floor := 1
	if s.Parent >= 0 { // comments before what encloses it are not this symbol's
		floor = x.out.Symbols[s.Parent].Header.Start
	}
	s.Header.Start = s.Lines.Start
	for s.Lines.Start > floor && x.classes[s.Lines.Start-2] == lineComment {
		s.Lines.Start--
	}
	body, params := x.parts(i, d, nm)
	x.fingerprint(d, i, s, start, end, body)
	switch {
	case d.paramsOf != nil:
		s.Params = squeeze(d.paramsOf(t, i))
	case params >= 0:
		s.Params = squeeze(t.content(params))
	}
	s.Header.End = s.Lines.End
	if body >= 0 {
		s.Header.End = min(s.Lines.End, t.headerEnd(t.nodes[body].start, s.Header.Start))
		if s.Header.End < s.Lines.End {
			s.Body = Lines{s.Header.End + 1, s.Lines.End}
		}
	}
}

// headerEnd is the line on which the body begins, or the one before when the body has its line for itself.
func (t *tree) headerEnd(body uint32, floor int) int {
	line := t.line(body)
	if line > floor && len(bytes.TrimSpace(t.text[t.lines[line-1]:body])) == 0 {
		return line - 1
	}
	return line
}

// wrapped climbs to the node that holds nothing but this definition.
func (x *extractor) wrapped(i int32) int32 {
	t := x.t
	for {
		p := t.nodes[i].parent
		if p < 0 || !t.g.info(t.nodes[p].sym).wrapper {
			return i
		}
		defining := 0
		t.children(p, func(c int32) {
			if t.g.info(t.nodes[c].sym).def != nil || t.g.info(t.nodes[c].sym).wrapper {
				defining++
			}
		})
		if defining > 1 || t.child(p, "(") >= 0 && t.is(p, "import_declaration") {
			return i
		}
		i = p
	}
}

func (x *extractor) parts(i int32, d *def, nm name) (body, params int32) {
	body, params = nm.body, nm.params
	if body == 0 && d.body != "-" {
		body = x.t.field(i, orElse(d.body, "body"))
	}
	if params == 0 {
		params = x.t.field(i, orElse(d.params, "parameters"))
	}
	if body <= 0 {
		body = -1
	}
	if params <= 0 {
		params = -1
	}
	return body, params
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func (x *extractor) fingerprint(d *def, i int32, s *Symbol, start, end uint32, body int32) {
	own := hashBytes([]byte(s.Name))
	all := between(x.tokens, start, end, own)
	s.Exact, s.Tokens = fold(all), len(all)
	shape := all
	switch {
	case d.header != nil:
		s.Signature = hashText(d.header(x.t, i))
	case body >= 0:
		s.Signature = x.signature(i, x.t.nodes[body].start, own)
	case isCallable(s.Kind):
		s.Signature = x.signature(i, end, own)
	}
	if body >= 0 {
		shape = between(x.tokens, x.t.nodes[body].start, end, own)
	}
	if s.Kind != KindImport {
		s.Shape = sketch(shape)
	}
}

func isCallable(k Kind) bool { return k == KindFunction || k == KindMethod || k == KindMacro }

// signature folds the definition up to its body without decorators and annotations.
func (x *extractor) signature(i int32, end uint32, own uint32) uint64 {
	var hashes []uint32
	from := x.t.nodes[i].start
	for k := i + 1; k <= x.t.nodes[i].last && x.t.nodes[k].start < end; k++ {
		if n := &x.t.nodes[k]; x.t.g.info(n.sym).attached {
			hashes = append(hashes, between(x.tokens, from, n.start, own)...)
			from, k = n.end, n.last
		}
	}
	return fold(append(hashes, between(x.tokens, from, end, own)...))
}
