package diff

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Parse reads a git-format or plain unified diff strictly: every byte must belong to a section, every header must
// agree with every other, hunks must be in order, say the truth about their size and stand where the hunks
// before them leave them. Errors are *Error with diff_malformed, diff_empty, diff_too_large, path_unsafe or
// mode_unsafe. Whether the patch applies is not looked at.
//
// The format is the one documented in git's diff-format and by POSIX diff -u.
func Parse(text []byte, limits Limits) (*Patch, error) {
	p := &parser{text: text, limits: limits}
	if err := p.start(); err != nil {
		return nil, err
	}
	for p.line != nil {
		if err := p.section(); err != nil {
			return nil, err
		}
	}
	if err := checkSections(p.patch.Files); err != nil {
		return nil, err
	}
	return &p.patch, nil
}

// parser walks the text line by line. line is the current line without its "\n", nil at the end.
type parser struct {
	text    []byte
	rest    []byte
	line    []byte
	number  int
	limits  Limits
	hunks   int
	binary  int64
	patch   Patch
	current *File
}

// start refuses what is no patch text at all and reads the first line.
func (p *parser) start() error {
	if p.limits.Bytes > 0 && len(p.text) > p.limits.Bytes {
		return &Error{Code: CodeTooLarge, Message: "the patch is too long", Value: strconv.Itoa(len(p.text)), Hint: fmt.Sprintf("at most %d bytes are taken", p.limits.Bytes)}
	}
	switch {
	case len(bytes.TrimSpace(p.text)) == 0:
		return &Error{Code: CodeEmpty, Message: "the patch is empty", Hint: "submit at least one change"}
	case bytes.HasPrefix(p.text, []byte("\xef\xbb\xbf")):
		return &Error{Code: CodeMalformed, Line: 1, Message: "the patch begins with a byte order mark", Hint: "save the patch without a byte order mark"}
	case bytes.HasPrefix(p.text, []byte("\xff\xfe")), bytes.HasPrefix(p.text, []byte("\xfe\xff")), p.text[0] == 0, len(p.text) > 1 && p.text[1] == 0:
		return &Error{Code: CodeMalformed, Line: 1, Message: "the patch is UTF-16 text", Hint: "write the patch as bytes, for instance with git diff --output"}
	case p.text[len(p.text)-1] != '\n':
		return &Error{Code: CodeMalformed, Line: bytes.Count(p.text, []byte{'\n'}) + 1, Message: "the patch ends in the middle of a line", Hint: "submit the whole patch"}
	}
	p.rest = p.text
	return p.next()
}

// next goes to the next line.
func (p *parser) next() error {
	if len(p.rest) == 0 {
		p.line = nil
		p.number++
		return nil
	}
	end := bytes.IndexByte(p.rest, '\n')
	p.line, p.rest = p.rest[:end:end], p.rest[end+1:]
	p.number++
	if p.limits.LineBytes > 0 && len(p.line) > p.limits.LineBytes {
		return &Error{Code: CodeTooLarge, Line: p.number, Message: "a line of the patch is too long", Value: strconv.Itoa(len(p.line)), Hint: fmt.Sprintf("lines of at most %d bytes are taken", p.limits.LineBytes)}
	}
	return nil
}

// bad is a diff_malformed error at the current line.
func (p *parser) bad(message, hint string) *Error {
	e := &Error{Code: CodeMalformed, Line: p.number, Message: message, Hint: hint}
	if p.line != nil {
		e.Value = shorten(string(p.line))
	} else {
		e.Value = "end of patch"
	}
	if p.current != nil {
		e.Path = p.current.Path()
	}
	return e
}

// shorten keeps an error's value readable.
func shorten(s string) string {
	if len(s) > 120 {
		return s[:120] + "…"
	}
	return s
}

// has reports whether the current line begins with prefix.
func (p *parser) has(prefix string) bool {
	return p.line != nil && bytes.HasPrefix(p.line, []byte(prefix))
}

// section reads one file's section.
func (p *parser) section() error {
	p.current = nil
	if p.limits.Files > 0 && len(p.patch.Files) >= p.limits.Files {
		return &Error{Code: CodeTooLarge, Line: p.number, Message: "the patch has too many sections", Hint: fmt.Sprintf("at most %d files are taken", p.limits.Files)}
	}
	file := File{Line: p.number, Similarity: -1}
	var err error
	switch {
	case p.has("diff --git "):
		file.Git = true
		err = p.gitSection(&file)
	case p.has("--- "):
		err = p.plainSection(&file)
	case p.has("diff --cc "), p.has("diff --combined "):
		err = p.bad("a combined diff is no patch", "diff against one parent")
	case p.has("Index: "), p.has("diff "), p.has("=== "):
		err = p.bad("the patch format is not known", "submit a git-format or plain unified diff")
	case len(p.patch.Files) == 0:
		err = p.bad("there is text before the first section", "submit the diff alone")
	default:
		err = p.bad("there is text that belongs to no section", "submit the diff alone")
	}
	if err != nil {
		return err
	}
	p.patch.Files = append(p.patch.Files, file)
	return nil
}

