package checks

import (
	"cmp"
	"slices"
)

// Source says who asks for a command.
type Source string

// The three sources of a required check.
const (
	SourcePatch  Source = "patch"  // the patch's own required_checks
	SourcePolicy Source = "policy" // rules of the target's policy
	SourceLanded Source = "landed" // Required-Check trailers of what landed since the base
)

// Required is one command that is due and everybody who asks for it, sorted.
type Required struct {
	Command Command  `json:"-"`
	Sources []Source `json:"sources"`
}

// Asks reports whether source is among those that ask for it.
func (r Required) Asks(source Source) bool { return slices.Contains(r.Sources, source) }

// Union merges the three lists: one entry for each argument vector, sorted by canonical line, whatever order the lists had.
func Union(patch, policy, landed []Command) []Required {
	byLine := map[string]*Required{}
	add := func(list []Command, source Source) {
		for _, c := range list {
			r := byLine[c.Line]
			if r == nil {
				r = &Required{Command: c}
				byLine[c.Line] = r
			}
			if !r.Asks(source) {
				r.Sources = append(r.Sources, source)
			}
		}
	}
	add(patch, SourcePatch)
	add(policy, SourcePolicy)
	add(landed, SourceLanded)

	out := make([]Required, 0, len(byLine))
	for _, r := range byLine {
		slices.Sort(r.Sources)
		out = append(out, *r)
	}
	slices.SortFunc(out, func(a, b Required) int { return cmp.Compare(a.Command.Line, b.Command.Line) })
	return out
}
