package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/rust"
)

func rustTable() table {
	return table{
		language: "rust", version: "1", extensions: []string{"rs"}, load: rust.GetLanguage,
		defs: map[string]def{
			"function_item":           {kind: KindFunction},
			"function_signature_item": {kind: KindFunction},
			"struct_item":             {kind: KindClass},
			"union_item":              {kind: KindClass},
			"enum_item":               {kind: KindEnum},
			"trait_item":              {kind: KindInterface},
			"impl_item":               {kind: KindImpl, names: rustImpl},
			"mod_item":                {kind: KindModule},
			"const_item":              {kind: KindConstant, body: "-"},
			"static_item":             {kind: KindVariable, body: "-"},
			"type_item":               {kind: KindType, body: "-"},
			"associated_type":         {kind: KindType, body: "-"},
			"macro_definition":        {kind: KindMacro, body: "-"},
		},
		comments:    []string{"line_comment", "block_comment"},
		literals:    []string{"string_literal", "raw_string_literal", "char_literal"},
		identifiers: []string{"identifier", "field_identifier", "type_identifier", "shorthand_field_identifier"},
		types:       []string{"type_identifier"},
		members:     map[string][2]string{"field_expression": {"value", "field"}, "scoped_identifier": {"path", "name"}, "scoped_type_identifier": {"path", "name"}},
		calls:       map[string][2]string{"call_expression": {"function", "arguments"}, "macro_invocation": {"macro", ""}},
		writes: map[string][]string{
			"assignment_expression": {"left"}, "compound_assignment_expr": {"left"}, "let_declaration": {"pattern"}, "parameter": {"pattern"},
			"for_expression": {"pattern"}, "closure_parameters": {""}, "match_pattern": {""},
		},
		labels: map[string]string{"field_initializer": "field"},
		statements: []string{
			"expression_statement", "let_declaration", "use_declaration", "field_declaration", "const_item", "static_item",
		},
		attached: []string{"attribute_item"},
		imports:  map[string]func(*tree, int32) []Import{"use_declaration": rustImports},
	}
}

// rustImpl gives an implementation a name of its own and puts its members below the type: S.new, and Tr.S.m for
// those of a trait.
func rustImpl(t *tree, n int32) []name {
	typ := t.find(t.field(n, "type"), "type_identifier", "primitive_type")
	trait := t.field(n, "trait")
	if typ < 0 {
		return nil
	}
	text, prefix := "impl "+t.content(typ), t.content(typ)
	if trait >= 0 {
		text = "impl " + squeeze(t.content(trait)) + " for " + t.content(typ)
		prefix = strings.TrimPrefix(t.content(t.find(trait, "type_identifier"))+"."+prefix, ".")
	}
	return []name{{text: text, prefix: prefix}}
}

func rustImports(t *tree, n int32) []Import {
	var list []Import
	rustUse(t, t.field(n, "argument"), "", &list)
	return list
}

// rustUse walks a use tree: a::{b, c as d, e::*}.
func rustUse(t *tree, n int32, prefix string, list *[]Import) {
	add := func(c int32, path, local string) {
		full := strings.Trim(prefix+"::"+path, ":")
		item := full[strings.LastIndex(full, ":")+1:]
		*list = append(*list, Import{Name: orElse(local, item), Item: item, Module: full, Line: t.line(t.nodes[c].start)})
	}
	switch {
	case n < 0:
	case t.is(n, "scoped_use_list"):
		rustUse(t, t.field(n, "list"), strings.Trim(prefix+"::"+squeeze(t.content(t.field(n, "path"))), ":"), list)
	case t.is(n, "use_list"):
		t.children(n, func(c int32) { rustUse(t, c, prefix, list) })
	case t.is(n, "use_as_clause"):
		add(n, squeeze(t.content(t.field(n, "path"))), t.content(t.field(n, "alias")))
	case t.is(n, "use_wildcard"):
	default:
		add(n, squeeze(t.content(n)), "")
	}
}
