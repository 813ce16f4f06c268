package checks

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of a command line. They are part of protocol 1: a line over them is malformed on every machine.
const (
	MaxCommandBytes = 4096
	MaxCommandArgs  = 256
)

// Command is one command: its arguments and the one canonical line that stands for them in trailers and records.
// Two lines that split into the same arguments have the same Line. The zero Command is no command.
type Command struct {
	Line string   // canonical: ParseCommand(Line) gives the same Command
	Args []string // the argument vector; Args[0] is the program
}

// String is the canonical line.
func (c Command) String() string { return c.Line }

// CommandError says why a line is no command. Offset is the byte at fault, counted from 0.
type CommandError struct {
	Line   string
	Offset int
	Why    string
}

// Error names the place and the reason.
func (e *CommandError) Error() string {
	return fmt.Sprintf("parse command %q: byte %d: %s", shorten(e.Line), e.Offset, e.Why)
}

// ParseCommand splits one line into arguments. There is no shell, and the rules are the part of a POSIX shell's that needs none:
//
//   - arguments are separated by spaces; the line is printable UTF-8 without control or format characters;
//   - '…' keeps everything between literally; "…" keeps everything but \" and \\, which stand for " and \;
//   - a backslash outside quotes takes the next character literally; quoted and bare pieces that touch are one argument;
//   - | & ; < > ( ) $ and ` are refused outside quotes, because a shell would act on them and nothing here would;
//   - * ? [ ] { } ~ # ! = are ordinary characters: nothing is expanded.
//
// The error is a *CommandError.
func ParseCommand(line string) (Command, error) {
	words, err := split(line)
	if err != nil {
		return Command{}, err
	}
	args := make([]string, len(words))
	for i, w := range words {
		args[i] = w.text
	}
	if args[0] == "" {
		return Command{}, &CommandError{Line: line, Why: "the program's name is empty"}
	}
	cmd := Command{Line: joinArgs(args), Args: args}
	if len(cmd.Line) > MaxCommandBytes {
		return Command{}, &CommandError{Line: line, Offset: MaxCommandBytes, Why: fmt.Sprintf("longer than %d bytes when written canonically", MaxCommandBytes)}
	}
	return cmd, nil
}

// NewCommand makes a Command of arguments, under the same bounds as ParseCommand.
func NewCommand(args ...string) (Command, error) { return ParseCommand(joinArgs(args)) }

// word is one argument and whether any part of it was quoted (a quoted * is no wildcard).
type word struct {
	text   string
	quoted bool
}

func split(line string) ([]word, error) {
	if err := checkLine(line); err != nil {
		return nil, err
	}
	s := splitter{line: line}
	for s.pos < len(line) {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	s.flush()
	switch {
	case len(s.words) == 0:
		return nil, &CommandError{Line: line, Why: "empty"}
	case len(s.words) > MaxCommandArgs:
		return nil, &CommandError{Line: line, Why: fmt.Sprintf("more than %d arguments", MaxCommandArgs)}
	}
	return s.words, nil
}

func checkLine(line string) error {
	if len(line) > MaxCommandBytes {
		return &CommandError{Line: line, Offset: MaxCommandBytes, Why: fmt.Sprintf("longer than %d bytes", MaxCommandBytes)}
	}
	if !utf8.ValidString(line) {
		return &CommandError{Line: line, Why: "not valid UTF-8"}
	}
	for i, r := range line {
		if !unicode.IsPrint(r) {
			return &CommandError{Line: line, Offset: i, Why: fmt.Sprintf("%U is not printable", r)}
		}
	}
	return nil
}

// splitter is the state of one pass over a line.
type splitter struct {
	line   string
	pos    int
	words  []word
	cur    strings.Builder
	open   bool // an argument has begun, perhaps an empty one
	quoted bool
}

// step consumes one character, or one quoted piece.
func (s *splitter) step() error {
	c := s.line[s.pos]
	switch {
	case c == ' ':
		s.flush()
		s.pos++
	case c == '\'':
		return s.single()
	case c == '"':
		return s.double()
	case c == '\\':
		if s.pos+1 == len(s.line) {
			return s.fail(s.pos, "a backslash ends the line")
		}
		_, n := utf8.DecodeRuneInString(s.line[s.pos+1:])
		s.take(s.line[s.pos+1:s.pos+1+n], true)
		s.pos += 1 + n
	case strings.IndexByte(shellOperators, c) >= 0:
		return s.fail(s.pos, fmt.Sprintf("%q has no meaning without a shell; quote it to pass it on", c))
	default:
		s.take(s.line[s.pos:s.pos+1], false)
		s.pos++
	}
	return nil
}

func (s *splitter) single() error {
	end := strings.IndexByte(s.line[s.pos+1:], '\'')
	if end < 0 {
		return s.fail(s.pos, "a single quote is not closed")
	}
	s.take(s.line[s.pos+1:s.pos+1+end], true)
	s.pos += end + 2
	return nil
}

func (s *splitter) double() error {
	start := s.pos
	s.take("", true)
	for i := s.pos + 1; i < len(s.line); i++ {
		switch c := s.line[i]; {
		case c == '"':
			s.pos = i + 1
			return nil
		case c == '\\' && i+1 < len(s.line) && (s.line[i+1] == '"' || s.line[i+1] == '\\'):
			i++
			s.cur.WriteByte(s.line[i])
		default:
			s.cur.WriteByte(c)
		}
	}
	return s.fail(start, "a double quote is not closed")
}

func (s *splitter) take(text string, quoted bool) {
	s.open = true
	s.quoted = s.quoted || quoted
	s.cur.WriteString(text)
}

func (s *splitter) flush() {
	if !s.open {
		return
	}
	s.words = append(s.words, word{text: s.cur.String(), quoted: s.quoted})
	s.cur.Reset()
	s.open, s.quoted = false, false
}

func (s *splitter) fail(at int, why string) error {
	return &CommandError{Line: s.line, Offset: at, Why: why}
}

// shellOperators are what a POSIX shell acts on outside quotes, apart from quoting itself.
const shellOperators = "|&;<>()$`"

// joinArgs writes arguments as the canonical line.
func joinArgs(args []string) string {
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = quoteArg(a)
	}
	return strings.Join(quoted, " ")
}

func quoteArg(a string) string {
	switch {
	case a != "" && !strings.ContainsAny(a, ` '"\`+shellOperators):
		return a
	case !strings.Contains(a, "'"):
		return "'" + a + "'"
	default:
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(a) + `"`
	}
}

// shorten keeps error messages readable.
func shorten(s string) string {
	const limit = 120
	if len(s) <= limit {
		return s
	}
	return s[:limit] + "…"
}
