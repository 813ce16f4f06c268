package symbols

import "github.com/smacker/go-tree-sitter/scala"

func scalaTable() table {
	return table{
		language: "scala", version: "1", extensions: []string{"scala", "sc"}, load: scala.GetLanguage,
		defs: map[string]def{
			"class_definition":     {kind: KindClass, params: "class_parameters"},
			"object_definition":    {kind: KindClass},
			"trait_definition":     {kind: KindInterface},
			"enum_definition":      {kind: KindEnum},
			"function_definition":  {kind: KindFunction, paramsOf: joinChildren("parameters")},
			"function_declaration": {kind: KindFunction, paramsOf: joinChildren("parameters")},
			"val_definition":       {kind: KindVariable, top: true, names: fieldName("pattern"), body: "-"},
			"var_definition":       {kind: KindVariable, top: true, names: fieldName("pattern"), body: "-"},
			"type_definition":      {kind: KindType, body: "-"},
			"given_definition":     {kind: KindVariable},
		},
		comments:    []string{"comment", "block_comment"},
		literals:    []string{"string", "interpolated_string_expression", "character_literal", "symbol_literal"},
		identifiers: []string{"identifier", "type_identifier", "operator_identifier"},
		types:       []string{"type_identifier"},
		members:     map[string][2]string{"field_expression": {"value", "field"}},
		calls:       map[string][2]string{"call_expression": {"function", "arguments"}, "instance_expression": {"", "arguments"}},
		writes: map[string][]string{
			"assignment_expression": {"left"}, "val_definition": {"pattern"}, "var_definition": {"pattern"}, "parameter": {"name"},
			"class_parameter": {"name"}, "enumerator": {""}, "binding": {"name"},
		},
		statements: []string{"val_definition", "var_definition", "assignment_expression", "call_expression"},
		attached:   []string{"annotation"},
		imports:    map[string]func(*tree, int32) []Import{"import_declaration": scalaImports},
		supers:     superFields("extend"),
	}
}

func scalaImports(t *tree, n int32) []Import {
	module := ""
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if t.inField(c, "path") {
			if module != "" {
				module += "."
			}
			module += t.content(c)
		}
	}
	selectors := t.child(n, "namespace_selectors")
	if selectors < 0 {
		last := module[max(0, lastDot(module)+1):]
		return []Import{{Name: last, Item: last, Module: module}}
	}
	var list []Import
	t.children(selectors, func(c int32) {
		item, local := t.content(c), t.content(c)
		if t.is(c, "arrow_renamed_identifier", "as_renamed_identifier") {
			item, local = t.content(t.field(c, "name")), t.content(t.field(c, "alias"))
		}
		list = append(list, Import{Name: local, Item: item, Module: module + "." + item, Line: t.line(t.nodes[c].start)})
	})
	return list
}

func lastDot(s string) int {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == '.' {
			return i
		}
	}
	return -1
}
