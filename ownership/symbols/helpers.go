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
