package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/php"
)

func phpTable() table {
	return table{
		language: "php", version: "1", extensions: []string{"php", "phtml", "inc"}, load: php.GetLanguage,
		defs: map[string]def{
			"class_declaration":     {kind: KindClass},
			"interface_declaration": {kind: KindInterface},
			"trait_declaration":     {kind: KindClass},
			"enum_declaration":      {kind: KindEnum},
			"method_declaration":    {kind: KindMethod},
			"function_definition":   {kind: KindFunction},
			"const_element":         {kind: KindConstant, names: childName("name"), body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "encapsed_string", "heredoc", "nowdoc", "shell_command_expression", "text"},
		identifiers: []string{"name"},
		wholes:      []string{"variable_name"},
		members: map[string][2]string{
			"member_access_expression": {"object", "name"}, "member_call_expression": {"object", "name"},
			"nullsafe_member_access_expression": {"object", "name"}, "nullsafe_member_call_expression": {"object", "name"},
			"scoped_call_expression": {"scope", "name"}, "scoped_property_access_expression": {"scope", "name"},
			"class_constant_access_expression": {"", ""},
		},
		calls: map[string][2]string{
			"function_call_expression": {"function", "arguments"}, "member_call_expression": {"name", "arguments"},
			"nullsafe_member_call_expression": {"name", "arguments"}, "scoped_call_expression": {"name", "arguments"},
			"object_creation_expression": {"", ""},
		},
		writes: map[string][]string{
			"assignment_expression": {"left"}, "augmented_assignment_expression": {"left"}, "update_expression": {""},
			"formal_parameters": {""}, "foreach_statement": {""}, "reference_assignment_expression": {"left"}, "unset_statement": {""},
		},
		statements: []string{"expression_statement", "return_statement", "echo_statement", "property_declaration", "const_declaration", "unset_statement"},
		attached:   []string{"attribute_list"},
		imports:    map[string]func(*tree, int32) []Import{"namespace_use_clause": dottedImport("\\"), "namespace_use_group_clause": phpGroup},
		supers:     superFields("base_clause", "class_interface_clause"),
	}
}

// phpGroup reads one name of use A\B\{C, D as E}.
func phpGroup(t *tree, n int32) []Import {
	group := t.nodes[t.nodes[n].parent].parent
	list := dottedImport("\\")(t, n)
	for i := range list {
		if prefix := identifiersBelow(t, t.child(group, "namespace_name")); len(prefix) > 0 {
			list[i].Module = strings.Join(prefix, ".") + "." + list[i].Module
		}
		list[i].Line = t.line(t.nodes[n].start)
	}
	return list
}
