package symbols

import "github.com/smacker/go-tree-sitter/java"

func javaTable() table {
	return table{
		language: "java", version: "1", extensions: []string{"java"}, load: java.GetLanguage,
		defs: map[string]def{
			"class_declaration":           {kind: KindClass},
			"interface_declaration":       {kind: KindInterface},
			"annotation_type_declaration": {kind: KindInterface},
			"enum_declaration":            {kind: KindEnum},
			"record_declaration":          {kind: KindClass},
			"method_declaration":          {kind: KindMethod},
			"constructor_declaration":     {kind: KindMethod},
			"compact_constructor_declaration": {
				kind: KindMethod,
			},
		},
		comments:    []string{"line_comment", "block_comment", "comment"},
		literals:    []string{"string_literal", "character_literal", "text_block"},
		identifiers: []string{"identifier", "type_identifier"},
		types:       []string{"type_identifier"},
		members: map[string][2]string{
			"method_invocation": {"object", "name"}, "field_access": {"object", "field"}, "scoped_identifier": {"scope", "name"},
			"method_reference": {"", ""},
		},
		calls: map[string][2]string{"method_invocation": {"name", "arguments"}, "object_creation_expression": {"type", "arguments"}},
		writes: map[string][]string{
			"assignment_expression": {"left"}, "update_expression": {""}, "variable_declarator": {"name"}, "formal_parameter": {"name"},
			"enhanced_for_statement": {"name"}, "catch_formal_parameter": {"name"}, "resource": {"name"}, "lambda_expression": {"parameters"},
		},
		statements: []string{
			"expression_statement", "local_variable_declaration", "return_statement", "throw_statement", "field_declaration",
			"assert_statement", "explicit_constructor_invocation",
		},
		attached: []string{"marker_annotation", "annotation"},
		imports:  map[string]func(*tree, int32) []Import{"import_declaration": dottedImport(".")},
		supers:   superFields("superclass", "interfaces", "extends_interfaces"),
	}
}
