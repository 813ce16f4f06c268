package diff

import "fmt"

// Code is a protocol code that refuses a patch for good.
type Code string

// The codes that this package and package worktree give.
const (
	CodeMalformed    Code = "diff_malformed"
	CodeEmpty        Code = "diff_empty"
	CodeTooLarge     Code = "diff_too_large"
	CodePathUnsafe   Code = "path_unsafe"
	CodeModeUnsafe   Code = "mode_unsafe"
	CodeSymlink      Code = "symlink_unsafe"
	CodeDoesNotApply Code = "patch_does_not_apply"
)

// Error refuses a patch: which rule, where in the patch, the value at fault and what to do about it.
type Error struct {
	Code    Code
	Path    string // the file at fault, when known
	Line    int    // 1-based line of the patch text; 0 when the whole patch is meant
	Value   string // the value at fault, shortened
	Hint    string // what to do
	Message string // what is wrong, one sentence without the above
}

// Error implements error.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.Value != "" {
		s += fmt.Sprintf(" (%q)", e.Value)
	}
	if e.Path != "" {
		s += fmt.Sprintf(" in %q", e.Path)
	}
	if e.Line > 0 {
		s += fmt.Sprintf(" at line %d of the patch", e.Line)
	}
	return s
}

// Limits bound what a patch may hold. A zero field means no bound.
type Limits struct {
	Bytes       int   // the patch text
	Files       int   // sections
	Hunks       int   // text hunks, all files together
	LineBytes   int   // one line of the patch text
	BinaryBytes int64 // declared inflated sizes of binary hunks, all files together
	BlobBytes   int64 // one resulting file
}

// DefaultLimits are the bounds of protocol 1. They can reach a digest, so they change with the protocol only.
func DefaultLimits() Limits {
	return Limits{Bytes: 32 << 20, Files: 10_000, Hunks: 200_000, LineBytes: 4 << 20, BinaryBytes: 64 << 20, BlobBytes: 64 << 20}
}

// Op is what a section does to its file.
type Op string

// The five operations of a section.
const (
	OpModify Op = "modify"
	OpAdd    Op = "add"
	OpDelete Op = "delete"
	OpRename Op = "rename"
	OpCopy   Op = "copy"
)

// Patch is a parsed patch: one File a section, in the patch's order.
type Patch struct {
	Files []File
}

// File is one section. Old is empty for an addition and New for a deletion; they are equal for a modification.
type File struct {
	Line             int // where the section starts
	Op               Op
	Old, New         string
	OldMode, NewMode uint32 // zero when the section does not state it
	OldOID, NewOID   string // hexadecimal, perhaps abbreviated; empty without an index line; zeros mean absent
	Similarity       int    // percent, -1 when not stated
	Hunks            []Hunk
	Binary           *Binary
	Git              bool // the section has a "diff --git" line
}

// Path is the path that the section leaves, or removes.
func (f *File) Path() string {
	if f.New != "" {
		return f.New
	}
	return f.Old
}

// Hunk is one text hunk. Starts are as written: 1-based, or the line before when the count is zero.
type Hunk struct {
	Line               int
	OldStart, OldCount int
	NewStart, NewCount int
	Section            string
	Lines              []Line
}

// Line is one line of a hunk: ' ', '-' or '+', and the text with its terminator (absent at an end of file
// without newline).
type Line struct {
	Op   byte
	Text []byte
}

// Binary is git's binary patch of one file, inflated. Reverse leads back to the old content and may be absent.
type Binary struct {
	Forward BinaryHunk
	Reverse *BinaryHunk
}

// BinaryHunk is a whole content, or a delta against the other side.
type BinaryHunk struct {
	Line  int
	Delta bool
	Data  []byte
}
