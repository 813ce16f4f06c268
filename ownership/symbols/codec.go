//nolint:gosec // G115: counts and offsets stay below the size cap of a file
package symbols

import (
	"encoding/binary"
	"errors"
	"slices"
)

// The wire form of a result: unsigned varints, signed ones in zigzag, fixed 64-bit hashes, and a length before
// each string and list. Both ends are the same program, so there is no version in it.

var errShortMessage = errors.New("outline message ends early")

type encoder struct{ b []byte }

func (e *encoder) uint(v uint64)   { e.b = binary.AppendUvarint(e.b, v) }
func (e *encoder) int(v int)       { e.b = binary.AppendVarint(e.b, int64(v)) }
func (e *encoder) hash(v uint64)   { e.b = binary.LittleEndian.AppendUint64(e.b, v) }
func (e *encoder) lines(l Lines)   { e.int(l.Start); e.int(l.End) }
func (e *encoder) string(s string) { e.uint(uint64(len(s))); e.b = append(e.b, s...) }

type decoder struct {
	b   []byte
	err error
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	return d.take(v, n)
}

func (d *decoder) int() int {
	v, n := binary.Varint(d.b)
	return int(int64(d.take(uint64(v), n)))
}

func (d *decoder) take(v uint64, n int) uint64 {
	if n <= 0 || d.err != nil {
		d.err, d.b = errShortMessage, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) hash() uint64 {
	if len(d.b) < 8 {
		d.err, d.b = errShortMessage, nil
		return 0
	}
	v := binary.LittleEndian.Uint64(d.b)
	d.b = d.b[8:]
	return v
}

func (d *decoder) lines() Lines { return Lines{d.int(), d.int()} }

// count reads the length of a list, of which each item takes at least one byte.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.err, d.b = errShortMessage, nil
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() []byte {
	n := d.count()
	s := d.b[:n]
	d.b = d.b[n:]
	return s
}

func (d *decoder) string() string { return string(d.bytes()) }

func encodeResult(r Result) []byte {
	e := &encoder{}
	e.string(string(r.Why))
	if r.Outline == nil {
		return e.b
	}
	o := r.Outline
	e.b = slices.Grow(e.b, len(o.Uses)*8+len(o.Symbols)*160+len(o.Text)*8)
	e.string(string(o.Language))
	e.int(o.Total)
	e.uint(uint64(len(o.Symbols)))
	for i := range o.Symbols {
		encodeSymbol(e, &o.Symbols[i])
	}
	for _, list := range [][]Lines{o.Errors, o.Statements} {
		e.uint(uint64(len(list)))
		for _, l := range list {
			e.lines(l)
		}
	}
	encodeStrings(e, o.Names)
	encodeUses(e, o.Uses)
	e.uint(uint64(len(o.Imports)))
	for _, im := range o.Imports {
		e.string(im.Name)
		e.string(im.Item)
		e.string(im.Module)
		e.int(im.Line)
	}
	e.uint(uint64(len(o.Text)))
	for _, h := range o.Text {
		e.hash(h)
	}
	encodeSupers(e, o)
	return e.b
}

func encodeStrings(e *encoder, list []string) {
	e.uint(uint64(len(list)))
	for _, s := range list {
		e.string(s)
	}
}

func encodeSupers(e *encoder, o *Outline) {
	e.uint(uint64(len(o.Supers)))
	for i := range o.Symbols {
		if names := o.Supers[i]; len(names) > 0 {
			e.int(i)
			encodeStrings(e, names)
		}
	}
}

func encodeSymbol(e *encoder, s *Symbol) {
	e.string(string(s.Kind))
	e.string(s.Name)
	e.string(s.Path)
	e.int(s.Ordinal)
	e.int(s.Parent)
	e.lines(s.Lines)
	e.int(s.NameLine)
	e.lines(s.Header)
	e.lines(s.Body)
	e.string(s.Params)
	e.hash(s.Signature)
	e.hash(s.Exact)
	e.int(s.Tokens)
	e.uint(uint64(len(s.Shape)))
	for _, h := range s.Shape {
		e.uint(uint64(h))
	}
}

func encodeUses(e *encoder, uses []Use) {
	e.uint(uint64(len(uses)))
	line := int32(0)
	for _, u := range uses {
		e.int(int(u.Name))
		e.int(int(u.Line - line))
		line = u.Line
		e.int(int(u.Symbol))
		e.uint(uint64(u.Kind))
		e.int(int(u.Args))
		e.int(int(u.Qualifier))
	}
}

func decodeResult(b []byte) (Result, error) {
	d := &decoder{b: b}
	r := Result{Why: Why(d.string())}
	if d.err != nil || r.Why != "" {
		return r, d.err
	}
	o := &Outline{Language: Language(d.string()), Total: d.int(), Supers: map[int][]string{}}
	o.Symbols = make([]Symbol, d.count())
	for i := range o.Symbols {
		o.Symbols[i] = decodeSymbol(d)
	}
	o.Errors = decodeLines(d)
	o.Statements = decodeLines(d)
	o.Names = decodeStrings(d)
	o.Uses = decodeUses(d)
	o.Imports = make([]Import, d.count())
	for i := range o.Imports {
		o.Imports[i] = Import{Name: d.string(), Item: d.string(), Module: d.string(), Line: d.int()}
	}
	o.Text = make([]uint64, d.count())
	for i := range o.Text {
		o.Text[i] = d.hash()
	}
	for range d.count() {
		i := d.int()
		o.Supers[i] = decodeStrings(d)
	}
	r.Outline = o
	return r, d.err
}

func decodeLines(d *decoder) []Lines {
	list := make([]Lines, d.count())
	for i := range list {
		list[i] = d.lines()
	}
	return list
}

func decodeStrings(d *decoder) []string {
	list := make([]string, d.count())
	for i := range list {
		list[i] = d.string()
	}
	return list
}

func decodeSymbol(d *decoder) Symbol {
	s := Symbol{
		Kind: Kind(d.string()), Name: d.string(), Path: d.string(), Ordinal: d.int(), Parent: d.int(), Lines: d.lines(),
		NameLine: d.int(), Header: d.lines(), Body: d.lines(), Params: d.string(), Signature: d.hash(), Exact: d.hash(), Tokens: d.int(),
	}
	s.Shape = make([]uint32, d.count())
	for i := range s.Shape {
		s.Shape[i] = uint32(d.uint())
	}
	return s
}

func decodeUses(d *decoder) []Use {
	uses := make([]Use, d.count())
	line := int32(0)
	for i := range uses {
		u := &uses[i]
		u.Name = int32(d.int())
		line += int32(d.int())
		u.Line, u.Symbol, u.Kind = line, int32(d.int()), UseKind(d.uint())
		u.Args, u.Qualifier = int16(d.int()), int32(d.int())
	}
	return uses
}
