package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/golang"
)

func goTable() table {
	return table{
		language: "go", version: "1", extensions: []string{"go"}, load: golang.GetLanguage,
		defs: map[string]def{
			"function_declaration": {kind: KindFunction, top: true, header: goHeader},
			"method_declaration":   {kind: KindMethod, top: true, names: goMethod, header: goHeader},
			"type_spec":            {kind: KindType, top: true, names: goType},
			"type_alias":           {kind: KindType, top: true, names: goType},
			"const_spec":           {kind: KindConstant, top: true, names: fieldNames("name"), body: "-"},
			"var_spec":             {kind: KindVariable, top: true, names: fieldNames("name"), body: "-"},
			"import_spec":          {kind: KindImport, top: true, names: goImportName, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"interpreted_string_literal", "raw_string_literal", "rune_literal"},
		identifiers: []string{"identifier", "field_identifier", "type_identifier", "package_identifier"},
		types:       []string{"type_identifier"},
		members:     map[string][2]string{"selector_expression": {"operand", "field"}, "qualified_type": {"package", "name"}},
		calls:       map[string][2]string{"call_expression": {"function", "arguments"}},
		writes: map[string][]string{
			"assignment_statement": {"left"}, "short_var_declaration": {"left"}, "var_spec": {"name"}, "const_spec": {"name"},
			"inc_statement": {""}, "dec_statement": {""}, "range_clause": {"left"}, "parameter_declaration": {"name"},
			"variadic_parameter_declaration": {"name"},
		},
		labels: map[string]string{"keyed_element": "key"},
		statements: []string{
			"expression_statement", "assignment_statement", "short_var_declaration", "return_statement", "send_statement",
			"go_statement", "defer_statement", "inc_statement", "dec_statement", "var_declaration", "const_declaration",
		},
		wrappers: []string{"type_declaration", "const_declaration", "var_declaration", "import_declaration"},
		imports:  map[string]func(*tree, int32) []Import{"import_spec": goImports},
	}
}

// goMethod puts the receiver's type before the name, whatever its pointer and its type parameters are.
func goMethod(t *tree, n int32) []name {
	receiver := t.find(t.field(n, "receiver"), "type_identifier")
	return []name{{text: t.content(t.field(n, "name")), container: t.content(receiver)}}
}

func goType(t *tree, n int32) []name {
	typ := t.field(n, "type")
	kind := KindType
	switch {
	case t.is(typ, "struct_type"):
		kind = KindClass
	case t.is(typ, "interface_type"):
		kind = KindInterface
	}
	return []name{{text: t.content(t.field(n, "name")), kind: kind, body: t.child(typ, "field_declaration_list")}}
}

func goImports(t *tree, n int32) []Import {
	module := strings.Trim(t.content(t.field(n, "path")), "\"`")
	local := t.content(t.field(n, "name"))
	if local == "" {
		local = goPackageName(module)
	}
	if local == "_" || local == "." {
		local = ""
	}
	return []Import{{Name: local, Module: module}}
}

// goPackageName guesses a package's name from its path, as most of them follow the convention.
func goPackageName(module string) string {
	parts := strings.Split(module, "/")
	last := parts[len(parts)-1]
	if len(parts) > 1 && len(last) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		last = parts[len(parts)-2]
	}
	if dot := strings.LastIndex(last, ".v"); dot > 0 {
		last = last[:dot]
	}
	last = strings.TrimPrefix(last, "go-")
	return strings.ReplaceAll(last, "-", "_")
}

func goImportName(t *tree, n int32) []name {
	return []name{{text: strings.Trim(t.content(t.field(n, "path")), "\"`"), container: t.content(t.field(n, "name"))}}
}

// goHeader is a signature without the parameters' names, which no caller sees.
func goHeader(t *tree, n int32) string {
	parts := []string{t.content(t.field(n, "type_parameters"))}
	for _, f := range []string{"receiver", "parameters", "result"} {
		parts = append(parts, goTypes(t, t.field(n, f)))
	}
	return strings.Join(parts, "|")
}

func goTypes(t *tree, n int32) string {
	if !t.is(n, "parameter_list") {
		return squeeze(t.content(n))
	}
	var types []string
	t.children(n, func(c int32) {
		typ, count := squeeze(t.content(t.field(c, "type"))), 0
		for x := t.nodes[c].first; x >= 0; x = t.nodes[x].next {
			if t.inField(x, "name") {
				count++
			}
		}
		if t.is(c, "variadic_parameter_declaration") {
			typ = "..." + typ
		}
		for range max(count, 1) {
			types = append(types, typ)
		}
	})
	return "(" + strings.Join(types, ",") + ")"
}
