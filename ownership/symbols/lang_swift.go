package symbols

import "github.com/smacker/go-tree-sitter/swift"

func swiftTable() table {
	return table{
		language: "swift", version: "1", extensions: []string{"swift"}, load: swift.GetLanguage,
		defs: map[string]def{
			"class_declaration":             {kind: KindClass, names: swiftClass},
			"protocol_declaration":          {kind: KindInterface},
			"function_declaration":          {kind: KindFunction, paramsOf: joinChildren("parameter")},
			"protocol_function_declaration": {kind: KindMethod, paramsOf: joinChildren("parameter")},
			"init_declaration":              {kind: KindMethod, names: swiftInit("init"), paramsOf: joinChildren("parameter")},
			"deinit_declaration":            {kind: KindMethod, names: swiftInit("deinit")},
			"subscript_declaration":         {kind: KindMethod, names: swiftInit("subscript"), paramsOf: joinChildren("parameter")},
			"typealias_declaration":         {kind: KindType, body: "-"},
			"property_declaration":          {kind: KindVariable, names: swiftProperty, body: "computed_value"},
		},
		comments:    []string{"comment", "multiline_comment"},
		literals:    []string{"line_string_literal", "multi_line_string_literal", "raw_string_literal", "regex_literal"},
		identifiers: []string{"simple_identifier", "type_identifier"},
		types:       []string{"type_identifier"},
		members:     map[string][2]string{"navigation_expression": {"target", "suffix"}},
		calls:       map[string][2]string{"call_expression": {"", ""}},
		writes: map[string][]string{
			"directly_assignable_expression": {""}, "pattern": {""}, "parameter": {"name"}, "lambda_function_type_parameters": {""},
		},
		labels:     map[string]string{"value_argument": "name"},
		statements: []string{"assignment", "property_declaration", "control_transfer_statement", "import_declaration"},
		attached:   []string{"attribute"},
		imports:    map[string]func(*tree, int32) []Import{"import_declaration": dottedImport(".")},
		supers:     superFields("inheritance_specifier"),
	}
}

// swiftClass keeps an extension apart from the type that it extends, and its members with it.
func swiftClass(t *tree, n int32) []name {
	id := squeeze(t.content(t.field(n, "name")))
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		switch t.kind(c) {
		case "extension":
			return []name{{text: "extension " + id, prefix: id, kind: KindImpl}}
		case "enum":
			return []name{{text: id, kind: KindEnum}}
		}
	}
	return []name{{text: id}}
}

func swiftInit(text string) func(*tree, int32) []name {
	return func(*tree, int32) []name { return []name{{text: text}} }
}

// swiftProperty takes properties at the top of a file, and computed ones of a type.
func swiftProperty(t *tree, n int32) []name {
	computed := t.field(n, "computed_value") >= 0
	if !computed && !t.is(t.nodes[n].parent, "source_file") {
		return nil
	}
	kind := KindVariable
	if computed {
		kind = KindMethod
	}
	return []name{{text: t.content(t.find(t.field(n, "name"), "simple_identifier")), kind: kind}}
}
