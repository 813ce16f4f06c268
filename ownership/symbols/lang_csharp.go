package symbols

import "github.com/smacker/go-tree-sitter/csharp"

func csharpTable() table {
	return table{
		language: "csharp", version: "1", extensions: []string{"cs", "csx"}, load: csharp.GetLanguage,
		defs: map[string]def{
			"namespace_declaration":    {kind: KindModule, names: fieldName("name")},
			"class_declaration":        {kind: KindClass},
			"struct_declaration":       {kind: KindClass},
			"record_declaration":       {kind: KindClass, paramsOf: joinChildren("parameter_list")},
			"interface_declaration":    {kind: KindInterface},
			"enum_declaration":         {kind: KindEnum},
			"delegate_declaration":     {kind: KindType},
			"method_declaration":       {kind: KindMethod},
			"constructor_declaration":  {kind: KindMethod},
			"destructor_declaration":   {kind: KindMethod, names: csharpDestructor},
			"operator_declaration":     {kind: KindMethod, names: csharpOperator},
			"indexer_declaration":      {kind: KindMethod, names: csharpIndexer, body: "accessors"},
			"property_declaration":     {kind: KindMethod, body: "accessors"},
			"event_declaration":        {kind: KindMethod, body: "accessors"},
			"local_function_statement": {kind: KindFunction},
		},
		comments:    []string{"comment"},
		literals:    []string{"string_literal", "verbatim_string_literal", "raw_string_literal", "interpolated_string_expression", "character_literal"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{"member_access_expression": {"expression", "name"}, "qualified_name": {"qualifier", "name"}},
		calls:       map[string][2]string{"invocation_expression": {"function", "arguments"}, "object_creation_expression": {"type", "arguments"}},
		writes: map[string][]string{
			"assignment_expression": {"left"}, "variable_declarator": {"name"}, "parameter": {"name"}, "prefix_unary_expression": {""},
			"postfix_unary_expression": {""}, "foreach_statement": {"left"}, "catch_declaration": {"name"},
		},
		statements: []string{
			"expression_statement", "local_declaration_statement", "return_statement", "throw_statement", "field_declaration",
			"event_field_declaration", "yield_statement",
		},
		attached: []string{"attribute_list"},
		imports:  map[string]func(*tree, int32) []Import{"using_directive": csharpImports},
		supers:   superFields("base_list"),
	}
}

func csharpDestructor(t *tree, n int32) []name {
	return []name{{text: "~" + t.content(t.field(n, "name"))}}
}

func csharpIndexer(*tree, int32) []name { return []name{{text: "this[]"}} }

func csharpOperator(t *tree, n int32) []name {
	return []name{{text: "operator " + t.content(t.field(n, "operator"))}}
}

func csharpImports(t *tree, n int32) []Import {
	names := identifiersBelow(t, n)
	alias := t.content(t.field(n, "name"))
	if len(names) == 0 {
		return nil
	}
	return []Import{{Name: alias, Module: names[len(names)-1]}}
}
