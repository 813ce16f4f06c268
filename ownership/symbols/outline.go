// Package symbols reads the outline of a source file: its named definitions with their line ranges, the names
// that each line uses, and which lines say something that a compiler or a tool reads.
//
// It owns tree-sitter and the tables of node kinds, one file a language. It refuses to guess: a file without a
// grammar, over the size cap, with a NUL byte, or whose parser failed has no outline, and the answer says why.
// A grammar can abort the process that runs it, so programs parse in child processes (Pool); InProcess is what
// such a child runs.
package symbols

import "context"

// Language names a grammar, for example "go" or "typescript".
type Language string

// Kind says what a symbol is.
type Kind string

// The kinds of symbols. A language uses those that it has.
const (
	KindFunction  Kind = "function"
	KindMethod    Kind = "method"
	KindClass     Kind = "class"
	KindInterface Kind = "interface"
	KindType      Kind = "type"
	KindEnum      Kind = "enum"
	KindModule    Kind = "module"
	KindImpl      Kind = "impl"
	KindVariable  Kind = "variable"
	KindConstant  Kind = "constant"
	KindImport    Kind = "import"
	KindMacro     Kind = "macro"
	KindSection   Kind = "section"
	KindRule      Kind = "rule"
	KindEntry     Kind = "entry"
	KindTable     Kind = "table"
)

// Lines is a range of lines, 1-based and inclusive. The zero value is no range.
type Lines struct{ Start, End int }

// Empty reports whether the range holds no line.
func (l Lines) Empty() bool { return l.Start <= 0 || l.End < l.Start }

// Contains reports whether o lies in l as a whole.
func (l Lines) Contains(o Lines) bool { return l.Start <= o.Start && o.End <= l.End }

// Meets reports whether the two ranges share a line.
func (l Lines) Meets(o Lines) bool { return l.Start <= o.End && o.Start <= l.End }

// Symbol is one named definition.
type Symbol struct {
	Kind Kind
	// Name is the last part of Path.
	Name string
	// Path is the container path and the name, joined by dots: "Parser.parseHeader".
	Path string
	// Ordinal counts the symbols with the same Path before this one in the file.
	Ordinal int
	// Parent is the index of the symbol that encloses this one, or -1.
	Parent int
	// Lines is the whole definition with its decorators and the adjacent doc comment.
	Lines Lines
	// NameLine is the line on which the definition itself (not its comment) gives the name.
	NameLine int
	// Header is the signature: decorators to the line on which the body begins.
	Header Lines
	// Body is the rest; empty where the language has none or it shares its lines with the header.
	Body Lines
	// Params is the normalised parameter list, empty for what has none.
	Params string
	// Signature fingerprints the header with the own name masked; 0 where there is no body apart from it.
	Signature uint64
	// Exact fingerprints the whole definition without comments, own name masked.
	Exact uint64
	// Shape holds the smallest hashes of the token runs of the body: a sketch for similarity.
	Shape []uint32
	// Tokens counts the tokens that Exact covers.
	Tokens int
}

// UseKind is a set of roles in which a line uses a name.
type UseKind uint8

// The roles of a use.
const (
	UseRead   UseKind = 1 << iota // the value is read
	UseWrite                      // the name is assigned, deleted or defined
	UseCall                       // it is called
	UseMember                     // it follows a dot: a field or a method of something
	UseName                       // it is the name in a definition of a symbol
	UseType                       // it stands where a type stands
	UseLabel                      // it is a key, a label or a keyword argument's name
)

// Use is one occurrence of a name.
type Use struct {
	// Name indexes Outline.Names.
	Name int32
	Line int32
	// Symbol is the innermost symbol around the use, or -1.
	Symbol int32
	Kind   UseKind
	// Args is the number of arguments of a call, -1 when it is none or cannot be told.
	Args int16
	// Qualifier indexes Outline.Names: what stands before the dot (its last name), or -1.
	Qualifier int32
}

// Import is one name that the file brings in from elsewhere.
type Import struct {
	// Name is what the file calls it; empty for an import for its effect.
	Name string
	// Item is the name at its origin; empty when the whole module is meant.
	Item string
	// Module is where it comes from, as written.
	Module string
	Line   int
}

// Outline is what is known about one version of one file. It is shared between callers and must not be changed.
type Outline struct {
	Language Language
	// Total is the number of lines; a last line without terminator counts.
	Total int
	// Symbols are sorted by start, outer ones before those they enclose.
	Symbols []Symbol
	// Errors are the ranges of lines that did not parse.
	Errors []Lines
	Names  []string
	Uses   []Use
	// Imports are in the order of the file.
	Imports []Import
	// Text has an entry a line: a hash of what it says apart from comments and spacing; 0 says nothing.
	Text []uint64
	// Statements are the simple statements of more than one line, innermost ones only.
	Statements []Lines
	// Supers maps the index of a class to the names that it extends or implements.
	Supers map[int][]string
}

// Why says for what reason a file has no outline.
type Why string

// The reasons for which a file is read by lines only.
const (
	WhyNoGrammar   Why = "no_grammar"
	WhyTooLarge    Why = "too_large"
	WhyNotText     Why = "not_text"
	WhyParseFailed Why = "parse_failed"
	WhySyntaxError Why = "syntax_error"
)

// Request is one file to outline.
type Request struct {
	// Path picks the language by its name.
	Path string
	// Blob identifies the content; results are cached by it when it is not empty.
	Blob string
	Text []byte
}

// Result is the outline, or why there is none.
type Result struct {
	Outline *Outline
	Why     Why
}

// Outliner makes outlines. The results stand in the order of the requests. An error says that nothing can be
// outlined at all (the context ended, no child starts); it is never about one file's content.
type Outliner interface {
	Outlines(ctx context.Context, files []Request) ([]Result, error)
}

// At gives the index of the innermost symbol that holds the whole range, or -1. Of several on the same lines the
// first one counts.
func (o *Outline) At(r Lines) int {
	best := -1
	for i := range o.Symbols {
		s := &o.Symbols[i]
		if s.Lines.Start > r.Start {
			break
		}
		if s.Lines.Contains(r) && (best < 0 || s.Lines != o.Symbols[best].Lines) {
			best = i
		}
	}
	return best
}

// Broken reports whether a syntax error touches the range.
func (o *Outline) Broken(r Lines) bool {
	for _, e := range o.Errors {
		if e.Meets(r) {
			return true
		}
	}
	return false
}

// Innermost gives, for each line (index 0 is line 1), the innermost symbol or -1.
func (o *Outline) Innermost() []int32 {
	at := make([]int32, o.Total)
	for i := range at {
		at[i] = -1
	}
	for i := range o.Symbols {
		l := o.Symbols[i].Lines
		if i > 0 && o.Symbols[i-1].Lines == l {
			continue
		}
		for n := l.Start; n <= l.End && n <= o.Total; n++ {
			at[n-1] = int32(i)
		}
	}
	return at
}
