package symbols

import "github.com/smacker/go-tree-sitter/sql"

func sqlTable() table {
	create := func(kind Kind) def { return def{kind: kind, names: sqlName} }
	return table{
		language: "sql", version: "1", extensions: []string{"sql", "ddl", "pgsql"}, load: sql.GetLanguage,
		defs: map[string]def{
			"create_table":             create(KindTable),
			"create_view":              create(KindTable),
			"create_materialized_view": create(KindTable),
			"create_function":          create(KindFunction),
			"create_type":              create(KindType),
			"create_index":             {kind: KindEntry, names: fieldName("column")},
			"create_schema":            {kind: KindEntry, names: childName("identifier")},
			"create_sequence":          create(KindEntry),
			"create_trigger":           create(KindEntry),
		},
		comments:    []string{"comment", "marginalia"},
		literals:    []string{"literal"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{},
		calls:       map[string][2]string{"invocation": {"", ""}},
		wrappers:    []string{"statement"},
	}
}

func sqlName(t *tree, n int32) []name {
	ref := t.child(n, "object_reference")
	if ref < 0 {
		return nil
	}
	return []name{{text: squeeze(t.content(ref)), body: t.child(n, "column_definitions", "function_body", "create_query"), params: t.child(n, "function_arguments")}}
}
