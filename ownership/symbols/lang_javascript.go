package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/javascript"
)

func javascriptTable() table {
	return table{
		language: "javascript", version: "1", extensions: []string{"js", "jsx", "mjs", "cjs", "es6"}, load: javascript.GetLanguage,
		defs:        ecmaDefs(),
		comments:    []string{"comment", "hash_bang_line", "html_comment"},
		literals:    []string{"string", "template_string", "regex", "jsx_text"},
		identifiers: ecmaIdentifiers(),
		members:     map[string][2]string{"member_expression": {"object", "property"}},
		calls:       map[string][2]string{"call_expression": {"function", "arguments"}, "new_expression": {"constructor", "arguments"}},
		writes:      ecmaWrites(),
		labels:      map[string]string{"pair": "key"},
		statements:  ecmaStatements(),
		wrappers:    []string{"export_statement", "lexical_declaration", "variable_declaration", "expression_statement"},
		attached:    []string{"decorator"},
		imports:     map[string]func(*tree, int32) []Import{"import_statement": ecmaImports, "variable_declarator": ecmaRequire},
		supers:      func(t *tree, n int32) []string { return identifiersBelow(t, t.child(n, "class_heritage")) },
	}
}

// ecmaDefs is shared by the languages of the ECMAScript family.
func ecmaDefs() map[string]def {
	return map[string]def{
		"function_declaration":           {kind: KindFunction},
		"generator_function_declaration": {kind: KindFunction},
		"class_declaration":              {kind: KindClass},
		"method_definition":              {kind: KindMethod, names: ecmaMethod},
		"field_definition":               {kind: KindMethod, names: ecmaField},
		"public_field_definition":        {kind: KindMethod, names: ecmaField},
		"variable_declarator":            {kind: KindVariable, names: ecmaVariable},
		"assignment_expression":          {kind: KindFunction, names: ecmaAssigned},
		"pair":                           {kind: KindMethod, names: ecmaPair},
		"export_statement":               {kind: KindFunction, names: ecmaDefault},
		"import_specifier":               {kind: KindImport, names: ecmaImportName, body: "-"},
		"namespace_import":               {kind: KindImport, names: ecmaImportName, body: "-"},
		"import_clause":                  {kind: KindImport, names: ecmaImportDefault, body: "-"},
	}
}

func ecmaIdentifiers() []string {
	return []string{
		"identifier", "property_identifier", "private_property_identifier", "shorthand_property_identifier",
		"shorthand_property_identifier_pattern", "type_identifier", "statement_identifier",
	}
}

func ecmaWrites() map[string][]string {
	return map[string][]string{
		"assignment_expression": {"left"}, "augmented_assignment_expression": {"left"}, "update_expression": {"argument"},
		"variable_declarator": {"name"}, "for_in_statement": {"left"}, "formal_parameters": {""}, "catch_clause": {"parameter"},
		"arrow_function": {"parameter"},
	}
}

func ecmaStatements() []string {
	return []string{
		"expression_statement", "return_statement", "throw_statement", "lexical_declaration", "variable_declaration",
		"import_statement", "break_statement", "continue_statement",
	}
}

// ecmaValue gives the function or class that a name is bound to, seen through parentheses and wrapping calls of one argument.
func ecmaValue(t *tree, n int32) int32 {
	for range 4 {
		switch {
		case t.is(n, "arrow_function", "function", "function_expression", "generator_function", "class"):
			return n
		case t.is(n, "parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression"):
			n = firstNamed(t, n)
		case t.is(n, "call_expression"):
			if n = ecmaOnlyFunction(t, t.field(n, "arguments")); n < 0 {
				return -1
			}
		default:
			return -1
		}
	}
	return -1
}

// ecmaOnlyFunction gives the first argument when it is a function, as in memo(() => …) or useCallback(() => …, []).
func ecmaOnlyFunction(t *tree, args int32) int32 {
	first := firstNamed(t, args)
	if t.is(first, "arrow_function", "function", "function_expression") {
		return first
	}
	return -1
}

func ecmaBound(t *tree, text, container string, value int32, kind Kind) []name {
	if t.is(value, "class") {
		kind = KindClass
	}
	params := t.field(value, "parameters")
	if params < 0 {
		params = t.field(value, "parameter")
	}
	return []name{{text: text, container: container, kind: kind, body: t.field(value, "body"), params: params}}
}

func ecmaMethod(t *tree, n int32) []name {
	text := t.content(t.field(n, "name"))
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if t.is(c, "get", "set") {
			text = t.kind(c) + " " + text
		}
	}
	return []name{{text: text}}
}

func ecmaField(t *tree, n int32) []name {
	value := ecmaValue(t, t.field(n, "value"))
	property := t.field(n, "property")
	if property < 0 {
		property = t.field(n, "name")
	}
	if value < 0 {
		return nil
	}
	return ecmaBound(t, t.content(property), "", value, KindMethod)
}

