package symbols

import "github.com/smacker/go-tree-sitter/ruby"

func rubyTable() table {
	return table{
		language: "ruby", version: "1", extensions: []string{"rb", "rake", "gemspec", "ru"}, names: []string{"Rakefile", "Gemfile", "Vagrantfile", "Podfile"},
		load: ruby.GetLanguage,
		defs: map[string]def{
			"module":           {kind: KindModule},
			"class":            {kind: KindClass},
			"singleton_class":  {kind: KindImpl, names: rubySingleton},
			"method":           {kind: KindFunction},
			"singleton_method": {kind: KindMethod, names: rubySingletonMethod},
			"assignment":       {kind: KindConstant, names: rubyConstant, body: "-"},
		},
		comments:    []string{"comment"},
		literals:    []string{"string", "heredoc_body", "regex", "string_array", "symbol_array", "subshell", "delimited_symbol"},
		identifiers: []string{"identifier", "constant", "instance_variable", "class_variable", "global_variable", "simple_symbol"},
		members:     map[string][2]string{"call": {"receiver", "method"}, "scope_resolution": {"scope", "name"}},
		calls:       map[string][2]string{"call": {"method", "arguments"}},
		writes: map[string][]string{
			"assignment": {"left"}, "operator_assignment": {"left"}, "method_parameters": {""}, "block_parameters": {""}, "for": {"pattern"},
			"exception_variable": {""},
		},
		labels:     map[string]string{"pair": "key"},
		statements: []string{"assignment", "operator_assignment", "call", "return"},
		wrappers:   []string{},
		imports:    map[string]func(*tree, int32) []Import{"call": rubyRequire},
		supers:     superFields("superclass"),
	}
}

func rubySingleton(t *tree, n int32) []name {
	return []name{{text: "<< " + t.content(t.field(n, "value")), prefix: "self"}}
}

func rubySingletonMethod(t *tree, n int32) []name {
	return []name{{text: t.content(t.field(n, "name")), container: t.content(t.field(n, "object"))}}
}

func rubyConstant(t *tree, n int32) []name {
	if left := t.field(n, "left"); t.is(left, "constant") {
		return []name{{text: t.content(left)}}
	}
	return nil
}

func rubyRequire(t *tree, n int32) []Import {
	switch t.content(t.field(n, "method")) {
	case "require", "require_relative", "load":
		return []Import{{Module: unquote(t.content(firstNamed(t, t.field(n, "arguments"))))}}
	}
	return nil
}
