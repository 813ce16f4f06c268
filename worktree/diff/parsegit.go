package diff

import (
	"errors"
	"strconv"
	"strings"
)

// header collects the extended headers of one git section.
type header struct {
	oldMode, newMode, newFile, deleted uint32
	indexMode                          uint32
	renameFrom, renameTo               string
	copyFrom, copyTo                   string
	seen                               map[string]bool
}

// gitSection reads a section that begins with "diff --git".
func (p *parser) gitSection(f *File) error {
	names := string(p.line[len("diff --git "):])
	if strings.ContainsAny(names, "\r\x00") {
		return p.bad("the header line holds a carriage return or NUL", "keep the patch's line endings as git wrote them")
	}
	if err := p.next(); err != nil {
		return err
	}
	h := header{seen: map[string]bool{}}
	for {
		known, err := p.extended(f, &h)
		if err != nil {
			return namedAfter(err, names)
		}
		if !known {
			break
		}
	}
	if err := p.resolve(f, &h, names); err != nil {
		return err
	}
	p.current = f
	if err := p.checkPaths(f); err != nil {
		return err
	}
	if err := p.checkModes(f, &h); err != nil {
		return err
	}
	return p.body(f, &h)
}

// namedAfter gives a refusal the path that the header line names twice alike, where nothing named one before.
func namedAfter(err error, names string) error {
	var bad *Error
	half := len(names) / 2
	if errors.As(err, &bad) && bad.Path == "" && len(names)%2 == 1 && half > 2 && names[half] == ' ' && names[2:half] == names[half+3:] {
		bad.Path = names[2:half]
	}
	return err
}

// extended reads one extended header, or reports that the current line is none.
func (p *parser) extended(f *File, h *header) (bool, error) {
	for _, key := range []string{"old mode ", "new mode ", "new file mode ", "deleted file mode ", "similarity index ", "dissimilarity index ", "rename from ", "rename to ", "copy from ", "copy to ", "index "} {
		if !p.has(key) {
			continue
		}
		if h.seen[key] {
			return false, p.bad("the header is repeated", "write each header once")
		}
		h.seen[key] = true
		if err := p.header(f, h, key, string(p.line[len(key):])); err != nil {
			return false, err
		}
		return true, p.next()
	}
	return false, nil
}

// header takes the value of one extended header.
func (p *parser) header(f *File, h *header, key, value string) (err error) {
	switch key {
	case "old mode ":
		h.oldMode, err = p.mode(value)
	case "new mode ":
		h.newMode, err = p.mode(value)
	case "new file mode ":
		h.newFile, err = p.mode(value)
	case "deleted file mode ":
		h.deleted, err = p.mode(value)
	case "similarity index ", "dissimilarity index ":
		number, ok := strings.CutSuffix(value, "%")
		percent, fine := decimal(number)
		if !ok || !fine || percent > 100 {
			return p.bad("the similarity is no percentage", "write it as git does")
		}
		f.Similarity = percent
	case "rename from ":
		h.renameFrom, err = p.headerName(value)
	case "rename to ":
		h.renameTo, err = p.headerName(value)
	case "copy from ":
		h.copyFrom, err = p.headerName(value)
	case "copy to ":
		h.copyTo, err = p.headerName(value)
	default:
		err = p.index(f, h, value)
	}
	return err
}

// headerName reads the whole value as one name.
func (p *parser) headerName(value string) (string, error) {
	if strings.HasPrefix(value, `"`) {
		name, rest, ok := Unquote(value)
		if !ok || rest != "" {
			return "", p.bad("the quoted name is malformed", "quote names as git does")
		}
		value = name
	}
	if value == "" {
		return "", p.bad("the name is empty", "name the file")
	}
	return value, nil
}

// mode reads six octal digits, of which only the modes that git writes are taken.
func (p *parser) mode(value string) (uint32, error) {
	switch value {
	case "100644", "100755", "120000", "160000":
		n, _ := strconv.ParseUint(value, 8, 32)
		return uint32(n), nil
	}
	return 0, &Error{Code: CodeModeUnsafe, Line: p.number, Value: shorten(value), Message: "the mode is not one that a repository may hold", Hint: "use 100644, 100755 or 120000"}
}

// index reads "old..new[ mode]".
func (p *parser) index(f *File, h *header, value string) (err error) {
	ids, mode, hasMode := strings.Cut(value, " ")
	oldID, newID, ok := strings.Cut(ids, "..")
	if !ok || !hexID(oldID) || !hexID(newID) {
		return p.bad("the index line holds no two object ids", "write it as git does")
	}
	f.OldOID, f.NewOID = oldID, newID
	if hasMode {
		h.indexMode, err = p.mode(mode)
	}
	return err
}