// plainSection reads a section that begins with "---".
func (p *parser) plainSection(f *File) error {
	oldName, newName, err := p.names()
	if err != nil {
		return err
	}
	stripOld, okOld := strings.CutPrefix(oldName, "a/")
	stripNew, okNew := strings.CutPrefix(newName, "b/")
	switch {
	case oldName == devNull && newName == devNull:
		return p.bad("both names are /dev/null", "name the file")
	case oldName == devNull:
		f.Op, f.New = OpAdd, newName
		if okNew {
			f.New = stripNew
		}
	case newName == devNull:
		f.Op, f.Old = OpDelete, oldName
		if okOld {
			f.Old = stripOld
		}
	default:
		if okOld && okNew {
			oldName, newName = stripOld, stripNew
		}
		if oldName != newName {
			return p.bad("the section's names disagree", "a rename needs git's rename headers")
		}
		f.Op, f.Old, f.New = OpModify, oldName, newName
	}
	p.current = f
	if err := p.checkPaths(f); err != nil {
		return err
	}
	return p.textHunks(f)
}

const devNull = "/dev/null"

// names reads the lines "--- name" and "+++ name", with what follows a tab dropped.
func (p *parser) names() (oldName, newName string, err error) {
	if oldName, err = p.nameAfter("--- "); err != nil {
		return "", "", err
	}
	if !p.has("+++ ") {
		return "", "", p.bad("the line +++ is missing after ---", "submit the whole patch")
	}
	newName, err = p.nameAfter("+++ ")
	return oldName, newName, err
}

// nameAfter reads the name of a "---" or "+++" line and goes to the next line.
func (p *parser) nameAfter(prefix string) (string, error) {
	raw := string(p.line[len(prefix):])
	var name string
	if strings.HasPrefix(raw, `"`) {
		var rest string
		var ok bool
		if name, rest, ok = Unquote(raw); !ok || rest != "" && rest[0] != '\t' {
			return "", p.bad("the quoted name is malformed", "quote names as git does")
		}
	} else {
		name, _, _ = strings.Cut(raw, "\t")
	}
	if name == "" || strings.ContainsAny(name, "\r\x00") {
		return "", p.bad("the name is empty or not quoted as it must be", "keep the patch's line endings as git wrote them")
	}
	return name, p.next()
}

// checkPaths refuses unsafe names as early as they are read.
func (p *parser) checkPaths(f *File) error {
	for _, path := range []string{f.Old, f.New} {
		if path == "" {
			continue
		}
		if why := CheckPath(path); why != "" {
			return &Error{Code: CodePathUnsafe, Path: path, Line: f.Line, Value: path, Message: why, Hint: "use a plain relative path inside the repository"}
		}
	}
	return nil
}

// checkSections refuses two sections for one file. Git writes two for one path only when the file's type
// changes: a deletion, directly followed by an addition of another type; or when a file is renamed away and
// something else takes its place.
func checkSections(files []File) error {
	left := map[string]int{}  // path that a section leaves behind
	taken := map[string]int{} // path that a section takes away or changes
	for i := range files {
		f := &files[i]
		if f.Old != "" && f.Op != OpCopy {
			if _, ok := taken[f.Old]; ok {
				return repeated(f, f.Old)
			}
			taken[f.Old] = i
		}
		if f.New != "" {
			if _, ok := left[f.New]; ok {
				return repeated(f, f.New)
			}
			left[f.New] = i
		}
	}
	for i := range files {
		f := &files[i]
		j, gone := taken[f.New]
		if f.New == "" || f.Op == OpModify || !gone || j == i {
			continue
		}
		other := &files[j]
		retyped := f.Op == OpAdd && other.Op == OpDelete && j == i-1 && f.NewMode&0o170000 != other.OldMode&0o170000
		if !retyped && other.Op != OpRename {
			return repeated(f, f.New)
		}
	}
	return nil
}

func repeated(f *File, path string) error {
	return &Error{Code: CodeMalformed, Path: path, Line: f.Line, Value: path, Message: "the patch has two sections for one file", Hint: "write one section a file"}
}
