package symbols

import "strings"

// fieldNames makes a symbol of each child in the field.
func fieldNames(field string) func(t *tree, n int32) []name {
	return func(t *tree, n int32) []name {
		var names []name
		for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
			if t.inField(c, field) && t.named(c) {
				names = append(names, name{text: t.content(c)})
			}
		}
		return names
	}
}

// identifiersBelow lists the names in n's subtree, in order.
func identifiersBelow(t *tree, n int32) []string {
	var names []string
	if n < 0 {
		return nil
	}
	for i := n; i <= t.nodes[n].last; i++ {
		if t.g.info(t.nodes[i].sym).ident {
			names = append(names, t.content(i))
		}
	}
	return names
}

// firstNamed gives the first named child that is no comment, or -1.
func firstNamed(t *tree, n int32) int32 {
	if n < 0 {
		return -1
	}
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if t.named(c) && !t.g.info(t.nodes[c].sym).comment {
			return c
		}
	}
	return -1
}

// squeeze removes spacing except between two words.
func squeeze(s string) string {
	var b strings.Builder
	space := false
	var last byte
	for i := range len(s) {
		c := s[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			space = true
			continue
		}
		if space && isWord(last) && isWord(c) {
			b.WriteByte(' ')
		}
		space = false
		b.WriteByte(c)
		last = c
	}
	return b.String()
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

func unquote(s string) string { return strings.Trim(s, "\"'`") }

func firstPart(dotted string) string {
	before, _, _ := strings.Cut(dotted, ".")
	return before
}

// childName names a definition by its first child of one of the kinds.
func childName(kinds ...string) func(t *tree, n int32) []name {
	return func(t *tree, n int32) []name {
		if c := t.child(n, kinds...); c >= 0 {
			return []name{{text: squeeze(t.content(c))}}
		}
		return nil
	}
}

// fieldName names a definition by the last identifier in a field.
func fieldName(field string) func(t *tree, n int32) []name {
	return func(t *tree, n int32) []name {
		if c := t.field(n, field); c >= 0 {
			return []name{{text: squeeze(t.content(c))}}
		}
		return nil
	}
}

// joinChildren gives the text of all children of a kind.
func joinChildren(kinds ...string) func(t *tree, n int32) string {
	return func(t *tree, n int32) string {
		var parts []string
		t.children(n, func(c int32) {
			if t.is(c, kinds...) {
				parts = append(parts, squeeze(t.content(c)))
			}
		})
		return "(" + strings.Join(parts, ",") + ")"
	}
}

// superFields lists the names in the given fields and child kinds of a class.
func superFields(names ...string) func(t *tree, n int32) []string {
	return func(t *tree, n int32) []string {
		var list []string
		for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
			for _, f := range names {
				if t.inField(c, f) || t.is(c, f) {
					list = append(list, identifiersBelow(t, c)...)
					break
				}
			}
		}
		return list
	}
}

// dottedImport reads an import whose text is a path of names: the last one is what the file calls it.
func dottedImport(separators string) func(t *tree, n int32) []Import {
	return func(t *tree, n int32) []Import {
		names := identifiersBelow(t, n)
		if len(names) == 0 {
			return nil
		}
		module := strings.NewReplacer(separators, ".").Replace(strings.Join(names, "."))
		return []Import{{Name: names[len(names)-1], Item: names[len(names)-1], Module: module}}
	}
}

// pathImport reads an import of a file.
func pathImport(t *tree, n int32) []Import {
	path := t.field(n, "path")
	if path < 0 {
		path = firstNamed(t, n)
	}
	return []Import{{Module: strings.Trim(t.content(path), "\"'`<>")}}
}
