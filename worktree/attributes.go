package worktree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// Attributes reads the merge attribute from the .gitattributes files of one tree, and from nowhere else, with
// git's precedence: the file nearest to the path first, the last matching line of a file first. It is safe for
// concurrent use; files are read once.
type Attributes struct {
	r      git.Reader
	tree   git.OID
	mu     sync.Mutex
	files  map[string][]attributeLine // by directory, "" for the root
	macros map[string][]setting
}

// NewAttributes reads attributes of a tree.
func NewAttributes(r git.Reader, tree git.OID) *Attributes {
	return &Attributes{r: r, tree: tree, files: map[string][]attributeLine{}, macros: map[string][]setting{
		"binary": {{"diff", unset}, {"merge", unset}, {"text", unset}},
	}}
}

// attributeLine is one pattern with its settings, last written last.
type attributeLine struct {
	pattern  string
	settings []setting
}

// setting is one attribute's state: set, unset, unspecified or a value.
type setting struct{ name, state string }

const (
	set         = "\x00set"
	unset       = "\x00unset"
	unspecified = "\x00unspecified"
)

// Unmergeable reports whether the tree says that the path's contents are not merged by lines: -merge, binary or
// merge=binary. Other merge drivers are not run and change nothing.
func (a *Attributes) Unmergeable(ctx context.Context, path string) (bool, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	dirs := []string{}
	for dir := range parents(path) {
		dirs = append(dirs, dir)
	}
	dirs = append(dirs, "")
	for _, dir := range slices.Backward(dirs) { // from the root, which alone defines macros
		if err := a.read(ctx, dir); err != nil {
			return false, err
		}
	}
	for _, dir := range dirs {
		relative := strings.TrimPrefix(strings.TrimPrefix(path, dir), "/")
		for _, line := range slices.Backward(a.files[dir]) {
			if !matchesPattern(line.pattern, relative) {
				continue
			}
			if state, ok := a.lookup(line.settings, 0); ok {
				return state == unset || state == "binary", nil
			}
		}
	}
	return false, nil
}

// lookup finds the merge attribute among a line's settings, the last one first; macros are taken apart.
func (a *Attributes) lookup(settings []setting, depth int) (string, bool) {
	for _, s := range slices.Backward(settings) {
		if s.name == "merge" {
			return s.state, true
		}
		if macro, ok := a.macros[s.name]; ok && s.state == set && depth < 16 {
			if state, ok := a.lookup(macro, depth+1); ok {
				return state, true
			}
		}
	}
	return "", false
}

// matchesPattern matches a path relative to the directory of the attributes file.
func matchesPattern(pattern, path string) bool {
	if strings.HasSuffix(pattern, "/") {
		return false // names a directory, and attributes are not inherited
	}
	if !strings.Contains(pattern, "/") {
		if i := strings.LastIndexByte(path, '/'); i >= 0 {
			path = path[i+1:]
		}
		return wildmatch(pattern, path)
	}
	return wildmatch(strings.TrimPrefix(pattern, "/"), path)
}

const (
	attributesFile = ".gitattributes"
	// maxAttributeLine is the longest line that git reads; it ignores longer ones.
	maxAttributeLine = 2048
	// maxAttributesFile is the largest file that git reads.
	maxAttributesFile = 100 << 20
)

// read parses the file of one directory once. A symbolic link in its place is ignored, as git does.
func (a *Attributes) read(ctx context.Context, dir string) error {
	if _, done := a.files[dir]; done {
		return nil
	}
	e, err := git.Lookup(ctx, a.r, a.tree, joinPath(dir, attributesFile))
	if err != nil {
		return fmt.Errorf("look up attributes: %w", err)
	}
	var lines []attributeLine
	if e.Mode.IsFile() {
		content, err := a.r.ReadBlob(ctx, e.OID)
		var tooLarge *git.LimitError
		if err != nil && !errors.As(err, &tooLarge) {
			return fmt.Errorf("read attributes: %w", err)
		}
		if err == nil && len(content) < maxAttributesFile {
			lines = a.parse(string(content), dir == "")
		}
	}
	a.files[dir] = lines
	return nil
}

// parse reads attribute lines; macros are taken from the root's file only.
func (a *Attributes) parse(text string, root bool) []attributeLine {
	var lines []attributeLine
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	for line := range strings.SplitSeq(text, "\n") {
		if len(line) >= maxAttributeLine {
			continue
		}
		line = strings.Trim(line, " \t\r")
		if line == "" || line[0] == '#' {
			continue
		}
		if macro, ok := strings.CutPrefix(line, "[attr]"); ok {
			if words := strings.Fields(macro); root && len(words) > 0 {
				a.macros[words[0]] = parseSettings(words[1:])
			}
			continue
		}
		pattern, rest := cutPattern(line)
		if pattern == "" || pattern[0] == '!' {
			continue
		}
		lines = append(lines, attributeLine{pattern: pattern, settings: parseSettings(strings.Fields(rest))})
	}
	return lines
}

// cutPattern splits a line into its pattern, which may be quoted, and the rest.
func cutPattern(line string) (pattern, rest string) {
	if line[0] == '"' {
		if name, tail, ok := diff.Unquote(line); ok {
			return name, tail
		}
	}
	if i := strings.IndexAny(line, " \t\r"); i >= 0 {
		return line[:i], line[i:]
	}
	return line, ""
}

// parseSettings reads "name", "-name", "!name" and "name=value".
func parseSettings(words []string) []setting {
	var out []setting
	for _, word := range words {
		name, value, hasValue := strings.Cut(word, "=")
		switch {
		case hasValue:
			out = append(out, setting{name, value})
		case strings.HasPrefix(word, "-"):
			out = append(out, setting{word[1:], unset})
		case strings.HasPrefix(word, "!"):
			out = append(out, setting{word[1:], unspecified})
		default:
			out = append(out, setting{word, set})
		}
	}
	return out
}
