package symbols

import "github.com/smacker/go-tree-sitter/python"

func pythonTable() table {
	return table{
		language: "python", version: "1", extensions: []string{"py", "pyi", "pyw"}, load: python.GetLanguage,
		defs: map[string]def{
			"class_definition":    {kind: KindClass},
			"function_definition": {kind: KindFunction},
			"assignment":          {kind: KindVariable, top: true, names: pythonVariables, body: "-"},
			"aliased_import":      {kind: KindImport, names: pythonImport, body: "-"},
			"dotted_name":         {kind: KindImport, names: pythonImport, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "concatenated_string"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{"attribute": {"object", "attribute"}},
		calls:       map[string][2]string{"call": {"function", "arguments"}},
		writes: map[string][]string{
			"assignment": {"left"}, "augmented_assignment": {"left"}, "named_expression": {"name"}, "for_statement": {"left"},
			"for_in_clause": {"left"}, "delete_statement": {""}, "as_pattern_target": {""}, "parameters": {""}, "lambda_parameters": {""},
			"global_statement": {""}, "nonlocal_statement": {""},
		},
		labels: map[string]string{"keyword_argument": "name"},
		statements: []string{
			"expression_statement", "return_statement", "assert_statement", "raise_statement", "delete_statement",
			"import_statement", "import_from_statement", "future_import_statement", "global_statement", "nonlocal_statement",
		},
		wrappers: []string{"decorated_definition"},
		indents:  true,
		imports: map[string]func(*tree, int32) []Import{
			"import_statement": pythonImports, "import_from_statement": pythonImports, "future_import_statement": pythonImports,
		},
		supers: func(t *tree, n int32) []string { return identifiersBelow(t, t.field(n, "superclasses")) },
	}
}

// pythonVariables names what an assignment at the top of a module defines; a target such as a[0] defines nothing.
func pythonVariables(t *tree, n int32) []name {
	left := t.field(n, "left")
	if t.is(left, "identifier") {
		return []name{{text: t.content(left)}}
	}
	var names []name
	if t.is(left, "pattern_list", "tuple_pattern") {
		t.children(left, func(c int32) {
			if t.is(c, "identifier") {
				names = append(names, name{text: t.content(c)})
			}
		})
	}
	return names
}

// pythonImport makes each imported name a symbol of its own.
func pythonImport(t *tree, n int32) []name {
	parent := t.nodes[n].parent
	if !t.is(parent, "import_statement", "import_from_statement", "future_import_statement") || !t.inField(n, "name") {
		return nil
	}
	module := t.content(t.field(parent, "module_name"))
	text := t.content(n)
	if t.is(n, "aliased_import") {
		text = t.content(t.field(n, "name"))
	}
	return []name{{text: text, container: module}}
}

func pythonImports(t *tree, n int32) []Import {
	from := t.content(t.field(n, "module_name"))
	if t.is(n, "future_import_statement") {
		from = "__future__"
	}
	var list []Import
	for c := t.nodes[n].first; c >= 0; c = t.nodes[c].next {
		if !t.inField(c, "name") {
			continue
		}
		item, local := t.content(c), ""
		if t.is(c, "aliased_import") {
			item, local = t.content(t.field(c, "name")), t.content(t.field(c, "alias"))
		}
		in := Import{Name: local, Item: item, Module: from, Line: t.line(t.nodes[c].start)}
		if t.is(n, "import_statement") {
			in.Item, in.Module = "", item
		}
		if in.Name == "" {
			in.Name = item
			if in.Item == "" {
				in.Name = firstPart(item)
			}
		}
		list = append(list, in)
	}
	return list
}
