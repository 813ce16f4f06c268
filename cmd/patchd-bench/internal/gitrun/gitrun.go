// Package gitrun runs the git binary the way a user's script would: it is the baseline that decisions are timed against and
// the oracle that they are held against. It shares nothing with the package under measurement.
package gitrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec" //nolint:depguard // the thing measured against is git itself, outside worktree/git
	"strings"
)

// Git runs git in one directory. It is immutable and safe for concurrent use.
type Git struct {
	dir string
	env []string
}

// In gives a Git for a directory. path is the program search path, extra are further environment variables; beside
// them the environment holds an identity and no configuration of user or system.
func In(dir, path string, extra ...string) Git {
	env := []string{
		"PATH=" + path, "LC_ALL=C", "HOME=/nonexistent", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=bench", "GIT_AUTHOR_EMAIL=bench@localhost", "GIT_COMMITTER_NAME=bench", "GIT_COMMITTER_EMAIL=bench@localhost",
		"GIT_CONFIG_COUNT=3",
		"GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		"GIT_CONFIG_KEY_1=gc.auto", "GIT_CONFIG_VALUE_1=0",
		"GIT_CONFIG_KEY_2=maintenance.auto", "GIT_CONFIG_VALUE_2=false",
	}
	return Git{dir, append(env, extra...)}
}

// At is the same Git in another directory.
func (g Git) At(dir string) Git { return Git{dir, g.env} }

// With is the same Git with further environment variables.
func (g Git) With(env ...string) Git { return Git{g.dir, append(append([]string{}, g.env...), env...)} }

// Dir is the directory that it runs in.
func (g Git) Dir() string { return g.dir }

// Error is a git command that failed.
type Error struct {
	Args   []string
	Code   int
	Stderr string
}

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("git %s: exit status %d: %s", strings.Join(e.Args, " "), e.Code, e.Stderr)
}

// Status runs git and gives its output and exit status; the error is for what kept it from running to its end.
func (g Git) Status(ctx context.Context, stdin []byte, args ...string) (out []byte, code int, err error) {
	out, _, code, err = g.run(ctx, stdin, args)
	return out, code, err
}

// Output runs git and gives its output; a failure is an *Error.
func (g Git) Output(ctx context.Context, args ...string) ([]byte, error) {
	out, stderr, code, err := g.run(ctx, nil, args)
	if err == nil && code != 0 {
		err = &Error{args, code, stderr}
	}
	return out, err
}

func (g Git) run(ctx context.Context, stdin []byte, args []string) (out []byte, said string, code int, err error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "git", args...) //nolint:gosec // an argument vector, not a shell's line
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = g.dir, g.env, &stdout, &stderr
	if stdin != nil {
		cmd.Stdin = bytes.NewReader(stdin)
	}
	err = cmd.Run()
	said = strings.TrimSpace(stderr.String())
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() >= 0 {
		return stdout.Bytes(), said, exit.ExitCode(), nil
	}
	if err != nil {
		return nil, said, -1, fmt.Errorf("run git %s: %w: %s", strings.Join(args, " "), err, said)
	}
	return stdout.Bytes(), said, 0, nil
}

// Line runs git and gives its output without the final newline.
func (g Git) Line(ctx context.Context, args ...string) (string, error) {
	out, err := g.Output(ctx, args...)
	return strings.TrimSuffix(string(out), "\n"), err
}

// Run runs git for its effect.
func (g Git) Run(ctx context.Context, args ...string) error {
	_, err := g.Output(ctx, args...)
	return err
}
