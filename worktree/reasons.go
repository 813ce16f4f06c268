package worktree

import (
	"cmp"
	"slices"
	"strings"

	"patchd/worktree/diff"
)

// ReasonCode says why two changes of one tree do not compose without a person.
type ReasonCode string

// The textual codes: both sides change the same or abutting lines, or do to a file what cannot both hold.
const (
	SameLines     ReasonCode = "same_lines"
	AdjacentLines ReasonCode = "adjacent_lines"
	AddAdd        ReasonCode = "add_add"
	ModifyDelete  ReasonCode = "modify_delete"
	RenameRename  ReasonCode = "rename_rename"
	Binary        ReasonCode = "binary"
	ModeChange    ReasonCode = "mode"
	Submodule     ReasonCode = "submodule"
)

// The structural codes that lines and file names show: the lines merge, but perhaps not where they should.
const (
	FileRenamed        ReasonCode = "file_renamed"
	PlacementAmbiguous ReasonCode = "placement_ambiguous"
)

// Textual reports whether the code belongs to the textual class; the others are structural.
func (c ReasonCode) Textual() bool { return c != FileRenamed && c != PlacementAmbiguous }

// Merges reports whether a mechanical merge without markers exists where the code alone applies.
func (c ReasonCode) Merges() bool { return !c.Textual() || c == AdjacentLines }

// Reason is one place where two sides meet. Line ranges are 1-based and inclusive; an insertion is given as the
// lines that it abuts; zeros mean that no lines are meant. TargetLines are lines of the right side's result.
// Detail is prose and decides nothing.
type Reason struct {
	Code        ReasonCode
	Path        string
	BaseLines   [2]int
	TargetLines [2]int
	Detail      string
}

// sortReasons sorts and drops repeats.
func sortReasons(reasons []Reason) []Reason {
	slices.SortFunc(reasons, func(a, b Reason) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), strings.Compare(string(a.Code), string(b.Code)),
			slices.Compare(a.BaseLines[:], b.BaseLines[:]), slices.Compare(a.TargetLines[:], b.TargetLines[:]),
			strings.Compare(a.Detail, b.Detail))
	})
	return slices.CompactFunc(reasons, func(a, b Reason) bool {
		return a.Code == b.Code && a.Path == b.Path && a.BaseLines == b.BaseLines && a.TargetLines == b.TargetLines
	})
}

// shownLines gives a span of a file of n lines as a 1-based inclusive range.
func shownLines(s diff.Span, n int) [2]int {
	if s.Start < s.End {
		return [2]int{s.Start + 1, s.End}
	}
	if n == 0 {
		return [2]int{}
	}
	return [2]int{max(s.Start, 1), min(s.Start+1, n)}
}
