// Package ownership says what a change touches, beyond lines: which symbols, which declared hunks, which owners,
// and whether two changes to one base touch what belongs together.
//
// It owns footprints, the structural reason codes, degraded files, owner rules and invariants. It reads no
// repository and starts no process: texts, line edits and an outliner are given. Every answer is symmetric in its
// two sides and sorted, whatever the order of the input.
package ownership

import (
	"cmp"
	"fmt"
	"slices"

	"patchd/ownership/symbols"
)

// Code is a reason code of the structural class, or of a declared hunk that does not hold.
type Code string

// The codes that this package gives.
const (
	CodeSameSymbol        Code = "same_symbol"
	CodeOwnedRangeChanged Code = "owned_range_changed"
	CodeSymbolMoved       Code = "symbol_moved"
	CodeSymbolRenamed     Code = "symbol_renamed"
	CodeSymbolDeleted     Code = "symbol_deleted"
	CodeSignatureChanged  Code = "signature_changed"
	CodeReferenceBroken   Code = "reference_broken"
	CodeDuplicateSymbol   Code = "duplicate_symbol"
	CodeCoupledEdits      Code = "coupled_edits"
	CodeInvariantShared   Code = "invariant_shared"
	CodeOwnerApproval     Code = "owner_approval"
	CodeHunkNotOwned      Code = "hunk_not_owned"
	CodeOwnedHunkStale    Code = "owned_hunk_stale"
)

// Edit is one edit of a base's lines: base lines [BaseStart, BaseEnd) become result lines [NewStart, NewEnd).
// Lines are 0-based and the ranges half open; BaseStart == BaseEnd inserts at that gap.
type Edit struct{ BaseStart, BaseEnd, NewStart, NewEnd int }

// base gives the base lines that the edit replaces, 1-based; empty (End < Start) for an insertion.
func (e Edit) base() symbols.Lines { return symbols.Lines{Start: e.BaseStart + 1, End: e.BaseEnd} }

// result gives the lines that stand there afterwards, 1-based; empty for a deletion.
func (e Edit) result() symbols.Lines { return symbols.Lines{Start: e.NewStart + 1, End: e.NewEnd} }

// Version is one version of one file. Blob identifies the text, for caches.
type Version struct {
	Path string
	Blob string
	Text []byte
}

// File is one path of the base with what the two sides made of it. A version is nil where the file does not
// exist. A side that did not touch the file has the base's version and no edits. A path that a side renamed has
// another Path in that side's version. A path that only the result has is a File without Base.
type File struct {
	Base, Left, Right     *Version
	LeftEdits, RightEdits []Edit
}

// path names the file: its path at the base, else the one at which it was added.
func (f *File) path() string {
	for _, v := range []*Version{f.Base, f.Left, f.Right} {
		if v != nil {
			return v.Path
		}
	}
	return ""
}

// Hunk is a declared owned hunk: lines of a path at the base, 1-based and inclusive, and the symbol they belong to.
type Hunk struct {
	Path       string
	Start, End int
	Symbol     string
}

// Place is where something stands in one version: what a person needs to see to judge a reason.
type Place struct {
	Path   string
	Lines  symbols.Lines
	Header string
}

// Reason is one structural reason. Line ranges are 1-based and inclusive, zero where there is none.
type Reason struct {
	Code   Code
	Path   string
	Symbol string
	// Base, Left and Right are where the symbol stands at the base and in the two results.
	Base, Left, Right *Place
	// BaseLines, LeftLines and RightLines are what the reason is about.
	BaseLines, LeftLines, RightLines [2]int
	// Detail is one sentence for a person. It names the sides as the input calls them.
	Detail string
}

// Degraded is a file that was read by lines only, and why.
type Degraded struct {
	Path string
	Why  symbols.Why
}

// Result is what the comparison of two sides found.
type Result struct {
	// Reasons are sorted and free of repetition.
	Reasons []Reason
	// Degraded lists the files of which symbols could not be told.
	Degraded []Degraded
	// Coupled lists the pairs of edits that can reach each other.
	Coupled []Reason
}

// Footprint is one range that a change touches, in the base's lines (1-based and inclusive; for an insertion
// End is Start-1, and Start is the line that it stands before) with the innermost symbol there.
type Footprint struct {
	Path       string
	Op         string
	Start, End int
	Symbol     string
}

// HunkError says why declared owned hunks do not hold for a patch.
type HunkError struct {
	Code Code
	Path string
	// Line is the base line at fault.
	Line int
	// Value is what was declared, Want what would be right.
	Value, Want string
}

// Error names the path, the line, the value and what to do.
func (e *HunkError) Error() string {
	return fmt.Sprintf("%s: %s:%d: declared %q, want %s", e.Code, e.Path, e.Line, e.Value, e.Want)
}

func pair(l symbols.Lines) [2]int {
	if l.Start <= 0 {
		return [2]int{}
	}
	return [2]int{l.Start, l.End}
}

func comparePairs(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) }

// sortReasons orders reasons and drops repetitions.
func sortReasons(list []Reason) []Reason {
	order := func(a, b Reason) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), comparePairs(a.BaseLines, b.BaseLines), cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Symbol, b.Symbol), comparePairs(a.LeftLines, b.LeftLines), comparePairs(a.RightLines, b.RightLines),
			cmp.Compare(a.Detail, b.Detail))
	}
	slices.SortFunc(list, order)
	return slices.CompactFunc(list, func(a, b Reason) bool {
		return a.Code == b.Code && a.Path == b.Path && a.Symbol == b.Symbol && a.BaseLines == b.BaseLines &&
			a.LeftLines == b.LeftLines && a.RightLines == b.RightLines
	})
}

// Edits gives the edits of n replacements in the order of the base, of which at tells the base lines (0-based, half
// open) and the number of lines that stand there instead.
func Edits(n int, at func(i int) (start, end, lines int)) []Edit {
	list := make([]Edit, n)
	shift := 0
	for i := range list {
		start, end, lines := at(i)
		list[i] = Edit{start, end, start + shift, start + shift + lines}
		shift += lines - (end - start)
	}
	return list
}
