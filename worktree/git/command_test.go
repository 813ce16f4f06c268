package git

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// shell is a Repo whose "git" is the shell: what is tested here is how processes are run, not git.
func shell() *Repo { return &Repo{binary: "/bin/sh"} }

func TestACancelledProcessEndsWithAllThatItStarted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo := filepath.Join(dir, "ready")
	// The script ignores SIGTERM and has a child that holds its output open.
	script := "trap '' TERM\n(trap '' TERM; echo $$ > " + fifo + "; while :; do sleep 1; done) &\nwhile :; do sleep 1; done\n"
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := shell().run(ctx, command{args: []string{"-c", script}, dir: dir})
		done <- err
	}()
	var group string
	require.Eventually(t, func() bool {
		text, _ := os.ReadFile(fifo)
		group = strings.TrimSpace(string(text))
		return group != ""
	}, killDelay, killDelay/1000)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool {
		_, err := os.Stat("/proc/" + group)
		return os.IsNotExist(err)
	}, killDelay, killDelay/1000)
}

func TestOutputIsBoundedAndFailuresAreTyped(t *testing.T) {
	t.Parallel()
	script := "echo out; i=0; while [ $i -lt 3000 ]; do echo 'fatal: a line that is not short and says what went wrong' >&2; i=$((i+1)); done; exit 7\n"
	out, err := shell().run(t.Context(), command{args: []string{"-c", script}})
	var failed *CommandError
	require.ErrorAs(t, err, &failed)
	require.Equal(t, 7, failed.ExitCode)
	require.Equal(t, "out\n", string(out))
	require.Len(t, failed.Stderr, maxStderrBytes)
	require.Contains(t, failed.Error(), "exit status 7: fatal: a line")
	b := &boundedBuffer{limit: 3, strict: true}
	_, err = b.Write([]byte("four"))
	require.Error(t, err)
}

func TestTheCacheIsBounded(t *testing.T) {
	t.Parallel()
	c := newLRU[int, string](100)
	c.put(0, "too large", 13)
	for i := range 30 {
		c.put(i+1, "x", 10)
		c.get(1)
	}
	_, ok := c.get(0)
	require.False(t, ok)
	_, ok = c.get(1)
	require.True(t, ok, "what is used stays")
	_, ok = c.get(5)
	require.False(t, ok)
	require.LessOrEqual(t, c.used, c.limit)
	require.Len(t, c.byKey, c.order.Len())
}
