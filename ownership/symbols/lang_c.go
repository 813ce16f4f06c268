package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/c"
)

func cTable() table {
	return table{
		language: "c", version: "1", extensions: []string{"c"}, load: c.GetLanguage,
		defs: map[string]def{
			"function_definition":  {kind: KindFunction, names: cFunction, paramsOf: cParams},
			"declaration":          {kind: KindVariable, top: true, names: cDeclaration, paramsOf: cParams, body: "-"},
			"type_definition":      {kind: KindType, names: cTypedef},
			"struct_specifier":     {kind: KindClass, names: cSpecifier},
			"union_specifier":      {kind: KindClass, names: cSpecifier},
			"enum_specifier":       {kind: KindEnum, names: cSpecifier},
			"preproc_def":          {kind: KindMacro, body: "value"},
			"preproc_function_def": {kind: KindMacro, body: "value"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string_literal", "char_literal", "system_lib_string", "raw_string_literal", "preproc_arg"},
		identifiers: []string{"identifier", "field_identifier", "type_identifier"},
		types:       []string{"type_identifier"},
		members:     map[string][2]string{"field_expression": {"argument", "field"}},
		calls:       map[string][2]string{"call_expression": {"function", "arguments"}},
		writes: map[string][]string{
			"assignment_expression": {"left"}, "update_expression": {"argument"}, "init_declarator": {"declarator"},
			"parameter_declaration": {"declarator"}, "declaration": {"declarator"},
		},
		labels:     map[string]string{"field_designator": ""},
		statements: []string{"expression_statement", "declaration", "return_statement", "field_declaration", "preproc_include"},
		imports:    map[string]func(*tree, int32) []Import{"preproc_include": pathImport},
	}
}

// cDeclared climbs down a declarator to the function declarator, if there is one, and to what is named.
func cDeclared(t *tree, n int32) (function, id int32) {
	function = -1
	for d := t.field(n, "declarator"); d >= 0; {
		id = d
		if t.is(d, "function_declarator") {
			function = d
		}
		d = cInner(t, d)
	}
	if id == 0 {
		id = -1
	}
	return function, id
}

// cInner gives the declarator within a declarator, or -1.
func cInner(t *tree, d int32) int32 {
	next := t.field(d, "declarator")
	if next < 0 && t.is(d, "parenthesized_declarator", "reference_declarator", "attributed_declarator") {
		next = firstNamed(t, d)
	}
	return next
}

// cNamed splits A::b::f into its container and name.
func cNamed(t *tree, id int32) name {
	text := squeeze(t.content(id))
	container := ""
	for t.is(id, "qualified_identifier") {
		inner := t.field(id, "name")
		if inner < 0 {
			break
		}
		scope := t.field(id, "scope")
		if leaf := t.find(scope, "type_identifier", "namespace_identifier", "identifier"); leaf >= 0 {
			scope = leaf
		}
		if s := squeeze(t.content(scope)); s != "" {
			container = strings.TrimPrefix(container+"."+s, ".")
		}
		id, text = inner, squeeze(t.content(inner))
	}
	return name{text: text, container: container}
}

func cFunction(t *tree, n int32) []name {
	_, id := cDeclared(t, n)
	if id < 0 || t.field(n, "declarator") < 0 {
		return nil
	}
	nm := cNamed(t, id)
	if nm.container != "" {
		nm.kind = KindMethod
	}
	return []name{nm}
}

func cParams(t *tree, n int32) string {
	function, _ := cDeclared(t, n)
	return t.content(t.field(function, "parameters"))
}

// cDeclaration reads prototypes and variables; a declaration of a type alone names nothing.
func cDeclaration(t *tree, n int32) []name {
	var names []name
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if !t.inField(c, "declarator") {
			continue
		}
		id, kind := c, KindVariable
		for {
			if t.is(id, "function_declarator") {
				kind = KindFunction
			}
			next := cInner(t, id)
			if next < 0 {
				break
			}
			id = next
		}
		if t.is(id, "identifier", "field_identifier", "qualified_identifier", "destructor_name", "operator_name") {
			nm := cNamed(t, id)
			nm.kind, nm.body = kind, -1
			names = append(names, nm)
		}
	}
	return names
}

func cTypedef(t *tree, n int32) []name {
	_, id := cDeclared(t, n)
	if id < 0 {
		return nil
	}
	if p := t.find(id, "type_identifier"); p >= 0 {
		id = p
	}
	return []name{{text: t.content(id), body: t.field(t.field(n, "type"), "body")}}
}

// cSpecifier takes a struct, union, enum or class for a definition where it has a body.
func cSpecifier(t *tree, n int32) []name {
	body, id := t.field(n, "body"), t.field(n, "name")
	if body < 0 || id < 0 {
		return nil
	}
	nm := cNamed(t, id)
	nm.body = body
	return []name{nm}
}
