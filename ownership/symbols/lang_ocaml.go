package symbols

import "github.com/smacker/go-tree-sitter/ocaml"

func ocamlTable() table {
	return table{
		language: "ocaml", version: "1", extensions: []string{"ml"}, load: ocaml.GetLanguage,
		defs: map[string]def{
			"let_binding":            {kind: KindFunction, top: true, names: ocamlBinding, paramsOf: joinChildren("parameter")},
			"type_binding":           {kind: KindType},
			"module_binding":         {kind: KindModule, names: childName("module_name")},
			"module_type_definition": {kind: KindModule, names: childName("module_type_name")},
			"class_binding":          {kind: KindClass},
			"method_definition":      {kind: KindMethod},
			"exception_definition":   {kind: KindType, names: ocamlException, body: "-"},
			"external":               {kind: KindFunction, names: childName("value_name")},
			"value_specification":    {kind: KindFunction, names: childName("value_name")},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "quoted_string", "character"},
		identifiers: []string{"value_name", "module_name", "type_constructor", "constructor_name", "field_name", "method_name", "value_pattern", "class_name", "module_type_name"},
		types:       []string{"type_constructor"},
		members:     map[string][2]string{"value_path": {"", ""}, "field_get_expression": {"", ""}, "method_invocation": {"", ""}},
		calls:       map[string][2]string{"application_expression": {"function", ""}},
		writes:      map[string][]string{"let_binding": {"pattern"}, "parameter": {""}, "set_expression": {""}},
		wrappers:    []string{"value_definition", "type_definition", "module_definition", "class_definition"},
		attached:    []string{"floating_attribute", "item_attribute"},
		imports:     map[string]func(*tree, int32) []Import{"open_module": dottedImport(".")},
	}
}

// ocamlBinding tells functions from values by their parameters; a pattern names nothing of its own.
func ocamlBinding(t *tree, n int32) []name {
	id := t.field(n, "pattern")
	if !t.is(id, "value_name") {
		return nil
	}
	if t.child(n, "parameter") < 0 && !t.is(t.field(n, "body"), "fun_expression", "function_expression") {
		return []name{{text: t.content(id), kind: KindVariable, body: -1}}
	}
	return []name{{text: t.content(id)}}
}

func ocamlException(t *tree, n int32) []name {
	return []name{{text: t.content(t.find(n, "constructor_name"))}}
}
