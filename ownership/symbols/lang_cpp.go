package symbols

import (
	"maps"

	"github.com/smacker/go-tree-sitter/cpp"
)

func cppTable() table {
	t := cTable()
	t.language, t.load = "cpp", cpp.GetLanguage
	t.extensions = []string{"cpp", "cc", "cxx", "c++", "h", "hpp", "hh", "hxx", "h++", "inl", "ipp", "tpp", "cu", "cuh"}
	maps.Copy(t.defs, map[string]def{
		"class_specifier":             {kind: KindClass, names: cSpecifier},
		"namespace_definition":        {kind: KindModule, names: fieldName("name")},
		"alias_declaration":           {kind: KindType, body: "-"},
		"concept_definition":          {kind: KindType, body: "-"},
		"namespace_alias_definition":  {kind: KindType, body: "-"},
		"field_declaration":           {kind: KindMethod, names: cppMember, paramsOf: cParams, body: "-"},
		"declaration":                 {kind: KindVariable, names: cppDeclaration, paramsOf: cParams, body: "-"},
		"nested_namespace_definition": {kind: KindModule},
	})
	t.identifiers = append(t.identifiers, "namespace_identifier")
	t.members["qualified_identifier"] = [2]string{"scope", "name"}
	t.calls["new_expression"] = [2]string{"type", "arguments"}
	t.writes["optional_parameter_declaration"] = []string{"declarator"}
	t.writes["for_range_loop"] = []string{"declarator"}
	t.wrappers = []string{"template_declaration"}
	t.attached = []string{"attribute_declaration"}
	t.supers = superFields("base_class_clause")
	return t
}

// cppMember takes the declaration of a member function for a symbol; a field belongs to its class.
func cppMember(t *tree, n int32) []name {
	if function, _ := cDeclared(t, n); function < 0 {
		return nil
	}
	return cDeclaration(t, n)
}

// cppDeclaration reads declarations at the top of a file, a namespace or, for constructors, a class.
func cppDeclaration(t *tree, n int32) []name {
	for p := t.nodes[n].parent; p >= 0; p = t.nodes[p].parent {
		if t.is(p, "compound_statement", "lambda_expression", "for_statement") {
			return nil
		}
		if t.is(p, "class_specifier", "struct_specifier") {
			break
		}
	}
	return cDeclaration(t, n)
}
