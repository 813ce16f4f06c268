package git

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ParseTree reads the body of a tree object (gitformat: "mode SP name NUL id"). Modes are made canonical as git does
// when it reads them (100664 becomes 100644). Entries out of order, twice, without a name or with a name that no path
// can have are a *MalformedError.
func ParseTree(data []byte) (Tree, error) {
	tree := make(Tree, 0, len(data)/32)
	for len(data) > 0 {
		space := bytes.IndexByte(data, ' ')
		end := bytes.IndexByte(data, 0)
		if space <= 0 || end < space || len(data) < end+21 {
			return nil, malformedTree("truncated entry")
		}
		mode, err := parseMode(string(data[:space]))
		if err != nil {
			return nil, err
		}
		entry := TreeEntry{Name: string(data[space+1 : end])}
		entry.Mode, entry.OID = mode, OID(hex.EncodeToString(data[end+1:end+21]))
		if err := checkEntry(tree, entry); err != nil {
			return nil, err
		}
		tree = append(tree, entry)
		data = data[end+21:]
	}
	return tree, nil
}

func malformedTree(format string, args ...any) error {
	return &MalformedError{Type: TypeTree, Why: fmt.Sprintf(format, args...)}
}

func parseMode(s string) (Mode, error) {
	if len(s) > 7 {
		return 0, malformedTree("mode %q", s)
	}
	bits, err := strconv.ParseUint(s, 8, 32)
	if err != nil {
		return 0, malformedTree("mode %q", s)
	}
	mode, ok := canonicalMode(uint32(bits))
	if !ok {
		return 0, malformedTree("mode %q", s)
	}
	return mode, nil
}

func canonicalMode(bits uint32) (Mode, bool) {
	switch bits &^ 0o7777 {
	case 0o100000:
		if bits&0o100 != 0 {
			return ModeExecutable, true
		}
		return ModeFile, true
	case 0o120000:
		return ModeSymlink, true
	case 0o040000:
		return ModeTree, true
	case 0o160000:
		return ModeGitlink, true
	}
	return 0, false
}

// checkEntry holds one entry against the entries before it.
func checkEntry(before Tree, e TreeEntry) error {
	if e.Name == "" || e.Name == "." || e.Name == ".." || strings.ContainsAny(e.Name, "/\x00") {
		return malformedTree("name %q", e.Name)
	}
	if len(before) == 0 {
		return nil
	}
	last := before[len(before)-1]
	if last.Name == e.Name || compareEntries(last, e) >= 0 {
		return malformedTree("entry %q is out of order or twice", e.Name)
	}
	return checkHiddenTwin(before, e)
}

// checkHiddenTwin finds a file and a directory of one name, which need not be neighbours: "a", "a.b", "a/".
func checkHiddenTwin(before Tree, e TreeEntry) error {
	if e.Mode != ModeTree {
		return nil
	}
	at, found := slices.BinarySearchFunc(before, TreeEntry{Name: e.Name}, compareEntries)
	if found && before[at].Name == e.Name {
		return malformedTree("entry %q is twice", e.Name)
	}
	return nil
}

// compareEntries is git's order: bytewise, a directory as if its name ended in "/".
func compareEntries(a, b TreeEntry) int {
	n := min(len(a.Name), len(b.Name))
	if c := strings.Compare(a.Name[:n], b.Name[:n]); c != 0 {
		return c
	}
	return cmp.Compare(tailByte(a, n), tailByte(b, n))
}

func tailByte(e TreeEntry, n int) int {
	switch {
	case len(e.Name) > n:
		return int(e.Name[n])
	case e.Mode == ModeTree:
		return '/'
	}
	return 0
}

// EncodeTree is the body of the tree object. It is strict: unsorted, doubled or unnamed entries, and modes or ids that
// git would not write, are a *MalformedError.
func EncodeTree(t Tree) ([]byte, error) {
	size := 0
	for _, e := range t {
		size += len(e.Name) + 28
	}
	data := make([]byte, 0, size)
	for i, e := range t {
		if err := checkEntry(t[:i], e); err != nil {
			return nil, err
		}
		if canonical, ok := canonicalMode(uint32(e.Mode)); !ok || canonical != e.Mode {
			return nil, malformedTree("mode %o of %q", uint32(e.Mode), e.Name)
		}
		id, err := e.OID.raw()
		if err != nil {
			return nil, malformedTree("id %q of %q", string(e.OID), e.Name)
		}
		data = strconv.AppendUint(data, uint64(e.Mode), 8)
		data = append(data, ' ')
		data = append(data, e.Name...)
		data = append(data, 0)
		data = append(data, id[:]...)
	}
	return data, nil
}

// Find gives the entry of one name.
func (t Tree) Find(name string) (TreeEntry, bool) {
	if i, ok := slices.BinarySearchFunc(t, TreeEntry{Name: name}, compareEntries); ok {
		return t[i], true
	}
	dir := TreeEntry{Name: name, Entry: Entry{Mode: ModeTree}}
	if i, ok := slices.BinarySearchFunc(t, dir, compareEntries); ok {
		return t[i], true
	}
	return TreeEntry{}, false
}

// Sort puts the entries into git's order.
func (t Tree) Sort() { slices.SortFunc(t, compareEntries) }
