package symbols

import (
	"path"
	"slices"
	"strings"

	sitter "github.com/smacker/go-tree-sitter"
)

// table is what a language's file says about its grammar's node kinds.
type table struct {
	language Language
	// version goes into the cache key: raise it when the table changes what an outline says.
	version string
	// extensions and names (of whole files) pick the language.
	extensions, names []string
	load              func() *sitter.Language
	// before and after surround the text for a grammar that cannot parse it bare; they hold no line break.
	before, after string
	defs          map[string]def
	// comments, and literals: text within which spacing counts.
	comments, literals []string
	// identifiers are leaves that use a name; types those of them that stand for a type.
	identifiers, types []string
	// wholes are identifiers with parts of their own, such as $name.
	wholes []string
	// members maps a member access to its fields: the object's and the property's.
	members map[string][2]string
	// calls maps a call to its fields: the callee's and the arguments'.
	calls map[string][2]string
	// writes maps a node to the fields below which names are assigned or defined; "" is the whole node.
	writes map[string][]string
	// labels maps a node to the field that holds a key or a keyword's name.
	labels map[string]string
	// statements are the simple statements, which hold no other.
	statements []string
	// wrappers are nodes that a definition's range extends to (an export, a decorated definition).
	wrappers []string
	// attached are siblings before a definition that belong to it (decorators, attributes).
	attached []string
	// attach says whether another sibling before a definition belongs to it; nil says no.
	attach func(t *tree, n int32) bool
	// indents says that a line's indentation has a meaning.
	indents bool
	// imports maps a node kind to what it brings in.
	imports map[string]func(t *tree, n int32) []Import
	// supers gives the names a class-like definition extends or implements.
	supers func(t *tree, n int32) []string
	// harmless says which errors the grammar is known to report on valid text.
	harmless func(t *tree, n int32) bool
}

// def says how a node kind defines symbols.
type def struct {
	kind Kind
	// names gives what the node defines; nil takes the field "name".
	names func(t *tree, n int32) []name
	// body and params name the fields; "" takes "body" and "parameters".
	body, params string
	// top limits the definition to places that no symbol other than a module encloses.
	top bool
	// paramsOf gives the parameter list where no field holds it.
	paramsOf func(t *tree, n int32) string
	// header gives the text that makes the signature; nil takes all before the body.
	header func(t *tree, n int32) string
}

// name is one symbol that a node defines.
type name struct {
	text string
	// container is put before the name, apart from what encloses the node.
	container string
	// kind overrides the kind of the def.
	kind Kind
	// body and params override what the fields give when they are set.
	body, params int32
	// at is the node whose lines the symbol takes; 0 is the defining node.
	at int32
	// through is a later sibling that ends what the symbol holds; 0 is the defining node.
	through int32
	// prefix is what the paths of members begin with instead of the text.
	prefix string
}

// info is what is known of one symbol of a grammar.
type info struct {
	name                         string
	def                          *def
	member, call                 *[2]string
	writes                       []string
	label                        string
	imports                      func(t *tree, n int32) []Import
	named, comment, literal      bool
	sign                         bool // of punctuation: no field of interest
	ident, typ, whole, subscript bool
	statement, wrapper, attached bool
}

// grammar is a table resolved against the grammar's symbols.
type grammar struct {
	table
	lang  *sitter.Language
	infos []info
	// fields are the names of the grammar's fields by number.
	fields []string
	// directives are the marks of comments that tools read.
	directives [][]byte
	bad        info
}

func (g *grammar) info(sym uint16) *info {
	if int(sym) < len(g.infos) {
		return &g.infos[sym]
	}
	return &g.bad
}

func newGrammar(t table) *grammar {
	g := &grammar{table: t, lang: t.load(), bad: info{name: "ERROR", named: true}, directives: directives()}
	g.fields = fieldTable(g.lang)
	count := int(g.lang.SymbolCount())
	g.infos = make([]info, count)
	for i := range count {
		sym := sitter.Symbol(i)
		g.infos[i] = g.describe(g.lang.SymbolName(sym), g.lang.SymbolType(sym) == sitter.SymbolTypeRegular)
	}
	return g
}

func (g *grammar) describe(kind string, named bool) info {
	in := info{name: kind, named: named}
	if !named {
		in.sign = kind != "" && !isWord(kind[0])
		return in
	}
	if d, ok := g.defs[kind]; ok {
		in.def = &d
	}
	if m, ok := g.members[kind]; ok {
		in.member = &m
	}
	if c, ok := g.calls[kind]; ok {
		in.call = &c
	}
	in.writes = g.writes[kind]
	in.label = g.labels[kind]
	in.imports = g.imports[kind]
	in.comment = slices.Contains(g.comments, kind)
	in.literal = slices.Contains(g.literals, kind)
	in.ident = slices.Contains(g.identifiers, kind)
	in.subscript = strings.Contains(kind, "subscript") || kind == "index_expression" || kind == "element_access_expression" || kind == "array_access"
	in.whole = slices.Contains(g.wholes, kind)
	in.typ = slices.Contains(g.types, kind)
	in.statement = slices.Contains(g.statements, kind)
	in.wrapper = slices.Contains(g.wrappers, kind)
	in.attached = slices.Contains(g.attached, kind)
	return in
}

// tables lists the languages. A new language is one file and one line here.
func tables() []table {
	return []table{
		goTable(), pythonTable(), javascriptTable(), typescriptTable(), tsxTable(),
		javaTable(), kotlinTable(), scalaTable(), groovyTable(), cTable(), cppTable(), csharpTable(), rustTable(), swiftTable(),
		rubyTable(), phpTable(), luaTable(), bashTable(), elixirTable(), ocamlTable(), elmTable(), sqlTable(), protobufTable(),
		hclTable(), dockerfileTable(), cueTable(), htmlTable(), svelteTable(), cssTable(), yamlTable(), tomlTable(), markdownTable(),
		jsonTable(),
	}
}

// Languages knows which language a file is in. It is immutable.
type Languages struct {
	byExtension, byName map[string]*table
	tables              []table
}

// NewLanguages gives the table of the known languages.
func NewLanguages() *Languages {
	l := &Languages{byExtension: map[string]*table{}, byName: map[string]*table{}, tables: tables()}
	for i := range l.tables {
		t := &l.tables[i]
		for _, e := range t.extensions {
			l.byExtension[e] = t
		}
		for _, n := range t.names {
			l.byName[n] = t
		}
	}
	return l
}

// Of gives the language of a file by its name, or "" when it has no grammar.
func (l *Languages) Of(file string) Language {
	if t := l.table(file); t != nil {
		return t.language
	}
	return ""
}

// Version identifies the grammar and the table that outline a file of this name.
func (l *Languages) Version(file string) string {
	if t := l.table(file); t != nil {
		return string(t.language) + "/" + t.version
	}
	return ""
}

func (l *Languages) table(file string) *table {
	base := path.Base(file)
	if t, ok := l.byName[base]; ok {
		return t
	}
	for rest := base; ; {
		dot := strings.IndexByte(rest, '.')
		if dot < 0 {
			return nil
		}
		rest = rest[dot+1:]
		if t, ok := l.byExtension[strings.ToLower(rest)]; ok {
			return t
		}
	}
}
