package diff

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"strings"
)

// binaryPatch reads "GIT binary patch": a forward hunk and, optionally, a reverse one.
func (p *parser) binaryPatch(f *File) error {
	if len(f.OldOID) != 40 || len(f.NewOID) != 40 {
		return &Error{Code: CodeDoesNotApply, Path: f.Path(), Line: f.Line, Value: f.OldOID + ".." + f.NewOID, Message: "a binary patch needs full object ids", Hint: "make the patch with git diff --binary --full-index"}
	}
	if string(p.line) != "GIT binary patch" {
		return p.bad("the binary header is malformed", "write the section as git does")
	}
	if err := p.next(); err != nil {
		return err
	}
	forward, ok, err := p.binaryHunk()
	if err != nil {
		return err
	}
	if !ok {
		return p.bad("the binary content is missing", "submit the whole patch")
	}
	f.Binary = &Binary{Forward: *forward}
	reverse, ok, err := p.binaryHunk()
	if ok {
		f.Binary.Reverse = reverse
	}
	return err
}

// binaryHunk reads "literal n" or "delta n", its base-85 lines and the empty line after them.
func (p *parser) binaryHunk() (*BinaryHunk, bool, error) {
	h := &BinaryHunk{Line: p.number}
	var digits string
	switch {
	case p.has("literal "):
		digits = string(p.line[len("literal "):])
	case p.has("delta "):
		h.Delta = true
		digits = string(p.line[len("delta "):])
	default:
		return nil, false, nil
	}
	size, ok := decimal(digits)
	if !ok {
		if len(digits) > 9 && strings.Trim(digits, "0123456789") == "" {
			return nil, false, p.tooBig()
		}
		return nil, false, p.bad("the declared size is no number", "write the section as git does")
	}
	if p.binary += int64(size); p.limits.BinaryBytes > 0 && p.binary > p.limits.BinaryBytes {
		return nil, false, p.tooBig()
	}
	if err := p.next(); err != nil {
		return nil, false, err
	}
	var packed []byte
	for len(p.line) > 0 {
		var fine bool
		if packed, fine = decode85(packed, p.line); !fine {
			return nil, false, p.bad("the base-85 line is malformed", "submit the patch unchanged")
		}
		if err := p.next(); err != nil {
			return nil, false, err
		}
	}
	if p.line == nil {
		return nil, false, p.bad("the binary content is cut off", "submit the whole patch")
	}
	data, err := inflate(packed, size)
	if err != nil {
		p.number, p.line = h.Line, nil
		return nil, false, p.bad("the content does not inflate to its declared size", "submit the patch unchanged")
	}
	h.Data = data
	if h.Delta {
		if err := p.checkDelta(h); err != nil {
			return nil, false, err
		}
	}
	return h, true, p.next()
}

// checkDelta bounds the size that a delta announces for its result before anything is built from it.
func (p *parser) checkDelta(h *BinaryHunk) error {
	_, result, _, ok := deltaSizes(h.Data)
	if !ok {
		return p.bad("the delta is malformed", "submit the patch unchanged")
	}
	if p.binary += result; p.limits.BinaryBytes > 0 && (result > p.limits.BinaryBytes || p.binary > p.limits.BinaryBytes) {
		return p.tooBig()
	}
	return nil
}

func (p *parser) tooBig() error {
	e := p.bad("the binary content is declared too large", fmt.Sprintf("at most %d bytes of binary content are taken", p.limits.BinaryBytes))
	e.Code = CodeTooLarge
	return e
}

// inflate gives exactly size bytes of zlib data, and reads no more than that.
func inflate(packed []byte, size int) ([]byte, error) {
	source := bytes.NewReader(packed)
	z, err := zlib.NewReader(source)
	if err != nil {
		return nil, fmt.Errorf("open deflated content: %w", err)
	}
	var out bytes.Buffer
	n, err := io.Copy(&out, io.LimitReader(z, int64(size)+1))
	if err != nil {
		return nil, fmt.Errorf("inflate content: %w", err)
	}
	if n != int64(size) || source.Len() != 0 {
		return nil, fmt.Errorf("inflate content: %d bytes where %d are declared: %w", n, size, io.ErrUnexpectedEOF)
	}
	return out.Bytes(), nil
}

// alphabet85 is git's base-85 alphabet (see git's base85.c, after RFC 1924).
const alphabet85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"

// decode85 appends the bytes of one line: a length character, then groups of five characters for four bytes.
func decode85(out, line []byte) ([]byte, bool) {
	var count int
	switch c := line[0]; {
	case c >= 'A' && c <= 'Z':
		count = int(c-'A') + 1
	case c >= 'a' && c <= 'z':
		count = int(c-'a') + 27
	default:
		return nil, false
	}
	line = line[1:]
	if len(line) != (count+3)/4*5 {
		return nil, false
	}
	for ; len(line) > 0; line = line[5:] {
		var value uint64
		for _, c := range line[:5] {
			digit := strings.IndexByte(alphabet85, c)
			if digit < 0 {
				return nil, false
			}
			value = value*85 + uint64(digit)
		}
		if value > 0xffffffff {
			return nil, false
		}
		group := []byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}
		out = append(out, group[:min(count, 4)]...)
		count -= min(count, 4)
	}
	return out, true
}
