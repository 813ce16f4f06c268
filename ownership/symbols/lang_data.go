package symbols

import (
	"github.com/smacker/go-tree-sitter/javascript"
	"github.com/smacker/go-tree-sitter/toml"
	"github.com/smacker/go-tree-sitter/yaml"
)

// inSequence gives "[]" where a list stands between an entry and the one around it: entries of a list's items are
// no siblings.
func inSequence(t *tree, n int32, list, entry string) string {
	for p := t.nodes[n].parent; p >= 0; p = t.nodes[p].parent {
		if t.is(p, list) {
			return "[]"
		}
		if t.is(p, entry) {
			return ""
		}
	}
	return ""
}

func yamlTable() table {
	return table{
		language: "yaml", version: "1", extensions: []string{"yaml", "yml"}, load: yaml.GetLanguage, indents: true,
		defs: map[string]def{
			"block_mapping_pair": {kind: KindEntry, names: yamlKey, body: "-"},
			"flow_pair":          {kind: KindEntry, names: yamlKey, body: "-"},
		},
		comments: []string{"comment"},
		literals: []string{"double_quote_scalar", "single_quote_scalar", "block_scalar", "plain_scalar"},
	}
}

func yamlKey(t *tree, n int32) []name {
	key := unquote(t.content(t.field(n, "key")))
	return []name{{text: key, container: inSequence(t, n, "block_sequence", "block_mapping_pair")}}
}

func tomlTable() table {
	return table{
		language: "toml", version: "1", extensions: []string{"toml"}, names: []string{"Cargo.lock", "Pipfile", "poetry.lock"}, load: toml.GetLanguage,
		defs: map[string]def{
			"table":               {kind: KindEntry, names: tomlTableName, body: "-"},
			"table_array_element": {kind: KindEntry, names: tomlArrayName, body: "-"},
			"pair":                {kind: KindEntry, names: tomlKey, body: "-"},
		},
		comments: []string{"comment"},
		literals: []string{"string"},
	}
}

func tomlKey(t *tree, n int32) []name {
	return []name{{text: squeeze(t.content(firstNamed(t, n))), container: inSequence(t, n, "array", "pair")}}
}

func tomlTableName(t *tree, n int32) []name {
	return []name{{text: squeeze(t.content(firstNamed(t, n)))}}
}

func tomlArrayName(t *tree, n int32) []name {
	return []name{{text: squeeze(t.content(firstNamed(t, n))), container: "[]"}}
}

// jsonTable reads JSON, with comments, as an ECMAScript expression: the bundle has no grammar of its own for it.
func jsonTable() table {
	return table{
		language: "json", version: "1", extensions: []string{"json", "jsonc", "json5", "webmanifest"}, names: []string{".prettierrc", ".eslintrc", ".babelrc"},
		load: javascript.GetLanguage, before: "(", after: ")",
		defs:     map[string]def{"pair": {kind: KindEntry, names: jsonKey, body: "-"}},
		comments: []string{"comment"},
		literals: []string{"string"},
	}
}

func jsonKey(t *tree, n int32) []name {
	key := t.content(t.field(n, "key"))
	if len(key) > 1 {
		key = unquote(key)
	}
	return []name{{text: key, container: inSequence(t, n, "array", "pair")}}
}
