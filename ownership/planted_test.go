package ownership_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/ownership"
	"patchd/ownership/symbols"
)

var (
	plantedDir   = flag.String("planted", "", "directory of a real source tree in which TestPlanted makes changes")
	plantedKind  = flag.String("planted-kind", "", "only the kinds of change whose name contains this")
	plantedLimit = flag.Int("planted-limit", 60, "how many functions a language")
)

// source is one real file with its outline.
type source struct {
	path    string
	lines   []string
	outline *symbols.Outline
}

// target is one real function in a file.
type target struct {
	*source
	index int
	sym   symbols.Symbol
}

// dialect writes small pieces of a language.
type dialect struct {
	extension string
	param     string
	// caller gives a function that calls another one, method says whether within a class.
	caller func(name string, method bool) []string
}

func dialects() []dialect {
	return []dialect{
		{".go", "planted int", func(name string, _ bool) []string {
			return []string{"", "func plantedCaller() {", "\t" + name + "(1, 2)", "}"}
		}},
		{".py", "planted", func(name string, method bool) []string {
			if method {
				return []string{"", "    def planted_caller(self):", "        return self." + name + "(1, 2)"}
			}
			return []string{"", "", "def planted_caller(a):", "    return " + name + "(a, 2)"}
		}},
		{".ts", "planted: number", func(name string, method bool) []string {
			if method {
				return []string{"", "  plantedCaller(): void {", "    this." + name + "(1, 2);", "  }"}
			}
			return []string{"", "export function plantedCaller(): void {", "  " + name + "(1, 2);", "}"}
		}},
		{".java", "int planted", func(name string, _ bool) []string {
			return []string{"", "  void plantedCaller() {", "    this." + name + "(1, 2);", "  }"}
		}},
		{".rs", "planted: i32", func(name string, method bool) []string {
			if method {
				return []string{"", "    fn planted_caller(&self) {", "        self." + name + "(1, 2);", "    }"}
			}
			return []string{"", "fn planted_caller() {", "    " + name + "(1, 2);", "}"}
		}},
	}
}

// TestPlanted takes real functions, does to them on one side what a reason code is about, edits or uses them on
// the other side, and counts how often the code is given. It needs -planted DIR.
func TestPlanted(t *testing.T) {
	t.Parallel()
	if *plantedDir == "" {
		t.Skip("needs -planted DIR")
	}
	for _, d := range dialects() {
		t.Run(strings.TrimPrefix(d.extension, "."), func(t *testing.T) {
			t.Parallel()
			targets := collect(t, d)
			if len(targets) == 0 {
				t.Skip("no functions of this language")
			}
			found, total := map[string]int{}, map[string]int{}
			for i, f := range targets {
				for name, plant := range plants() {
					if !strings.Contains(name, *plantedKind) {
						continue
					}
					in, code, ok := plant(d, f, targets[(i+1)%len(targets)])
					if !ok {
						continue
					}
					total[name]++
					if recalls(t, in, code, f.sym) {
						found[name]++
					} else {
						t.Logf("missed %s: %s %s", name, f.path, f.sym.Path)
					}
				}
			}
			for name := range total {
				share := float64(found[name]) / float64(total[name])
				t.Logf("%s %-26s %d of %d (%.0f %%)", d.extension, name, found[name], total[name], 100*share)
			}
		})
	}
}

func recalls(t *testing.T, in ownership.Input, code ownership.Code, sym symbols.Symbol) bool {
	t.Helper()
	r := classify(t, in)
	if code == ownership.CodeCoupledEdits {
		return slices.ContainsFunc(r.Coupled, func(x ownership.Reason) bool { return strings.Contains(x.Symbol, sym.Name) })
	}
	return slices.ContainsFunc(r.Reasons, func(x ownership.Reason) bool { return x.Code == code && strings.HasSuffix(x.Symbol, sym.Name) })
}

// collect picks functions that stand for themselves: a body of some lines, a name of its own, no syntax error.
func collect(t *testing.T, d dialect) []target {
	t.Helper()
	var list []target
	outliner := symbols.NewInProcess(0)
	err := filepath.WalkDir(*plantedDir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != d.extension || strings.HasSuffix(path, ".d.ts") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(*plantedDir, path)
		if err != nil {
			return err
		}
		r, err := outliner.Outlines(t.Context(), []symbols.Request{{Path: rel, Text: text}})
		if err != nil || r[0].Outline == nil || len(r[0].Outline.Errors) > 0 {
			return err
		}
		s := &source{rel, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), r[0].Outline}
		if f, ok := s.pick(len(list)); ok {
			list = append(list, f)
		}
		return nil
	})
	require.NoError(t, err)
	step := max(1, len(list) / *plantedLimit)
	var sample []target
	for i := 0; i < len(list) && len(sample) < *plantedLimit; i += step {
		sample = append(sample, list[i])
	}
	return sample
}

