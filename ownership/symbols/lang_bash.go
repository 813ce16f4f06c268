package symbols

import "github.com/smacker/go-tree-sitter/bash"

func bashTable() table {
	return table{
		language: "bash", version: "1", extensions: []string{"sh", "bash", "zsh", "ksh", "bats"}, names: []string{".bashrc", ".profile", ".zshrc"},
		load: bash.GetLanguage,
		defs: map[string]def{
			"function_definition": {kind: KindFunction},
			"variable_assignment": {kind: KindVariable, top: true, names: bashVariable, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "raw_string", "heredoc_body", "ansi_c_string"},
		identifiers: []string{"variable_name", "word"},
		calls:       map[string][2]string{"command": {"name", ""}},
		writes:      map[string][]string{"variable_assignment": {"name"}, "for_statement": {"variable"}},
		statements:  []string{"command", "variable_assignment", "declaration_command", "pipeline", "list", "redirected_statement"},
		wrappers:    []string{"declaration_command"},
	}
}

// bashVariable takes assignments at the top of a script, not those before a command.
func bashVariable(t *tree, n int32) []name {
	p := t.nodes[n].parent
	if t.is(p, "declaration_command") {
		p = t.nodes[p].parent
	}
	if !t.is(p, "program") {
		return nil
	}
	return []name{{text: t.content(t.find(t.field(n, "name"), "variable_name"))}}
}
