package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/elixir"
)

func elixirTable() table {
	return table{
		language: "elixir", version: "1", extensions: []string{"ex", "exs"}, load: elixir.GetLanguage,
		defs: map[string]def{
			"call":           {kind: KindFunction, names: elixirCall, paramsOf: elixirParams},
			"unary_operator": {kind: KindConstant, names: elixirAttribute, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "charlist", "sigil"},
		identifiers: []string{"identifier", "alias"},
		members:     map[string][2]string{"dot": {"left", "right"}},
		calls:       map[string][2]string{"call": {"target", ""}},
		writes:      map[string][]string{},
		statements:  []string{"binary_operator"},
		attach: func(t *tree, n int32) bool {
			return t.is(n, "unary_operator") && elixirDocs(t.content(t.field(t.field(n, "operand"), "target")))
		},
		imports: map[string]func(*tree, int32) []Import{"call": elixirImports},
	}
}

func elixirDocs(attribute string) bool {
	switch attribute {
	case "doc", "spec", "impl", "deprecated", "moduledoc", "since", "typedoc", "callback", "behaviour":
		return true
	}
	return false
}

// elixirCall reads the calls that define: a macro's name tells what the first argument names.
func elixirCall(t *tree, n int32) []name {
	first := firstNamed(t, t.child(n, "arguments"))
	body := t.child(n, "do_block")
	switch t.content(t.field(n, "target")) {
	case "defmodule":
		return []name{{text: t.content(first), kind: KindClass, body: body}}
	case "defprotocol":
		return []name{{text: t.content(first), kind: KindInterface, body: body}}
	case "defimpl":
		forType := t.content(t.find(t.child(t.child(n, "arguments"), "keywords"), "alias"))
		return []name{{text: "impl " + t.content(first) + " for " + forType, prefix: t.content(first) + "." + forType, kind: KindImpl, body: body}}
	case "def", "defp", "defguard", "defguardp", "defdelegate":
		return []name{{text: t.content(elixirHead(t, first)), body: body}}
	case "defmacro", "defmacrop":
		return []name{{text: t.content(elixirHead(t, first)), kind: KindMacro, body: body}}
	}
	return nil
}

// elixirHead gives the name in f(x) and f(x) when x > 1.
func elixirHead(t *tree, first int32) int32 {
	for t.is(first, "binary_operator") {
		first = t.field(first, "left")
	}
	if t.is(first, "call") {
		return t.field(first, "target")
	}
	return first
}

func elixirParams(t *tree, n int32) string {
	first := firstNamed(t, t.child(n, "arguments"))
	for t.is(first, "binary_operator") {
		first = t.field(first, "left")
	}
	return t.content(t.child(first, "arguments"))
}

// elixirAttribute names a module attribute that is no documentation.
func elixirAttribute(t *tree, n int32) []name {
	operand := t.field(n, "operand")
	if !strings.HasPrefix(t.content(n), "@") || !t.is(operand, "call") || elixirDocs(t.content(t.field(operand, "target"))) {
		return nil
	}
	return []name{{text: "@" + t.content(t.field(operand, "target"))}}
}

func elixirImports(t *tree, n int32) []Import {
	switch t.content(t.field(n, "target")) {
	case "alias", "import", "use", "require":
		module := t.content(firstNamed(t, t.child(n, "arguments")))
		return []Import{{Name: module[lastDot(module)+1:], Module: module}}
	}
	return nil
}