// pick takes one function of a file, another one for each turn.
func (s *source) pick(turn int) (target, bool) {
	var able []target
	names := map[string]int{}
	for _, x := range s.outline.Symbols {
		names[x.Name]++
	}
	for i, x := range s.outline.Symbols {
		callable := x.Kind == symbols.KindFunction || x.Kind == symbols.KindMethod
		outer := x.Parent < 0 || s.outline.Symbols[x.Parent].Kind != symbols.KindFunction && s.outline.Symbols[x.Parent].Kind != symbols.KindMethod
		if callable && outer && names[x.Name] == 1 && len(x.Name) > 3 && !strings.HasPrefix(x.Name, "_") && x.Name != "default" && x.Body.End-x.Body.Start >= 3 && x.Tokens >= 25 && regexp.MustCompile(`^\w+$`).MatchString(x.Name) {
			able = append(able, target{s, i, x})
		}
	}
	if len(able) == 0 {
		return target{}, false
	}
	return able[turn%len(able)], true
}

func join(lines []string) string { return strings.Join(lines, "\n") + "\n" }

func (f target) without() []string {
	return slices.Concat(f.lines[:f.sym.Lines.Start-1], f.lines[f.sym.Lines.End:])
}

func (f target) block() []string { return slices.Clone(f.lines[f.sym.Lines.Start-1 : f.sym.Lines.End]) }

// edited changes one name that the body reads.
func (f target) edited() ([]string, bool) {
	for _, u := range f.outline.Uses {
		line, name := int(u.Line), f.outline.Names[u.Name]
		if line <= f.sym.Body.Start || line >= f.sym.Body.End || u.Kind&(symbols.UseWrite|symbols.UseCall) != 0 || name == f.sym.Name {
			continue
		}
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
		out := slices.Clone(f.lines)
		out[line-1] = word.ReplaceAllString(out[line-1], "planted")
		if out[line-1] != f.lines[line-1] {
			return out, true
		}
	}
	return nil, false
}

// renamed gives the file with the function and its uses under another name.
func (f target) renamed() []string {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(f.sym.Name) + `\b`)
	out := slices.Clone(f.lines)
	for _, u := range f.outline.Uses {
		if f.outline.Names[u.Name] == f.sym.Name {
			out[u.Line-1] = word.ReplaceAllString(out[u.Line-1], "planted"+f.sym.Name)
		}
	}
	return out
}

// widened gives the file with one more parameter, the first one after a receiver.
func (f target) widened(d dialect) ([]string, bool) {
	out := slices.Clone(f.lines)
	call := regexp.MustCompile(`\b` + regexp.QuoteMeta(f.sym.Name) + `(<[^(]*>)?\((&?(mut )?self, ?|self, ?|cls, ?|&?(mut )?self\)|self\)|\))?`)
	line := f.sym.NameLine - 1
	for line < len(out) && !call.MatchString(out[line]) && line < f.sym.Header.End {
		line++
	}
	m := call.FindString(out[line])
	if m == "" {
		return nil, false
	}
	to := m + d.param + ", "
	if open, closed := strings.CutSuffix(m, ")"); closed && strings.HasSuffix(open, "(") {
		to = open + d.param + ")"
	} else if closed {
		to = open + ", " + d.param + ")"
	}
	out[line] = strings.Replace(out[line], m, to, 1)
	return out, true
}

// withCaller adds a caller after the function, in its class where it has one.
func (f target) withCaller(d dialect) ([]string, bool) {
	if f.method() && d.extension == ".go" {
		return nil, false // the type of what stands before the dot is another case
	}
	if f.sym.Parent >= 0 && d.extension == ".ts" && f.outline.Symbols[f.sym.Parent].Kind != symbols.KindClass {
		return nil, false // in an object literal the caller would be a syntax error
	}
	return slices.Concat(f.lines[:f.sym.Lines.End], d.caller(f.sym.Name, f.method()), f.lines[f.sym.Lines.End:]), true
}

// method says whether the function belongs to a type, not only to a module.
func (f target) method() bool {
	module := f.sym.Parent >= 0 && f.outline.Symbols[f.sym.Parent].Kind == symbols.KindModule
	return strings.Contains(f.sym.Path, ".") && !module
}

