package worktree

import "strings"

// wildmatch matches a path against a pattern of gitattributes: "*" and "?" stay within a component, "**/" leads
// any number of directories, "/**" takes everything below, "[...]" is a class and "\" quotes.
// The rules are those of gitignore's documentation.
func wildmatch(pattern, path string) bool {
	return matchHere(pattern, path, true)
}

// matchHere matches the rest of both; atStart says that the pattern stands at the start of a component.
func matchHere(pattern, path string, atStart bool) bool {
	for pattern != "" {
		switch {
		case atStart && strings.HasPrefix(pattern, "**/"):
			return matchDirs(pattern[3:], path)
		case atStart && pattern == "**":
			return path != ""
		case pattern[0] == '*':
			return matchStar(strings.TrimLeft(pattern, "*"), path)
		case path == "":
			return false
		case pattern[0] == '?':
			if path[0] == '/' {
				return false
			}
			pattern, path, atStart = pattern[1:], path[1:], false
		case pattern[0] == '[':
			rest, ok := matchClass(pattern, path[0])
			if !ok || path[0] == '/' {
				return false
			}
			pattern, path, atStart = rest, path[1:], false
		default:
			if pattern[0] == '\\' && len(pattern) > 1 {
				pattern = pattern[1:]
			}
			if pattern[0] != path[0] {
				return false
			}
			atStart = pattern[0] == '/'
			pattern, path = pattern[1:], path[1:]
		}
	}
	return path == ""
}

// matchDirs matches after "**/": here, or below any number of directories.
func matchDirs(pattern, path string) bool {
	for {
		if matchHere(pattern, path, true) {
			return true
		}
		i := strings.IndexByte(path, '/')
		if i < 0 {
			return false
		}
		path = path[i+1:]
	}
}

// matchStar matches after "*", which takes any run of characters but "/".
func matchStar(pattern, path string) bool {
	for i := 0; ; i++ {
		if matchHere(pattern, path[i:], false) {
			return true
		}
		if i == len(path) || path[i] == '/' {
			return false
		}
	}
}

// matchClass matches one character against the class that pattern begins with, and gives what follows the class.
func matchClass(pattern string, c byte) (rest string, ok bool) {
	i := 1
	negated := i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^')
	if negated {
		i++
	}
	matched := false
	for first := true; ; first = false {
		if i >= len(pattern) {
			return "", false
		}
		if pattern[i] == ']' && !first {
			return pattern[i+1:], matched != negated
		}
		if name, after, found := namedClass(pattern[i:]); found {
			matched = matched || inClass(name, c)
			i += after
			continue
		}
		low := pattern[i]
		if low == '\\' && i+1 < len(pattern) {
			i++
			low = pattern[i]
		}
		high := low
		if i+2 < len(pattern) && pattern[i+1] == '-' && pattern[i+2] != ']' {
			i += 2
			high = pattern[i]
			if high == '\\' && i+1 < len(pattern) {
				i++
				high = pattern[i]
			}
		}
		i++
		matched = matched || low <= c && c <= high
	}
}

// namedClass reads "[:name:]" and gives its length.
func namedClass(s string) (name string, length int, ok bool) {
	if !strings.HasPrefix(s, "[:") {
		return "", 0, false
	}
	end := strings.Index(s, ":]")
	if end < 0 {
		return "", 0, false
	}
	return s[2:end], end + 2, true
}

// inClass knows POSIX's classes for ASCII.
func inClass(name string, c byte) bool {
	lower, upper, digit := c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9'
	switch name {
	case "alpha":
		return lower || upper
	case "alnum":
		return lower || upper || digit
	case "digit":
		return digit
	case "lower":
		return lower
	case "upper":
		return upper
	case "space":
		return c == ' ' || c >= '\t' && c <= '\r'
	case "blank":
		return c == ' ' || c == '\t'
	case "xdigit":
		return digit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
	case "punct":
		return c > ' ' && c < 0x7f && !lower && !upper && !digit
	case "print":
		return c >= ' ' && c < 0x7f
	case "graph":
		return c > ' ' && c < 0x7f
	case "cntrl":
		return c < ' ' || c == 0x7f
	}
	return false
}
