package symbols

import (
	"strings"

	"github.com/smacker/go-tree-sitter/lua"
)

func luaTable() table {
	return table{
		language: "lua", version: "1", extensions: []string{"lua"}, load: lua.GetLanguage,
		defs: map[string]def{
			"function_statement":   {kind: KindFunction, names: luaFunction, paramsOf: joinChildren("parameter_list")},
			"variable_declaration": {kind: KindVariable, names: luaVariable, paramsOf: luaParams},
			"field":                {kind: KindFunction, names: luaField, paramsOf: luaParams},
		},
		comments:    []string{"comment"},
		literals:    []string{"string"},
		identifiers: []string{"identifier"},
		members:     map[string][2]string{},
		calls:       map[string][2]string{"function_call": {"prefix", "args"}},
		writes:      map[string][]string{"variable_declaration": {"name"}, "parameter_list": {""}, "for_statement": {"name"}},
		labels:      map[string]string{"field": "name"},
		statements:  []string{"variable_declaration", "function_call", "return_statement"},
		imports:     map[string]func(*tree, int32) []Import{"variable_declaration": luaRequire},
	}
}

// luaFunction reads f, M.f and M:f.
func luaFunction(t *tree, n int32) []name {
	return luaNamed(t, t.field(n, "name"), t.child(n, "function_body"))
}

func luaNamed(t *tree, id, body int32) []name {
	text := strings.ReplaceAll(squeeze(t.content(id)), ":", ".")
	nm := name{text: text, body: body}
	if dot := lastDot(text); dot > 0 {
		nm.container, nm.text = text[:dot], text[dot+1:]
	}
	return []name{nm}
}

// luaVariable makes variables at the top symbols, and elsewhere those that are bound to a function.
func luaVariable(t *tree, n int32) []name {
	id, value := t.field(n, "name"), t.field(n, "value")
	if t.is(value, "function") {
		names := luaNamed(t, id, t.child(value, "function_body"))
		names[0].kind = KindFunction
		return names
	}
	if !t.is(t.nodes[n].parent, "program") {
		return nil
	}
	return luaNamed(t, id, -1)
}

func luaField(t *tree, n int32) []name {
	value := t.field(n, "value")
	if !t.is(value, "function") {
		return nil
	}
	return []name{{text: t.content(t.field(n, "name")), body: t.child(value, "function_body")}}
}

func luaParams(t *tree, n int32) string {
	return joinChildren("parameter_list")(t, max(t.field(n, "value"), 0))
}

func luaRequire(t *tree, n int32) []Import {
	value := t.field(n, "value")
	if !t.is(value, "function_call") || t.content(t.field(value, "prefix")) != "require" {
		return nil
	}
	return []Import{{Name: t.content(t.field(n, "name")), Module: unquote(t.content(t.find(value, "string")))}}
}
