package worktree

import (
	"bytes"
	"fmt"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// content gives a section's new content.
func (a *applier) content(f *diff.File, old []byte) ([]byte, error) {
	switch {
	case f.Binary != nil:
		return a.binary(f, old)
	case len(f.Hunks) > 0:
		return applyHunks(f, old)
	case f.Op == diff.OpAdd || f.Op == diff.OpDelete:
		return nil, nil
	default:
		return old, nil
	}
}

// binary applies a binary section; its full object ids are held against both contents.
func (a *applier) binary(f *diff.File, old []byte) ([]byte, error) {
	result, ok := f.Binary.Forward.Data, true
	if f.Binary.Forward.Delta {
		result, ok = diff.ApplyDelta(old, f.Binary.Forward.Data, a.limits.BlobBytes)
	}
	if !ok {
		return nil, misfit(f, f.Binary.Forward.Line, "", "the binary delta does not fit the base's content", staleHint)
	}
	if back := f.Binary.Reverse; back != nil {
		before, ok := back.Data, true
		if back.Delta {
			before, ok = diff.ApplyDelta(result, back.Data, a.limits.BlobBytes)
		}
		if !ok || !bytes.Equal(before, old) {
			return nil, misfit(f, back.Line, "", "the reverse binary content is not the base's", staleHint)
		}
	}
	if f.Op != diff.OpDelete && git.HashObject(git.TypeBlob, result) != git.OID(f.NewOID) {
		return nil, misfit(f, f.Binary.Forward.Line, f.NewOID, "the index line names another content than the patch makes", staleHint)
	}
	return result, nil
}

// applyHunks applies text hunks at their stated lines.
func applyHunks(f *diff.File, content []byte) ([]byte, error) {
	base := diff.Lines(content)
	var out [][]byte
	at := 0
	for i := range f.Hunks {
		h := &f.Hunks[i]
		first := h.OldStart - 1
		if h.OldCount == 0 {
			first++
		}
		if first < at || first+h.OldCount > len(base) {
			return nil, misfit(f, h.Line, fmt.Sprintf("-%d,%d", h.OldStart, h.OldCount), fmt.Sprintf("the hunk reaches past the base's %d lines", len(base)), staleHint)
		}
		if err := checkContext(f, h, first, len(base)); err != nil {
			return nil, err
		}
		out = append(out, base[at:first]...)
		var err error
		if out, at, err = applyHunk(f, h, base, out, first); err != nil {
			return nil, err
		}
	}
	out = append(out, base[at:]...)
	for i, line := range out {
		if i < len(out)-1 && line[len(line)-1] != '\n' {
			return nil, misfit(f, f.Hunks[len(f.Hunks)-1].Line, "", "a line without newline would stand inside the file", staleHint)
		}
	}
	return diff.Join(out), nil
}

// applyHunk takes one hunk's lines, which must equal the base's byte for byte.
func applyHunk(f *diff.File, h *diff.Hunk, base, out [][]byte, at int) ([][]byte, int, error) {
	line := h.Line
	for i := range h.Lines {
		l := &h.Lines[i]
		line++
		if l.Op != '+' {
			if !bytes.Equal(base[at], l.Text) {
				value := string(l.Text[:min(len(l.Text), 80)])
				return nil, 0, misfit(f, line, value, fmt.Sprintf("line %d of the base is not what the hunk says", at+1), staleHint)
			}
			at++
		}
		if l.Op != '-' {
			out = append(out, l.Text)
		}
		if l.Text[len(l.Text)-1] != '\n' {
			line++ // the marker for the missing newline
		}
	}
	return out, at, nil
}

// checkContext refuses a hunk that begins or ends with a change although the base has a neighbouring line:
// without it nothing tells that the hunk stands where it was meant to.
func checkContext(f *diff.File, h *diff.Hunk, first, lines int) error {
	lead := h.Lines[0].Op == ' ' || first == 0
	trail := h.Lines[len(h.Lines)-1].Op == ' ' || first+h.OldCount == lines
	if lead && trail {
		return nil
	}
	return &diff.Error{
		Code: diff.CodeMalformed, Path: f.Path(), Line: h.Line, Message: "the hunk omits a neighbouring line that the base has",
		Hint: "make the patch with at least one line of context",
	}
}
