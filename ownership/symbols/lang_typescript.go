package symbols

import (
	"maps"

	sitter "github.com/smacker/go-tree-sitter"
	"github.com/smacker/go-tree-sitter/typescript/tsx"
	"github.com/smacker/go-tree-sitter/typescript/typescript"
)

func typescriptTable() table {
	return typedEcma("typescript", []string{"ts", "mts", "cts"}, typescript.GetLanguage)
}

func tsxTable() table { return typedEcma("tsx", []string{"tsx"}, tsx.GetLanguage) }

func typedEcma(language Language, extensions []string, load func() *sitter.Language) table {
	t := javascriptTable()
	t.language, t.extensions, t.load = language, extensions, load
	maps.Copy(t.defs, map[string]def{
		"abstract_class_declaration": {kind: KindClass},
		"interface_declaration":      {kind: KindInterface},
		"type_alias_declaration":     {kind: KindType, body: "value"},
		"enum_declaration":           {kind: KindEnum},
		"internal_module":            {kind: KindModule},
		"module":                     {kind: KindModule},
		"function_signature":         {kind: KindFunction},
		"method_signature":           {kind: KindMethod, names: inClassBody},
		"abstract_method_signature":  {kind: KindMethod, names: inClassBody},
	})
	t.types = []string{"type_identifier"}
	t.wrappers = append(t.wrappers, "ambient_declaration")
	t.members["nested_type_identifier"] = [2]string{"module", "name"}
	t.statements = append(t.statements, "import_alias")
	t.supers = func(t *tree, n int32) []string {
		return append(identifiersBelow(t, t.child(n, "class_heritage")), identifiersBelow(t, t.child(n, "extends_type_clause"))...)
	}
	return t
}

// inClassBody takes a signature for a symbol only in a class; an interface's members belong to the interface.
func inClassBody(t *tree, n int32) []name {
	if !t.is(t.nodes[n].parent, "class_body") {
		return nil
	}
	return ecmaMethod(t, n)
}
