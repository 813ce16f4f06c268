package diff

import (
	"strings"
	"unicode/utf8"
)

const (
	// maxComponent is the longest file name that common file systems take, in bytes.
	maxComponent = 255
	// maxDepth and maxPath bound a path's directories and bytes.
	maxDepth, maxPath = 64, 4000
)

// CheckPath says why a repository path must not be written, or gives "" for a safe one. A path is unsafe when it
// is not relative and normal, could name something inside ".git" on any file system that git guards against
// (NTFS short names and streams, HFS+ ignorable code points), is a device or drive name on Windows, holds
// control characters or invalid UTF-8, begins with "-", or is too long or too deep.
func CheckPath(path string) string {
	switch {
	case path == "":
		return "the path is empty"
	case !utf8.ValidString(path):
		return "the path is not valid UTF-8"
	case strings.HasPrefix(path, "/"):
		return "the path is absolute"
	case strings.HasPrefix(path, "-"):
		return "the path begins with a dash"
	case len(path) > maxPath:
		return "the path is too long"
	case strings.Count(path, "/") >= maxDepth:
		return "the path is too deep"
	}
	for _, r := range path {
		switch {
		case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0x2028 || r == 0x2029:
			return "the path holds a control character"
		case r == '\\':
			return "the path holds a backslash"
		}
	}
	for part := range strings.SplitSeq(path, "/") {
		if why := checkComponent(part); why != "" {
			return why
		}
	}
	return ""
}

// checkComponent judges one name of a path.
func checkComponent(name string) string {
	switch {
	case name == "":
		return "the path has an empty component"
	case name == "." || name == "..":
		return "the path has a dot component"
	case len(name) > maxComponent:
		return "a component of the path is longer than 255 bytes"
	case strings.HasPrefix(name, "-"):
		return "a component of the path begins with a dash"
	case IsDotGit(name):
		return "the path reaches into .git"
	case isDevice(name):
		return "a component of the path is a device or drive name"
	}
	return ""
}

// IsDotGit reports whether some file system takes the name for ".git".
func IsDotGit(name string) bool {
	folded := strings.ToLower(strings.Map(dropIgnorable, name))
	if stream := strings.IndexByte(folded, ':'); stream >= 0 { // NTFS: name::$INDEX_ALLOCATION, name:stream
		folded = folded[:stream]
	}
	folded = strings.TrimRight(folded, " .")
	return folded == ".git" || folded == "git~1"
}

// dropIgnorable removes the code points that HFS+ ignores when it compares names.
func dropIgnorable(r rune) rune {
	switch {
	case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
		return -1
	}
	return r
}

// isDevice reports whether Windows takes the name for a device or a drive.
func isDevice(name string) bool {
	if len(name) >= 2 && name[1] == ':' && (name[0]|0x20) >= 'a' && (name[0]|0x20) <= 'z' {
		return true
	}
	stem, _, _ := strings.Cut(strings.ToLower(name), ".")
	stem, _, _ = strings.Cut(stem, ":")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "con", "prn", "aux", "nul", "conin$", "conout$":
		return true
	}
	if (strings.HasPrefix(stem, "com") || strings.HasPrefix(stem, "lpt")) && len(stem) > 3 {
		switch stem[3:] {
		case "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³":
			return true
		}
	}
	return false
}
