package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"
)

const (
	killDelay      = 3 * time.Second
	maxOutputBytes = 1 << 30
	maxStderrBytes = 64 << 10
)

// command is one run of git.
type command struct {
	args  []string
	dir   string
	env   []string
	stdin []byte
}

// run starts git once and gives its standard output. A failure is a *CommandError, given together with the output.
func (r *Repo) run(ctx context.Context, c command) ([]byte, error) {
	stdout := &boundedBuffer{limit: maxOutputBytes, strict: true}
	stderr := &boundedBuffer{limit: maxStderrBytes}
	cmd := exec.CommandContext(ctx, r.binary, c.args...) //nolint:gosec // an argument vector built in this package
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.dir, c.env, stdout, stderr
	if c.stdin != nil {
		cmd.Stdin = bytes.NewReader(c.stdin)
	}
	inOwnGroup(cmd)
	r.started.Add(1)
	err := cmd.Run()
	if ctx.Err() != nil {
		killGroup(cmd)
		return nil, fmt.Errorf("run git %s: %w", withoutPins(c.args)[0], ctx.Err())
	}
	if err == nil {
		return stdout.kept.Bytes(), nil
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return stdout.kept.Bytes(), &CommandError{Args: withoutPins(c.args), ExitCode: exit.ExitCode(), Stderr: stderr.kept.String()}
	}
	return nil, fmt.Errorf("run git %s: %w", withoutPins(c.args)[0], err)
}

// withoutPins leaves the settings out that every command carries.
func withoutPins(args []string) []string {
	for len(args) > 2 && args[0] == "-c" {
		args = args[2:]
	}
	return args
}

// inOwnGroup makes a cancelled context send SIGTERM to the process and all it started, and SIGKILL after a delay.
func inOwnGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = killDelay
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what a cancelled process may have left behind in its group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}

// boundedBuffer keeps the first limit bytes; when strict, more is an error, which ends the process that writes. It does
// not embed its buffer: that would offer a way past Write.
type boundedBuffer struct {
	kept   bytes.Buffer
	limit  int
	strict bool
}

// Write implements io.Writer.
func (b *boundedBuffer) Write(p []byte) (int, error) {
	room := b.limit - b.kept.Len()
	if len(p) <= room {
		return b.kept.Write(p)
	}
	if b.strict {
		return 0, fmt.Errorf("read output of git: more than %d bytes: %w", b.limit, io.ErrShortBuffer)
	}
	b.kept.Write(p[:max(room, 0)])
	return len(p), nil
}
