package main

import (
	"fmt"

	"patchd/checks/sandbox"
	"patchd/ownership/symbols"
)

// The modes in which patchd starts itself. They are no part of the grammar, so that nothing is set up around them: a parser
// may kill its process, and a check's supervisor handles signals itself.
const (
	modeOutline = "outline-worker"
	modeSandbox = "sandbox-exec"
)

// hiddenMode is what runs in such a mode, nil for a command of the grammar.
func hiddenMode(name string) func(args []string, env environment) int {
	switch name {
	case modeOutline:
		return serveOutlines
	case modeSandbox:
		return func(args []string, _ environment) int { return sandbox.ServeExec(args) }
	}
	return nil
}

// serveOutlines parses files for symbols until its input ends.
func serveOutlines(_ []string, env environment) int {
	if err := symbols.ServeChild(env.stdin, env.stdout); err != nil {
		_, _ = fmt.Fprintf(env.stderr, "patchd %s: %v\n", modeOutline, err)
		return exitFailed
	}
	return exitDone
}
