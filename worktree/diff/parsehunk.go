package diff

import (
	"bytes"
	"fmt"
	"strings"
)

const noNewline = `\ No newline at end of file`

// textHunks reads one hunk or more.
func (p *parser) textHunks(f *File) error {
	if !p.has("@@ ") {
		return p.bad("a hunk is missing", "submit the whole patch")
	}
	state := hunkState{}
	for p.has("@@ ") {
		p.hunks++
		if p.limits.Hunks > 0 && p.hunks > p.limits.Hunks {
			return &Error{Code: CodeTooLarge, Path: f.Path(), Line: p.number, Message: "the patch has too many hunks", Hint: fmt.Sprintf("at most %d hunks are taken", p.limits.Hunks)}
		}
		h, err := p.hunkHeader()
		if err != nil {
			return err
		}
		if err := state.follow(p, &h); err != nil {
			return err
		}
		if err := p.next(); err != nil {
			return err
		}
		if err := p.hunkLines(&h, &state); err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if p.has("@@@") {
		return p.bad("a combined diff is no patch", "diff against one parent")
	}
	return p.whole(f)
}

// whole refuses hunks that an addition or deletion cannot have.
func (p *parser) whole(f *File) error {
	for _, h := range f.Hunks {
		if f.Op == OpAdd && (h.OldCount != 0 || h.OldStart != 0) || f.Op == OpDelete && (h.NewCount != 0 || h.NewStart != 0) {
			return &Error{Code: CodeMalformed, Path: f.Path(), Line: h.Line, Message: "the hunk contradicts that the file is added or deleted", Hint: "write the section as git does"}
		}
	}
	return nil
}

// hunkState is where the hunks so far have left both sides: the next free line, 1-based.
type hunkState struct {
	nextOld, nextNew   int
	oldEnded, newEnded bool // a line without newline was the side's last
}

// follow holds a hunk's starts against the hunks before it.
func (s *hunkState) follow(p *parser, h *Hunk) error {
	first := func(start, count int) int { // the line in front of which, or from which, the hunk works
		if count == 0 {
			return start + 1
		}
		return start
	}
	oldFirst, newFirst := first(h.OldStart, h.OldCount), first(h.NewStart, h.NewCount)
	if s.nextOld == 0 {
		s.nextOld, s.nextNew = 1, 1
	}
	switch {
	case oldFirst < s.nextOld || h.OldCount > 0 && h.OldStart == 0 || h.NewCount > 0 && h.NewStart == 0:
		return p.bad("the hunk overlaps the one before it or begins at line 0", "keep the hunks in order")
	case newFirst-s.nextNew != oldFirst-s.nextOld:
		return p.bad("the hunk's new start disagrees with the hunks before it", "recount the hunk headers")
	case s.oldEnded || s.newEnded:
		return p.bad("a hunk follows the end of the file", "keep the marker for a missing newline at the last line")
	}
	s.nextOld, s.nextNew = oldFirst+h.OldCount, newFirst+h.NewCount
	return nil
}

// hunkHeader reads "@@ -a,b +c,d @@ section".
func (p *parser) hunkHeader() (Hunk, error) {
	h := Hunk{Line: p.number}
	wrong := func() (Hunk, error) {
		return h, p.bad("the hunk header is malformed", "write it as @@ -start,count +start,count @@")
	}
	ranges, section, ok := strings.Cut(string(p.line[len("@@ "):]), " @@")
	if !ok || section != "" && section[0] != ' ' {
		return wrong()
	}
	oldRange, newRange, ok := strings.Cut(ranges, " ")
	if !ok || !strings.HasPrefix(oldRange, "-") || !strings.HasPrefix(newRange, "+") {
		return wrong()
	}
	var okOld, okNew bool
	h.OldStart, h.OldCount, okOld = lineRange(oldRange[1:])
	h.NewStart, h.NewCount, okNew = lineRange(newRange[1:])
	if !okOld || !okNew {
		return wrong()
	}
	h.Section = section
	return h, nil
}

// lineRange reads "start" or "start,count".
func lineRange(s string) (start, count int, ok bool) {
	first, second, both := strings.Cut(s, ",")
	if start, ok = decimal(first); !ok || !both {
		return start, 1, ok
	}
	count, ok = decimal(second)
	return start, count, ok
}

// decimal reads a number of at most nine digits without sign or leading zero.
func decimal(s string) (int, bool) {
	if s == "" || len(s) > 9 || len(s) > 1 && s[0] == '0' {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

// hunkLines reads exactly the lines that the header announces, with the markers for a missing newline.
func (p *parser) hunkLines(h *Hunk, state *hunkState) error {
	oldLeft, newLeft := h.OldCount, h.NewCount
	changes := false
	for oldLeft > 0 || newLeft > 0 {
		if p.line == nil {
			return p.bad("the hunk is cut off", "submit the whole patch")
		}
		if len(p.line) == 0 {
			return p.bad("a hunk line has lost its first character", "keep trailing spaces of the patch")
		}
		op := p.line[0]
		useOld, useNew := op == ' ' || op == '-', op == ' ' || op == '+'
		switch {
		case !useOld && !useNew:
			return p.bad("the hunk has fewer lines than its header says", "recount the hunk header")
		case useOld && oldLeft == 0, useNew && newLeft == 0:
			return p.bad("the hunk has more lines than its header says", "recount the hunk header")
		case useOld && state.oldEnded, useNew && state.newEnded:
			return p.bad("a line follows the last line of the file", "keep the marker for a missing newline at the last line")
		}
		if useOld {
			oldLeft--
		}
		if useNew {
			newLeft--
		}
		changes = changes || op != ' '
		if err := p.hunkLine(h, op, state, useOld, useNew); err != nil {
			return err
		}
	}
	if !changes {
		return &Error{Code: CodeMalformed, Line: h.Line, Message: "the hunk changes nothing", Hint: "leave the hunk out"}
	}
	if len(p.line) > 0 && (p.line[0] == '\\' || p.line[0] == ' ' || p.line[0] == '+' || p.line[0] == '-' && !p.has("--- ")) {
		return p.bad("the hunk has more lines than its header says", "recount the hunk header")
	}
	return nil
}

// hunkLine takes one line and the marker that may follow it.
func (p *parser) hunkLine(h *Hunk, op byte, state *hunkState, useOld, useNew bool) error {
	start := len(p.text) - len(p.rest) - len(p.line) // the line without its operation, with its "\n"
	text := p.text[start : start+len(p.line) : start+len(p.line)]
	if err := p.next(); err != nil {
		return err
	}
	if p.line != nil && bytes.Equal(p.line, []byte(noNewline)) {
		text = text[: len(text)-1 : len(text)-1]
		state.oldEnded = state.oldEnded || useOld
		state.newEnded = state.newEnded || useNew
		if len(text) == 0 {
			return p.bad("an empty line cannot lack its newline", "leave the line out")
		}
		if err := p.next(); err != nil {
			return err
		}
	}
	h.Lines = append(h.Lines, Line{Op: op, Text: text})
	return nil
}