// ecmaVariable makes every variable at the top of a module a symbol, and elsewhere those that are bound to a function.
func ecmaVariable(t *tree, n int32) []name {
	target := t.field(n, "name")
	value := ecmaValue(t, t.field(n, "value"))
	if t.is(target, "identifier") && value >= 0 {
		return ecmaBound(t, t.content(target), "", value, KindFunction)
	}
	if !ecmaAtTop(t, n) {
		return nil
	}
	if t.is(target, "identifier") {
		return []name{{text: t.content(target), body: -1}}
	}
	var names []name
	for i := target; target >= 0 && i <= t.nodes[target].last; i++ {
		if t.is(i, "identifier", "shorthand_property_identifier_pattern") {
			names = append(names, name{text: t.content(i), body: -1})
		}
	}
	return names
}

func ecmaAtTop(t *tree, n int32) bool {
	for p := t.nodes[n].parent; p >= 0; p = t.nodes[p].parent {
		if !t.is(p, "lexical_declaration", "variable_declaration", "export_statement", "program", "statement_block",
			"internal_module", "module", "expression_statement", "ambient_declaration") {
			return false
		}
		if t.is(p, "statement_block") && !t.is(t.nodes[p].parent, "internal_module", "module") {
			return false
		}
	}
	return true
}

// ecmaAssigned names a function that is assigned to a member: app.use = function () {}, Foo.prototype.bar = …
func ecmaAssigned(t *tree, n int32) []name {
	left, value := t.field(n, "left"), ecmaValue(t, t.field(n, "right"))
	if value < 0 || !t.is(left, "member_expression", "identifier") {
		return nil
	}
	text := squeeze(t.content(left))
	if len(text) > 120 {
		return nil
	}
	text = strings.ReplaceAll(text, ".prototype.", ".")
	container := ""
	if dot := strings.LastIndexByte(text, '.'); dot > 0 {
		container, text = text[:dot], text[dot+1:]
	}
	return ecmaBound(t, text, container, value, KindMethod)
}

func ecmaPair(t *tree, n int32) []name {
	value := t.field(n, "value")
	key := t.field(n, "key")
	if !t.is(value, "arrow_function", "function", "function_expression", "generator_function") || !t.is(key, "property_identifier", "string") {
		return nil
	}
	return ecmaBound(t, strings.Trim(t.content(key), `"'`), "", value, KindMethod)
}

// ecmaDefault names what a module exports as its default without giving it a name.
func ecmaDefault(t *tree, n int32) []name {
	if t.child(n, "default") < 0 {
		return nil
	}
	value := ecmaValue(t, t.field(n, "value"))
	if value < 0 {
		return nil
	}
	return ecmaBound(t, "default", "", value, KindFunction)
}

func ecmaImportName(t *tree, n int32) []name {
	source := t.field(importStatement(t, n), "source")
	item := t.field(n, "name")
	if item < 0 {
		item = t.child(n, "identifier")
	}
	return []name{{text: t.content(item), container: unquote(t.content(source))}}
}

func ecmaImportDefault(t *tree, n int32) []name {
	local := t.child(n, "identifier")
	if local < 0 {
		return nil
	}
	source := t.field(importStatement(t, n), "source")
	return []name{{text: t.content(local), container: unquote(t.content(source)), at: local}}
}

func importStatement(t *tree, n int32) int32 {
	for n >= 0 && !t.is(n, "import_statement") {
		n = t.nodes[n].parent
	}
	return n
}

func ecmaImports(t *tree, n int32) []Import {
	module := unquote(t.content(t.field(n, "source")))
	var list []Import
	for i := n; i <= t.nodes[n].last; i++ {
		line := t.line(t.nodes[i].start)
		switch {
		case t.is(i, "import_specifier"):
			in := Import{Name: t.content(t.field(i, "alias")), Item: t.content(t.field(i, "name")), Module: module, Line: line}
			if in.Name == "" {
				in.Name = in.Item
			}
			list = append(list, in)
		case t.is(i, "namespace_import"):
			list = append(list, Import{Name: t.content(t.child(i, "identifier")), Module: module, Line: line})
		case t.is(i, "identifier") && t.is(t.nodes[i].parent, "import_clause"):
			list = append(list, Import{Name: t.content(i), Item: "default", Module: module, Line: line})
		}
	}
	if len(list) == 0 {
		list = append(list, Import{Module: module})
	}
	return list
}

// ecmaRequire reads const x = require("y") and const {a, b} = require("y").
func ecmaRequire(t *tree, n int32) []Import {
	value := t.field(n, "value")
	if !t.is(value, "call_expression") || t.content(t.field(value, "function")) != "require" {
		return nil
	}
	module := unquote(t.content(firstNamed(t, t.field(value, "arguments"))))
	target := t.field(n, "name")
	if t.is(target, "identifier") {
		return []Import{{Name: t.content(target), Module: module}}
	}
	var list []Import
	for i := target; target >= 0 && i <= t.nodes[target].last; i++ {
		if t.is(i, "shorthand_property_identifier_pattern") {
			list = append(list, Import{Name: t.content(i), Item: t.content(i), Module: module, Line: t.line(t.nodes[i].start)})
		}
	}
	return list
}
