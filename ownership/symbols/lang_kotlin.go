package symbols

import "github.com/smacker/go-tree-sitter/kotlin"

func kotlinTable() table {
	return table{
		language: "kotlin", version: "1", extensions: []string{"kt", "kts"}, load: kotlin.GetLanguage,
		defs: map[string]def{
			"class_declaration":     {kind: KindClass, names: kotlinClass, paramsOf: kotlinParams},
			"object_declaration":    {kind: KindClass, names: kotlinClass},
			"companion_object":      {kind: KindClass, names: kotlinCompanion},
			"function_declaration":  {kind: KindFunction, names: kotlinFunction, paramsOf: kotlinParams},
			"secondary_constructor": {kind: KindMethod, names: kotlinConstructor, paramsOf: kotlinParams},
			"property_declaration":  {kind: KindVariable, top: true, names: kotlinProperty},
			"type_alias":            {kind: KindType, names: childName("type_identifier")},
		},
		comments:    []string{"line_comment", "multiline_comment", "comment"},
		literals:    []string{"string_literal", "character_literal", "multi_line_string_literal", "line_string_literal"},
		identifiers: []string{"simple_identifier", "type_identifier", "interpolated_identifier"},
		types:       []string{"type_identifier"},
		members:     map[string][2]string{"navigation_expression": {"", ""}},
		calls:       map[string][2]string{"call_expression": {"", ""}, "constructor_invocation": {"", ""}},
		writes: map[string][]string{
			"directly_assignable_expression": {""}, "variable_declaration": {""}, "function_value_parameters": {""}, "class_parameter": {""},
			"lambda_parameters": {""},
		},
		statements: []string{"assignment", "property_declaration", "jump_expression"},
		attached:   []string{"annotation", "file_annotation"},
		imports:    map[string]func(*tree, int32) []Import{"import_header": dottedImport(".")},
		supers:     superFields("delegation_specifier"),
	}
}

func kotlinClass(t *tree, n int32) []name {
	kind := KindClass
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		switch t.kind(c) {
		case "interface":
			kind = KindInterface
		case "enum":
			kind = KindEnum
		}
	}
	return []name{{text: t.content(t.child(n, "type_identifier", "simple_identifier")), kind: kind, body: t.child(n, "class_body", "enum_class_body")}}
}

func kotlinCompanion(t *tree, n int32) []name {
	text := t.content(t.child(n, "type_identifier", "simple_identifier"))
	return []name{{text: orElse(text, "Companion"), body: t.child(n, "class_body")}}
}

// kotlinFunction puts the receiver's type of an extension before its name.
func kotlinFunction(t *tree, n int32) []name {
	id := t.child(n, "simple_identifier")
	container := ""
	for c := t.nodes[n].first; c >= 0 && c < id; c = t.nodes[c].next {
		if t.is(c, "user_type", "nullable_type") {
			container = squeeze(t.content(t.find(c, "type_identifier")))
		}
	}
	return []name{{text: t.content(id), container: container, body: t.child(n, "function_body")}}
}

func kotlinConstructor(t *tree, n int32) []name {
	return []name{{text: "constructor", body: t.child(n, "statements", "block", "function_body")}}
}

func kotlinProperty(t *tree, n int32) []name {
	return []name{{text: t.content(t.find(t.child(n, "variable_declaration"), "simple_identifier")), body: -1}}
}

func kotlinParams(t *tree, n int32) string {
	if c := t.child(n, "function_value_parameters", "primary_constructor"); c >= 0 {
		return t.content(c)
	}
	return joinChildren("class_parameter")(t, n)
}
