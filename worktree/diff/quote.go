package diff

import (
	"fmt"
	"strings"
)

// Unquote reads a name in git's C-style quotes at the beginning of s and gives what follows it.
func Unquote(s string) (name, rest string, ok bool) {
	if !strings.HasPrefix(s, `"`) {
		return "", s, false
	}
	var out []byte
	for i := 1; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"':
			return string(out), s[i+1:], true
		case c != '\\':
			out = append(out, c)
		case i+1 >= len(s):
			return "", s, false
		case s[i+1] >= '0' && s[i+1] <= '3':
			if i+3 >= len(s) || !octal(s[i+2]) || !octal(s[i+3]) {
				return "", s, false
			}
			out = append(out, (s[i+1]-'0')<<6|(s[i+2]-'0')<<3|(s[i+3]-'0'))
			i += 3
		default:
			at := strings.IndexByte(escapeNames, s[i+1])
			if at < 0 {
				return "", s, false
			}
			out = append(out, escapeBytes[at])
			i++
		}
	}
	return "", s, false
}

const (
	escapeNames = `abtnvfr"\`
	escapeBytes = "\a\b\t\n\v\f\r\"\\"
)

func octal(c byte) bool { return c >= '0' && c <= '7' }

// quote writes a name as git does with core.quotePath on: in quotes when it holds control characters, bytes
// outside ASCII, quotes or backslashes.
func quote(name string) string {
	var b strings.Builder
	plain := true
	for i := range len(name) {
		c := name[i]
		if at := strings.IndexByte(escapeBytes, c); at >= 0 {
			b.WriteByte('\\')
			b.WriteByte(escapeNames[at])
			plain = false
		} else if c < 0x20 || c >= 0x7f {
			fmt.Fprintf(&b, `\%03o`, c)
			plain = false
		} else {
			b.WriteByte(c)
		}
	}
	if plain {
		return name
	}
	return `"` + b.String() + `"`
}
