package symbols

import "github.com/smacker/go-tree-sitter/cue"

func cueTable() table {
	return table{
		language: "cue", version: "1", extensions: []string{"cue"}, load: cue.GetLanguage,
		defs: map[string]def{
			"field":      {kind: KindEntry, names: cueField},
			"let_clause": {kind: KindVariable, names: fieldName("left"), body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "multiline_string", "raw_string"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{"selector_expression": {"", ""}},
		imports:     map[string]func(*tree, int32) []Import{"import_spec": pathImport},
	}
}

// cueField joins the labels of x: y: 1.
func cueField(t *tree, n int32) []name {
	text := ""
	t.children(n, func(c int32) {
		if t.is(c, "label") {
			if text != "" {
				text += "."
			}
			text += unquote(squeeze(t.content(c)))
		}
	})
	return []name{{text: text, container: inSequence(t, n, "list_lit", "field"), body: t.find(t.child(n, "value"), "struct_lit")}}
}
