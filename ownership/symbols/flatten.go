package symbols

// #include <stdlib.h>
// #include "flatten.h"
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	sitter "github.com/smacker/go-tree-sitter"
)

var (
	errTooMany  = errors.New("tree has too many nodes")
	errNoParser = errors.New("parser gave no tree")
	errNoMemory = errors.New("no memory for the tree")
)

// handle gives the C pointer that the bindings keep for a language. They export no way to it; it is the one field of
// their struct, which the pinned version and TestTheFlatTreeIsTheTree hold.
func handle(l *sitter.Language) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(l))
}

// fieldNames gives the names of a language's fields by their numbers; number 0 is none.
func fieldTable(l *sitter.Language) []string {
	names := make([]string, 1+int(C.patchd_field_count(handle(l))))
	for i := 1; i < len(names); i++ {
		names[i] = l.FieldName(i)
	}
	return names
}

// flatten parses a text and copies its tree.
func (t *tree) flatten() error {
	text := t.text
	if len(text) == 0 {
		text = []byte{0}
	}
	var out *C.patchd_node
	var count C.uint32_t
	result := C.patchd_parse(handle(t.g.lang), (*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.uint32_t(len(t.text)), //nolint:gosec // C only reads it during the call
		parseMicros, maxDepth, maxNodes, &out, &count)
	defer C.free(unsafe.Pointer(out))
	switch result {
	case C.PATCHD_OK:
		t.copy(unsafe.Slice(out, count))
		return nil
	case C.PATCHD_TOO_MANY:
		return errTooMany
	case C.PATCHD_NO_MEMORY:
		return errNoMemory
	}
	return fmt.Errorf("parse: %w", errNoParser)
}

// copy links the nodes: parents and earlier siblings are known, the rest follows from them.
func (t *tree) copy(from []C.patchd_node) {
	t.nodes = make([]node, len(from))
	for i := range from {
		f := &from[i]
		n := &t.nodes[i]
		*n = node{
			start: uint32(f.start), end: uint32(f.end), parent: int32(f.parent), prev: int32(f.prev), first: -1, next: -1,
			sym: uint16(f.symbol), field: uint8(f.field), missing: f.flags&C.PATCHD_MISSING != 0,
		}
		if t.g.info(n.sym).sign {
			n.field = 0
		}
		if n.prev >= 0 {
			t.nodes[n.prev].next = int32(i)
		} else if n.parent >= 0 {
			t.nodes[n.parent].first = int32(i)
		}
		if f.flags&C.PATCHD_CUT != 0 {
			t.deep = append(t.deep, n.start)
		}
	}
}
