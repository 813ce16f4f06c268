package symbols

import "github.com/smacker/go-tree-sitter/elm"

func elmTable() table {
	return table{
		language: "elm", version: "1", extensions: []string{"elm"}, load: elm.GetLanguage, indents: true,
		defs: map[string]def{
			"value_declaration":      {kind: KindFunction, top: true, names: elmValue},
			"type_alias_declaration": {kind: KindType, body: "typeExpression"},
			"type_declaration":       {kind: KindEnum},
			"port_annotation":        {kind: KindFunction},
		},
		comments:    []string{"line_comment", "block_comment"},
		literals:    []string{"string_constant_expr", "char_constant_expr"},
		identifiers: []string{"lower_case_identifier", "upper_case_identifier"},
		members:     map[string][2]string{"value_qid": {"", ""}, "field_access_expr": {"", ""}},
		calls:       map[string][2]string{"function_call_expr": {"target", ""}},
		writes:      map[string][]string{"function_declaration_left": {""}, "lower_pattern": {""}},
		attached:    []string{"type_annotation"},
		imports:     map[string]func(*tree, int32) []Import{"import_clause": dottedImport(".")},
	}
}

func elmValue(t *tree, n int32) []name {
	left := t.field(n, "functionDeclarationLeft")
	id := t.child(left, "lower_case_identifier")
	if id < 0 {
		return nil
	}
	kind := KindFunction
	if t.nodes[id].next < 0 {
		kind = KindVariable
	}
	return []name{{text: t.content(id), kind: kind}}
}
