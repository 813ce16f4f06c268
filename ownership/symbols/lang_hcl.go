package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/hcl"
)

func hclTable() table {
	return table{
		language: "hcl", version: "1", extensions: []string{"hcl", "tf", "tfvars", "nomad"}, load: hcl.GetLanguage,
		defs: map[string]def{
			"block":     {kind: KindEntry, names: hclBlock},
			"attribute": {kind: KindEntry, names: hclAttribute, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string_lit", "template_literal", "heredoc_template", "quoted_template"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{},
		calls:       map[string][2]string{"function_call": {"", ""}},
		labels:      map[string]string{},
	}
}

// hclBlock names a block by its type and labels: resource.aws_x.name.
func hclBlock(t *tree, n int32) []name {
	var parts []string
	t.children(n, func(c int32) {
		if t.is(c, "identifier", "string_lit") {
			parts = append(parts, unquote(t.content(c)))
		}
	})
	return []name{{text: strings.Join(parts, "."), body: t.child(n, "body")}}
}

// hclAttribute takes attributes at the top of a file and of locals; others belong to their block.
func hclAttribute(t *tree, n int32) []name {
	block := t.nodes[t.nodes[n].parent].parent
	if !t.is(block, "config_file") && t.content(t.child(block, "identifier")) != "locals" {
		return nil
	}
	return childName("identifier")(t, n)
}
