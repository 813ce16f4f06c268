package diff

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"strconv"
	"strings"
)

// Format writes a patch in git's format. Parsing what it writes gives the same patch again, but for line
// numbers, plain sections, which become git sections, and names quoted more than git would.
func Format(p *Patch) []byte {
	var out bytes.Buffer
	for i := range p.Files {
		formatFile(&out, &p.Files[i])
	}
	return out.Bytes()
}

// formatFile writes one section.
func formatFile(out *bytes.Buffer, f *File) {
	oldName, newName := f.Old, f.New
	if oldName == "" {
		oldName = newName
	}
	if newName == "" {
		newName = oldName
	}
	fmt.Fprintf(out, "diff --git %s %s\n", quote("a/"+oldName), quote("b/"+newName))
	formatModes(out, f)
	if f.Similarity >= 0 {
		fmt.Fprintf(out, "similarity index %d%%\n", f.Similarity)
	}
	if f.Op == OpRename || f.Op == OpCopy {
		fmt.Fprintf(out, "%s from %s\n%s to %s\n", f.Op, quote(f.Old), f.Op, quote(f.New))
	}
	if f.OldOID != "" {
		fmt.Fprintf(out, "index %s..%s", f.OldOID, f.NewOID)
		if f.OldMode != 0 && f.OldMode == f.NewMode {
			fmt.Fprintf(out, " %06o", f.OldMode)
		}
		out.WriteByte('\n')
	}
	switch {
	case f.Binary != nil:
		formatBinary(out, f.Binary)
	case len(f.Hunks) > 0:
		formatNames(out, f)
		for i := range f.Hunks {
			formatHunk(out, &f.Hunks[i])
		}
	}
}

// formatModes writes the mode headers, where the index line does not state the mode.
func formatModes(out *bytes.Buffer, f *File) {
	switch {
	case f.Op == OpAdd:
		fmt.Fprintf(out, "new file mode %06o\n", orRegular(f.NewMode))
	case f.Op == OpDelete:
		fmt.Fprintf(out, "deleted file mode %06o\n", orRegular(f.OldMode))
	case f.OldMode != f.NewMode || f.OldMode != 0 && f.OldOID == "":
		fmt.Fprintf(out, "old mode %06o\nnew mode %06o\n", f.OldMode, f.NewMode)
	}
}

// orRegular gives a plain section's file the mode of a regular file.
func orRegular(mode uint32) uint32 {
	if mode == 0 {
		return 0o100644
	}
	return mode
}

func formatNames(out *bytes.Buffer, f *File) {
	name := func(prefix, path string) string {
		if path == "" {
			return devNull
		}
		quoted := quote(prefix + path)
		if quoted[0] != '"' && strings.ContainsAny(path, " ") {
			quoted += "\t"
		}
		return quoted
	}
	fmt.Fprintf(out, "--- %s\n+++ %s\n", name("a/", f.Old), name("b/", f.New))
}

func formatHunk(out *bytes.Buffer, h *Hunk) {
	fmt.Fprintf(out, "@@ -%s +%s @@%s\n", rangeText(h.OldStart, h.OldCount), rangeText(h.NewStart, h.NewCount), h.Section)
	for _, line := range h.Lines {
		out.WriteByte(line.Op)
		out.Write(line.Text)
		if !bytes.HasSuffix(line.Text, []byte{'\n'}) {
			out.WriteString("\n" + noNewline + "\n")
		}
	}
}

func rangeText(start, count int) string {
	if count == 1 {
		return strconv.Itoa(start)
	}
	return fmt.Sprintf("%d,%d", start, count)
}

func formatBinary(out *bytes.Buffer, b *Binary) {
	out.WriteString("GIT binary patch\n")
	for _, h := range []*BinaryHunk{&b.Forward, b.Reverse} {
		if h == nil {
			continue
		}
		kind := "literal"
		if h.Delta {
			kind = "delta"
		}
		fmt.Fprintf(out, "%s %d\n", kind, len(h.Data))
		var packed bytes.Buffer
		z := zlib.NewWriter(&packed)
		_, _ = z.Write(h.Data) // a bytes.Buffer takes everything
		_ = z.Close()
		for rest := packed.Bytes(); len(rest) > 0; rest = rest[min(52, len(rest)):] {
			encode85(out, rest[:min(52, len(rest))])
		}
		out.WriteByte('\n')
	}
}

// encode85 writes one line of at most 52 bytes.
func encode85(out *bytes.Buffer, data []byte) {
	if len(data) <= 26 {
		out.WriteByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(data)-1])
	} else {
		out.WriteByte("abcdefghijklmnopqrstuvwxyz"[len(data)-27])
	}
	for ; len(data) > 0; data = data[min(4, len(data)):] {
		var value uint32
		for i := range 4 {
			value <<= 8
			if i < len(data) {
				value |= uint32(data[i])
			}
		}
		var group [5]byte
		for i := 4; i >= 0; i-- {
			group[i] = alphabet85[value%85]
			value /= 85
		}
		out.Write(group[:])
	}
	out.WriteByte('\n')
}

// Hunks draws edits of base as hunks with the given number of context lines; hunks whose context would meet are
// one hunk.
func Hunks(base [][]byte, edits []Edit, context int) []Hunk {
	var out []Hunk
	shift := 0
	for i := 0; i < len(edits); {
		j := i + 1
		for j < len(edits) && edits[j].Start-edits[j-1].End <= 2*context {
			j++
		}
		h := drawHunk(base, edits[i:j], context)
		h.NewStart = h.OldStart + shift
		if h.OldCount == 0 {
			h.NewStart++
		}
		if h.NewCount == 0 {
			h.NewStart--
		}
		shift += h.NewCount - h.OldCount
		out = append(out, h)
		i = j
	}
	return out
}

// drawHunk draws one hunk; its NewStart is left to the caller.
func drawHunk(base [][]byte, edits []Edit, context int) Hunk {
	from := max(edits[0].Start-context, 0)
	to := min(edits[len(edits)-1].End+context, len(base))
	h := Hunk{OldStart: from + 1, OldCount: to - from, NewCount: to - from}
	if h.OldCount == 0 {
		h.OldStart = from
	}
	add := func(op byte, lines [][]byte) {
		for _, line := range lines {
			h.Lines = append(h.Lines, Line{Op: op, Text: line})
		}
	}
	at := from
	for _, e := range edits {
		add(' ', base[at:e.Start])
		add('-', base[e.Start:e.End])
		add('+', e.New)
		h.NewCount += len(e.New) - (e.End - e.Start)
		at = e.End
	}
	add(' ', base[at:to])
	return h
}
