package symbols

import "github.com/smacker/go-tree-sitter/groovy"

func groovyTable() table {
	return table{
		language: "groovy", version: "1", extensions: []string{"groovy", "gradle", "gvy"}, names: []string{"Jenkinsfile"}, load: groovy.GetLanguage,
		defs: map[string]def{
			"class_definition":    {kind: KindClass},
			"function_definition": {kind: KindFunction, names: fieldName("function")},
			"declaration":         {kind: KindVariable, top: true, body: "-"},
		},
		comments:    []string{"comment", "line_comment", "block_comment", "groovy_doc"},
		literals:    []string{"string"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{"dotted_identifier": {"", ""}},
		calls:       map[string][2]string{"function_call": {"function", "args"}, "juxt_function_call": {"function", "args"}},
		writes:      map[string][]string{"assignment": {""}, "declaration": {"name"}, "parameter": {"name"}},
		statements:  []string{"declaration", "assignment", "return"},
		attached:    []string{"annotation"},
		imports:     map[string]func(*tree, int32) []Import{"groovy_import": dottedImport(".")},
		supers:      superFields("superclass"),
	}
}
