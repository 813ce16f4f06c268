package symbols

import "github.com/smacker/go-tree-sitter/dockerfile"

func dockerfileTable() table {
	return table{
		language: "dockerfile", version: "1", extensions: []string{"dockerfile", "containerfile"}, names: []string{"Dockerfile", "Containerfile"},
		load: dockerfile.GetLanguage,
		defs: map[string]def{
			"from_instruction": {kind: KindSection, names: dockerStage, body: "-"},
			"arg_instruction":  {kind: KindVariable, body: "-"},
			"env_pair":         {kind: KindVariable, body: "-"},
			"label_pair":       {kind: KindEntry, names: fieldName("key"), body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"shell_fragment", "json_string", "double_quoted_string", "single_quoted_string"},
		identifiers: []string{"image_alias", "variable", "unquoted_string"},
	}
}

// dockerStage makes a stage of a FROM and all up to the next one.
func dockerStage(t *tree, n int32) []name {
	through := n
	for c := t.nodes[n].next; c >= 0 && !t.is(c, "from_instruction"); c = t.nodes[c].next {
		if !t.is(c, "comment") && t.named(c) {
			through = c
		}
	}
	text := t.content(t.field(n, "as"))
	if text == "" {
		text = squeeze(t.content(t.child(n, "image_spec")))
	}
	return []name{{text: text, through: through}}
}
