package ownership_test

import (
	"regexp"
	"slices"

	"patchd/ownership"
	"patchd/ownership/symbols"
)

// dependentPair edits, on one side, a statement that writes a name and, on the other, one further on in the same function
// that reads it, and asks for review of dependent edits only.
func dependentPair(_ dialect, f, _ target) (ownership.Input, ownership.Code, bool) {
	for _, w := range f.outline.Uses {
		if !f.inBody(w) || w.Kind&symbols.UseWrite == 0 || w.Kind&(symbols.UseMember|symbols.UseName) != 0 {
			continue
		}
		left, ok := f.replaced(int(w.Line), w.Name)
		if !ok {
			continue
		}
		for _, r := range f.outline.Uses {
			if !f.inBody(r) || r.Name != w.Name || r.Line < w.Line+2 || r.Kind&(symbols.UseWrite|symbols.UseMember) != 0 {
				continue
			}
			if right, ok := f.replaced(int(r.Line), r.Name); ok {
				in := f.sides(left, right)
				in.SameSymbol = ownership.SameSymbolDependent
				return in, ownership.CodeSameSymbol, true
			}
		}
	}
	return ownership.Input{}, "", false
}

// inBody leaves out functions within the function: they are symbols of their own.
func (f target) inBody(u symbols.Use) bool {
	return int(u.Symbol) == f.index && int(u.Line) > f.sym.Body.Start && int(u.Line) < f.sym.Body.End
}

// replaced gives the file with another name than the kept one replaced on a line.
func (f target) replaced(line int, kept int32) ([]string, bool) {
	for _, u := range f.outline.Uses {
		if int(u.Line) != line || u.Name == kept || u.Kind&symbols.UseWrite != 0 {
			continue
		}
		word := regexp.MustCompile(`\b` + regexp.QuoteMeta(f.outline.Names[u.Name]) + `\b`)
		out := slices.Clone(f.lines)
		out[line-1] = word.ReplaceAllString(out[line-1], "planted")
		if out[line-1] != f.lines[line-1] {
			return out, true
		}
	}
	return nil, false
}
