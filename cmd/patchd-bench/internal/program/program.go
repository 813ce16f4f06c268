// Package program runs the patchd program as its users do: as a process, with what it prints as the answer.
package program

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec" //nolint:depguard // the program under measurement is run as a process
	"strings"
)

// Program is a patchd program. It is immutable and safe for concurrent use.
type Program struct {
	file string
	env  []string
}

// At gives the program in a file; path is the program search path that it gets.
func At(file, path string) Program {
	return Program{file, []string{"PATH=" + path, "HOME=/nonexistent", "LC_ALL=C"}}
}

// Result is how a run ended.
type Result struct {
	Stdout, Stderr []byte
	Code           int // -1 where a signal ended it
}

// Run runs a command to its end. The error is for what kept it from running.
func (p Program) Run(ctx context.Context, args ...string) (Result, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, p.file, args...) //nolint:gosec // the program that the user named
	cmd.Env, cmd.Stdout, cmd.Stderr = p.env, &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return Result{}, fmt.Errorf("run patchd %s: %w", strings.Join(args, " "), err)
	}
	return Result{stdout.Bytes(), stderr.Bytes(), cmd.ProcessState.ExitCode()}, nil
}

// JSON runs a command with --json and gives its document; a status other than those of decisions is an error.
func (p Program) JSON(ctx context.Context, args ...string) ([]byte, error) {
	r, err := p.Run(ctx, append(args, "--json")...)
	if err != nil {
		return nil, err
	}
	switch r.Code {
	case 0, 3, 4: // candidate; rejected or waiting; conflict
		return r.Stdout, nil
	}
	return nil, fmt.Errorf("patchd %s: exit status %d: %s", strings.Join(args, " "), r.Code, bytes.TrimSpace(r.Stderr))
}
