package symbols

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// The protocol between a Pool and its children, over the child's standard input and output. A frame is a length
// in four bytes, little-endian, and that many bytes. The pool sends limits, the child answers with the greeting.
// Then each request is a list of files, and the child sends one result a file, in order, as it has them.

const (
	greeting = "patchd-outlines/1"
	maxFrame = 1 << 30
)

var errFrame = errors.New("frame is too long")

func writeFrame(w io.Writer, b []byte) error {
	var head [4]byte
	binary.LittleEndian.PutUint32(head[:], uint32(len(b))) //nolint:gosec // both sides keep frames under maxFrame
	if _, err := w.Write(head[:]); err != nil {
		return err
	}
	_, err := w.Write(b)
	return err
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.LittleEndian.Uint32(head[:])
	if n > maxFrame {
		return nil, errFrame
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

func encodeRequest(files []Request) []byte {
	e := &encoder{}
	e.uint(uint64(len(files)))
	for _, f := range files {
		e.string(f.Path)
		e.uint(uint64(len(f.Text)))
		e.b = append(e.b, f.Text...)
	}
	return e.b
}

func decodeRequest(b []byte) ([]Request, error) {
	d := &decoder{b: b}
	files := make([]Request, d.count())
	for i := range files {
		files[i] = Request{Path: d.string(), Text: d.bytes()}
	}
	return files, d.err
}

// ServeChild outlines files for a Pool until its input ends. It is what a child process runs, alone, from its
// start: it limits the memory of the whole process. Hostile text can end the process at any time.
func ServeChild(in io.Reader, out io.Writer) error {
	r, w := bufio.NewReader(in), bufio.NewWriter(out)
	hello, err := readFrame(r)
	if err != nil {
		return fmt.Errorf("read limits: %w", err)
	}
	d := &decoder{b: hello}
	memory, maxBytes := d.uint(), d.int()
	if d.err != nil {
		return fmt.Errorf("read limits: %w", d.err)
	}
	if err := limitMemory(memory); err != nil {
		return err
	}
	if err := send(w, []byte(greeting)); err != nil {
		return err
	}
	outliner := NewInProcess(maxBytes)
	for {
		b, err := readFrame(r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read request: %w", err)
		}
		if err := serveFiles(outliner, b, w); err != nil {
			return err
		}
	}
}

func serveFiles(outliner *InProcess, request []byte, w *bufio.Writer) error {
	files, err := decodeRequest(request)
	if err != nil {
		return fmt.Errorf("read request: %w", err)
	}
	for _, f := range files {
		results, err := outliner.Outlines(context.Background(), []Request{f})
		if err != nil {
			return err
		}
		if err := send(w, encodeResult(results[0])); err != nil {
			return err
		}
	}
	return nil
}

func send(w *bufio.Writer, b []byte) error {
	if err := writeFrame(w, b); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