func (f target) base() *ownership.Version { return version(f.path, join(f.lines)) }

func (f target) versionOf(lines []string) *ownership.Version { return version(f.path, join(lines)) }

type plant func(d dialect, f, other target) (ownership.Input, ownership.Code, bool)

// sides makes an input of one file.
func (f target) sides(left, right []string) ownership.Input {
	return ownership.Input{Files: []ownership.File{file(f.base(), f.versionOf(left), f.versionOf(right))}}
}

func plants() map[string]plant {
	edit := func(code ownership.Code, left func(d dialect, f target) ([]string, bool)) plant {
		return func(d dialect, f, _ target) (ownership.Input, ownership.Code, bool) {
			l, ok := left(d, f)
			r, can := f.edited()
			return f.sides(l, r), code, ok && can
		}
	}
	use := func(code ownership.Code, left func(d dialect, f target) ([]string, bool)) plant {
		return func(d dialect, f, _ target) (ownership.Input, ownership.Code, bool) {
			l, ok := left(d, f)
			r, can := f.withCaller(d)
			return f.sides(l, r), code, ok && can
		}
	}
	rename := func(_ dialect, f target) ([]string, bool) { return f.renamed(), true }
	remove := func(_ dialect, f target) ([]string, bool) { return f.without(), true }
	widen := func(d dialect, f target) ([]string, bool) { return f.widened(d) }
	return map[string]plant{
		"rename and edit":     edit(ownership.CodeSymbolRenamed, rename),
		"delete and edit":     edit(ownership.CodeSymbolDeleted, remove),
		"signature and edit":  edit(ownership.CodeSignatureChanged, widen),
		"rename and use":      use(ownership.CodeSymbolRenamed, rename),
		"delete and use":      use(ownership.CodeReferenceBroken, remove),
		"signature and use":   use(ownership.CodeSignatureChanged, widen),
		"move and edit":       moved,
		"both add one name":   duplicated,
		"caller and callee":   coupledPair,
		"write and read":      dependentPair,
		"rename, use in file": use(ownership.CodeReferenceBroken, rename),
	}
}

// moved takes the function to the end of another file, or before the end of the class that ends it.
func moved(d dialect, f, other target) (ownership.Input, ownership.Code, bool) {
	r, can := f.edited()
	if !can || other.path == f.path {
		return ownership.Input{}, "", false
	}
	at := len(other.lines)
	if d.extension == ".java" || f.method() && d.extension != ".go" {
		if other.sym.Parent < 0 {
			return ownership.Input{}, "", false
		}
		at = other.sym.Lines.End
	}
	dest := slices.Concat(other.lines[:at], []string{""}, f.block(), other.lines[at:])
	in := f.sides(f.without(), r)
	base := other.base()
	in.Files = append(in.Files, file(base, other.versionOf(dest), base))
	return in, ownership.CodeSymbolMoved, true
}

// duplicated adds a copy of the function under a new name before it on one side and after it on the other.
func duplicated(_ dialect, f, _ target) (ownership.Input, ownership.Code, bool) {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(f.sym.Name) + `\b`)
	var block []string
	for _, l := range f.block() {
		block = append(block, word.ReplaceAllString(l, "planted"+f.sym.Name))
	}
	left := slices.Concat(f.lines[:f.sym.Lines.Start-1], block, []string{""}, f.lines[f.sym.Lines.Start-1:])
	right := slices.Concat(f.lines[:f.sym.Lines.End], []string{""}, block, f.lines[f.sym.Lines.End:])
	return f.sides(left, right), ownership.CodeDuplicateSymbol, true
}

// coupledPair edits the function and one in the same file whose text calls it.
func coupledPair(_ dialect, f, _ target) (ownership.Input, ownership.Code, bool) {
	call := regexp.MustCompile(`(^|[^\w.]|self\.|this\.)` + regexp.QuoteMeta(f.sym.Name) + `\(`)
	l, can := f.edited()
	if !can {
		return ownership.Input{}, "", false
	}
	for i, x := range f.outline.Symbols {
		if i == f.index || x.Kind != symbols.KindFunction && x.Kind != symbols.KindMethod || x.Body.End-x.Body.Start < 2 {
			continue
		}
		if caller := (target{f.source, i, x}); call.MatchString(strings.Join(f.lines[x.Body.Start-1:x.Body.End], "\n")) {
			if r, ok := caller.edited(); ok {
				return f.sides(l, r), ownership.CodeCoupledEdits, true
			}
		}
	}
	return ownership.Input{}, "", false
}
