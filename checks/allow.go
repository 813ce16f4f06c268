package checks

import (
	"errors"
	"fmt"
)

// Pattern says which commands a patch may ask for. It is split like a command; an unquoted argument * stands for exactly one
// argument, ** for any number including none, and every other argument for itself: ./pkg/* matches only the text ./pkg/*.
type Pattern struct {
	Line  string
	parts []part
}

type partKind int

const (
	partLiteral partKind = iota
	partOne
	partMany
)

type part struct {
	kind partKind
	text string
}

// ParsePattern reads one pattern; the error is a *CommandError.
func ParsePattern(line string) (Pattern, error) {
	words, err := split(line)
	if err != nil {
		return Pattern{}, fmt.Errorf("parse pattern: %w", err)
	}
	p := Pattern{Line: line, parts: make([]part, len(words))}
	for i, w := range words {
		p.parts[i] = part{kind: partLiteral, text: w.text}
		switch {
		case w.quoted:
		case w.text == "*":
			p.parts[i].kind = partOne
		case w.text == "**":
			p.parts[i].kind = partMany
		}
	}
	return p, nil
}

// ParsePatterns reads a policy's list.
func ParsePatterns(lines []string) ([]Pattern, error) {
	out := make([]Pattern, 0, len(lines))
	for _, line := range lines {
		p, err := ParsePattern(line)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// Match reports whether the pattern covers all of the command's arguments.
func (p Pattern) Match(cmd Command) bool { return p.reach(cmd.Args)[len(cmd.Args)] }

// reach returns which prefixes of args all parts together match: reach[i] is true when args[:i] is covered.
func (p Pattern) reach(args []string) []bool {
	now := make([]bool, len(args)+1)
	now[0] = true
	for _, pt := range p.parts {
		now = pt.advance(now, args)
	}
	return now
}

// advance moves every covered prefix over one part.
func (pt part) advance(now []bool, args []string) []bool {
	next := make([]bool, len(now))
	for i, ok := range now {
		if pt.kind == partMany {
			next[i] = ok || (i > 0 && next[i-1])
			continue
		}
		if ok && i < len(args) && (pt.kind == partOne || pt.text == args[i]) {
			next[i+1] = true
		}
	}
	return next
}

// depth is the longest prefix of args that a beginning of the pattern covers: how near a miss was.
func (p Pattern) depth(args []string) int {
	now := make([]bool, len(args)+1)
	now[0] = true
	best := 0
	for _, pt := range p.parts {
		now = pt.advance(now, args)
		for i, ok := range now {
			if ok && pt.kind == partLiteral {
				best = max(best, i)
			}
		}
	}
	return best
}

// NotAllowedError says that no pattern covers a command. Nearest is the pattern that came closest, "" when none shares a beginning.
type NotAllowedError struct {
	Command Command
	Nearest string
}

// Error names the command and the nearest pattern.
func (e *NotAllowedError) Error() string {
	if e.Nearest == "" {
		return fmt.Sprintf("command %q is not allowed: no pattern in checks.allow begins like it", e.Command.Line)
	}
	return fmt.Sprintf("command %q is not allowed: the nearest pattern in checks.allow is %q", e.Command.Line, e.Nearest)
}

// Allowed returns nil when a pattern covers the command, else a *NotAllowedError.
func Allowed(patterns []Pattern, cmd Command) error {
	if len(cmd.Args) == 0 {
		return errors.New("allow command: it is empty")
	}
	best, nearest := 0, ""
	for _, p := range patterns {
		if p.Match(cmd) {
			return nil
		}
		if d := p.depth(cmd.Args); d > best {
			best, nearest = d, p.Line
		}
	}
	return &NotAllowedError{Command: cmd, Nearest: nearest}
}
