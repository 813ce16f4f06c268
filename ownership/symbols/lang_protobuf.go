package symbols

import "github.com/smacker/go-tree-sitter/protobuf"

func protobufTable() table {
	named := func(kind Kind, id, body string) def {
		return def{kind: kind, names: func(t *tree, n int32) []name {
			return []name{{text: t.content(t.child(n, id)), body: t.child(n, body)}}
		}}
	}
	return table{
		language: "protobuf", version: "1", extensions: []string{"proto"}, load: protobuf.GetLanguage,
		defs: map[string]def{
			"message": named(KindClass, "message_name", "message_body"),
			"enum":    named(KindEnum, "enum_name", "enum_body"),
			"service": named(KindInterface, "service_name", "service_body"),
			"rpc":     {kind: KindMethod, names: childName("rpc_name"), paramsOf: joinChildren("message_or_enum_type")},
		},
		comments:    []string{"comment"},
		literals:    []string{"string"},
		identifiers: []string{"identifier"},
		types:       []string{},
		imports:     map[string]func(*tree, int32) []Import{"import": pathImport},
	}
}
