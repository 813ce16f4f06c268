package ownership

import (
	"context"
	"slices"

	"patchd/ownership/symbols"
)

// Names are the names by which a change can matter to files that it does not touch.
type Names struct {
	// Defines are the names of definitions that the change adds, removes or gives another signature, sorted.
	Defines []string
	// Uses are the names on lines that it adds, sorted.
	Uses []string
}

// NamesOf reads the names of a change. Files without an outline have none: they are judged by their lines. The error is the
// outliner's.
func NamesOf(ctx context.Context, outliner symbols.Outliner, touches []Touch) (*Names, error) {
	files := make([]File, len(touches))
	for i, t := range touches {
		files[i] = File{Base: t.Base, Left: t.Result, Right: t.Base}
	}
	views, err := outlineAll(ctx, outliner, files)
	if err != nil {
		return nil, err
	}
	defines, uses := map[string]bool{}, map[string]bool{}
	for i := range touches {
		before, after := definitions(views[i][0]), definitions(views[i][1])
		for d := range before {
			defines[d.name] = defines[d.name] || before[d] != after[d]
		}
		for d := range after {
			defines[d.name] = defines[d.name] || before[d] != after[d]
		}
		if v := views[i][1]; v != nil && v.outline != nil {
			collectUses(uses, v.outline, touches[i].Edits)
		}
	}
	return &Names{Defines: chosen(defines), Uses: chosen(uses)}, nil
}

// definition is a symbol as others refer to it.
type definition struct {
	kind       symbols.Kind
	path, name string
	signature  uint64
}

// definitions counts what a version defines.
func definitions(v *view) map[definition]int {
	out := map[definition]int{}
	if v == nil || v.outline == nil {
		return out
	}
	for i := range v.outline.Symbols {
		s := &v.outline.Symbols[i]
		out[definition{s.Kind, s.Path, s.Name, s.Signature}]++
	}
	return out
}

func collectUses(into map[string]bool, o *symbols.Outline, edits []Edit) {
	for _, u := range o.Uses {
		if slices.ContainsFunc(edits, func(e Edit) bool { return int(u.Line) > e.NewStart && int(u.Line) <= e.NewEnd }) {
			into[o.Names[u.Name]] = true
		}
	}
}

func chosen(set map[string]bool) []string {
	var out []string
	for name, in := range set {
		if in && name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out
}