func hexID(s string) bool {
	if len(s) < 4 || len(s) > 40 {
		return false
	}
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// resolve finds the section's operation and names, and holds every header against them.
func (p *parser) resolve(f *File, h *header, names string) error {
	from, to := h.renameFrom+h.copyFrom, h.renameTo+h.copyTo
	isRename, isCopy := h.seen["rename from "] || h.seen["rename to "], h.seen["copy from "] || h.seen["copy to "]
	switch {
	case isRename && isCopy, h.newFile != 0 && h.deleted != 0, (isRename || isCopy) && (h.newFile != 0 || h.deleted != 0),
		(h.newFile != 0 || h.deleted != 0) && (h.oldMode != 0 || h.newMode != 0):
		return p.contradiction(f)
	case isRename && (h.renameFrom == "" || h.renameTo == ""), isCopy && (h.copyFrom == "" || h.copyTo == ""), (h.oldMode != 0) != (h.newMode != 0):
		return &Error{Code: CodeMalformed, Line: f.Line, Message: "a header lacks its counterpart", Hint: "write both old and new, from and to"}
	case isRename || isCopy:
		if from == to || !gitNames(names, from, to) {
			return p.disagree(f, names)
		}
		f.Op, f.Old, f.New = OpRename, from, to
		if isCopy {
			f.Op = OpCopy
		}
		return nil
	}
	name, ok := sameName(names)
	if !ok {
		return p.disagree(f, names)
	}
	switch {
	case h.newFile != 0:
		f.Op, f.New = OpAdd, name
	case h.deleted != 0:
		f.Op, f.Old = OpDelete, name
	default:
		f.Op, f.Old, f.New = OpModify, name, name
	}
	return nil
}

func (p *parser) contradiction(f *File) error {
	return &Error{Code: CodeMalformed, Line: f.Line, Message: "the section's headers contradict each other", Hint: "write the section as git does"}
}

func (p *parser) disagree(f *File, names string) error {
	return &Error{
		Code: CodeMalformed, Line: f.Line, Value: shorten(names), Message: "the section's names disagree, or lack the prefixes a/ and b/",
		Hint: "write names as git diff does by default, with a/ and b/",
	}
}

// gitNames reports whether the names of a "diff --git" line are these two.
func gitNames(names, from, to string) bool {
	return names == quote("a/"+from)+" "+quote("b/"+to) || names == "a/"+from+" b/"+to || splitQuoted(names, from, to)
}

// splitQuoted compares names of which at least one is quoted, perhaps more than git would.
func splitQuoted(names, from, to string) bool {
	first, rest, ok := Unquote(names)
	if !ok {
		if first, rest, ok = strings.Cut(names, ` "`); !ok {
			return false
		}
		rest = ` "` + rest
	}
	second, ok := strings.CutPrefix(rest, " ")
	if !ok {
		return false
	}
	if strings.HasPrefix(second, `"`) {
		name, tail, fine := Unquote(second)
		if !fine || tail != "" {
			return false
		}
		second = name
	}
	return first == "a/"+from && second == "b/"+to
}

// sameName finds the one name that both halves of a "diff --git" line give.
func sameName(names string) (string, bool) {
	if first, _, ok := Unquote(names); ok {
		name, fine := strings.CutPrefix(first, "a/")
		return name, fine && splitQuoted(names, name, name)
	}
	half := len(names) / 2
	if len(names)%2 == 0 || names[half] != ' ' {
		return "", false
	}
	first, okFirst := strings.CutPrefix(names[:half], "a/")
	second, okSecond := strings.CutPrefix(names[half+1:], "b/")
	return first, okFirst && okSecond && first == second && first != ""
}

// checkModes fills in the modes and refuses what contradicts them.
func (p *parser) checkModes(f *File, h *header) error {
	switch f.Op {
	case OpAdd:
		f.NewMode = h.newFile
	case OpDelete:
		f.OldMode = h.deleted
	case OpModify, OpRename, OpCopy:
		f.OldMode, f.NewMode = h.oldMode, h.newMode
		if h.indexMode != 0 && h.oldMode == 0 {
			f.OldMode, f.NewMode = h.indexMode, h.indexMode
		} else if h.indexMode != 0 {
			return p.contradiction(f)
		}
		if f.OldMode&0o170000 != f.NewMode&0o170000 {
			return &Error{Code: CodeMalformed, Path: f.Path(), Line: f.Line, Message: "a change of type needs a deletion and an addition", Hint: "write it as git diff does"}
		}
	}
	if (f.Op == OpAdd || f.Op == OpDelete) && h.indexMode != 0 {
		return p.contradiction(f)
	}
	return nil
}

// body reads what follows the headers: text hunks, a binary patch, or nothing.
func (p *parser) body(f *File, h *header) error {
	switch {
	case p.has("--- "):
		if err := p.gitBodyNames(f); err != nil {
			return err
		}
		return p.textHunks(f)
	case p.has("GIT binary patch"):
		return p.binaryPatch(f)
	case p.has("Binary files "):
		return p.bad("the binary content is missing", "make the patch with git diff --binary --full-index")
	case p.line != nil && !p.has("diff --git "):
		return p.bad("there is text that belongs to no section", "submit the diff alone")
	}
	if f.Op == OpModify && h.oldMode == h.newMode {
		return &Error{Code: CodeMalformed, Path: f.Path(), Line: f.Line, Message: "the section changes nothing", Hint: "leave the section out"}
	}
	return nil
}

// gitBodyNames holds "---" and "+++" against the section's names.
func (p *parser) gitBodyNames(f *File) error {
	oldName, newName, err := p.names()
	if err != nil {
		return err
	}
	want := func(prefix, path string) string {
		if path == "" {
			return devNull
		}
		return prefix + path
	}
	if oldName != want("a/", f.Old) || newName != want("b/", f.New) {
		return &Error{Code: CodeMalformed, Path: f.Path(), Line: p.number - 2, Value: shorten(oldName + " " + newName), Message: "the names of --- and +++ disagree with the section's", Hint: "write the section as git does"}
	}
	return nil
}
