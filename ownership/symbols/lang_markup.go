package symbols

import (
	"github.com/smacker/go-tree-sitter/css"
	"github.com/smacker/go-tree-sitter/html"
	markdown "github.com/smacker/go-tree-sitter/markdown/tree-sitter-markdown"
	"github.com/smacker/go-tree-sitter/svelte"
)

func htmlTable() table {
	return table{
		language: "html", version: "1", extensions: []string{"html", "htm", "xhtml"}, load: html.GetLanguage,
		defs: map[string]def{
			"element":        {kind: KindEntry, names: markupElement, body: "-"},
			"script_element": {kind: KindSection, names: markupElement, body: "-"},
			"style_element":  {kind: KindSection, names: markupElement, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"raw_text", "attribute_value", "text"},
		identifiers: []string{"attribute_value"},
	}
}

func svelteTable() table {
	t := htmlTable()
	t.language, t.extensions, t.load = "svelte", []string{"svelte"}, svelte.GetLanguage
	t.literals = append(t.literals, "raw_text_expr", "raw_text_await", "raw_text_each")
	return t
}

// markupElement names an element by its id, and scripts and styles without one by their tag.
func markupElement(t *tree, n int32) []name {
	tag := t.child(n, "start_tag", "self_closing_tag")
	text := ""
	t.children(tag, func(c int32) {
		if t.is(c, "attribute") && t.content(t.child(c, "attribute_name")) == "id" {
			text = "#" + unquote(t.content(t.child(c, "quoted_attribute_value", "attribute_value")))
		}
	})
	if text == "" && !t.is(n, "element") {
		text = t.content(t.child(tag, "tag_name"))
	}
	if text == "" {
		return nil
	}
	return []name{{text: text}}
}

func cssTable() table {
	return table{
		language: "css", version: "1", extensions: []string{"css", "pcss"}, load: css.GetLanguage,
		defs: map[string]def{
			"rule_set":            {kind: KindRule, names: cssRule},
			"media_statement":     {kind: KindRule, names: cssAt},
			"supports_statement":  {kind: KindRule, names: cssAt},
			"at_rule":             {kind: KindRule, names: cssAt},
			"keyframes_statement": {kind: KindRule, names: cssAt},
		},
		comments:    []string{"comment"},
		literals:    []string{"string_value", "plain_value"},
		identifiers: []string{"class_name", "id_name", "property_name", "keyframes_name", "plain_value"},
		imports:     map[string]func(*tree, int32) []Import{"import_statement": pathImport},
	}
}

func cssRule(t *tree, n int32) []name {
	return []name{{text: squeeze(t.content(t.child(n, "selectors"))), body: t.child(n, "block")}}
}

// cssAt names an at-rule by all that stands before its block.
func cssAt(t *tree, n int32) []name {
	block := t.child(n, "block", "keyframe_block_list")
	if block < 0 {
		return nil
	}
	return []name{{text: squeeze(string(t.text[t.nodes[n].start:t.nodes[block].start])), body: block}}
}

func markdownTable() table {
	return table{
		language: "markdown", version: "1", extensions: []string{"md", "markdown", "mkd"}, load: markdown.GetLanguage, indents: true,
		defs:     map[string]def{"section": {kind: KindSection, names: markdownSection, body: "-"}},
		literals: []string{"inline", "code_fence_content", "indented_code_block", "html_block", "pipe_table"},
	}
}

func markdownSection(t *tree, n int32) []name {
	heading := t.child(n, "atx_heading", "setext_heading")
	if heading < 0 || t.nodes[n].first != heading {
		return nil
	}
	text := t.content(t.field(heading, "heading_content"))
	if text == "" {
		return nil
	}
	return []name{{text: text}}
}
