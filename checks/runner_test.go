package checks_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"patchd/checks"
	"patchd/checks/sandbox"

	"github.com/stretchr/testify/require"
)

func newRunner(t *testing.T) *checks.Runner {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	box, err := sandbox.New(t.Context(), sandbox.Options{Self: []string{self, execMode}, AllowUnconfined: true})
	require.NoError(t, err)
	return checks.NewRunner(box, tick())
}

// tick is a clock that moves one second each time it is read.
func tick() func() time.Time {
	var n atomic.Int64
	return func() time.Time { return time.Unix(n.Add(1), 0) }
}

func request(t *testing.T, args ...string) checks.Request {
	t.Helper()
	cmd, err := checks.NewCommand(args...)
	require.NoError(t, err)
	env, err := checks.NewEnvironment(nil, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	return checks.Request{Dir: t.TempDir(), Command: cmd, Environment: env, Limits: sandbox.Limits{Timeout: time.Minute}}
}

func TestStatusesFollowTheCommandsEnd(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	for _, c := range []struct {
		args []string
		want checks.Status
	}{
		{[]string{"true"}, checks.StatusPassed},
		{[]string{"false"}, checks.StatusFailed},
		{[]string{"sh", "-c", "kill -ABRT $$"}, checks.StatusFailed},
		{[]string{"sh", "-c", "kill -KILL $$"}, checks.StatusKilled},
		{[]string{"./not-in-the-tree"}, checks.StatusFailed},
		{[]string{"not-installed"}, checks.StatusCommandMissing},
	} {
		res, err := r.Run(t.Context(), request(t, c.args...))
		require.NoError(t, err)
		require.Equal(t, c.want, res.Status, "%q %s", c.args, res.Detail)
		require.Equal(t, string(r.Level()), res.Sandbox)
		require.Len(t, res.Environment, 8)
		require.Equal(t, time.Second, res.Duration)
	}
	req := request(t, "sleep", "60")
	req.Limits.Timeout = time.Second / 5
	res, err := r.Run(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, checks.StatusTimeout, res.Status)
	require.Equal(t, checks.VerdictInconclusive, res.Verdict())
}

func TestAFloodOfOutputIsBoundedAndDigestedWhole(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	req := request(t, "sh", "-c", "echo begin; head -c 300000000 /dev/zero; echo end >&2")
	req.OutputLimit = 1000
	res, err := r.Run(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, checks.StatusPassed, res.Status)
	require.Equal(t, int64(300000000+len("begin\nend\n")), res.Output.Bytes)
	require.True(t, res.Output.Truncated)
	require.Len(t, res.Output.Kept, 1000)
	require.Equal(t, 500, res.Output.HeadBytes)
	require.True(t, bytes.HasPrefix(res.Output.Kept, []byte("begin\n\x00")))
	require.True(t, bytes.HasSuffix(res.Output.Kept, []byte("\x00end\n")))
	sum := sha256.New()
	sum.Write([]byte("begin\n"))
	for range 300 {
		_, _ = sum.Write(make([]byte, 1000000))
	}
	sum.Write([]byte("end\n"))
	require.Equal(t, hex.EncodeToString(sum.Sum(nil)), res.Output.SHA256)
}

func TestOutputIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	res, err := r.Run(t.Context(), request(t, "printf", `\033[31m<b>\377\000\r\n`))
	require.NoError(t, err)
	require.Equal(t, "\x1b[31m<b>\xff\x00\r\n", string(res.Output.Kept))
	require.False(t, res.Output.Truncated)
	require.Equal(t, `\x1b[31m<b>\xff\x00\x0d`+"\n", checks.Excerpt(res.Output.Kept, 1000))
}

func TestExcerptsAreSafeToShow(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"plain\n\ttext":   "plain\n\ttext",
		"é世界":             "é世界",
		"a\u202eb\u200bc": `a\u202eb\u200bc`,
		"a\U000e0041b":    `a\U000e0041b`,
		"\xc3(":           `\xc3(`,
		"\ufffd":          "\ufffd",
		"\x07\x7f\u0085":  `\x07\x7f\u0085`,
	} {
		require.Equal(t, want, checks.Excerpt([]byte(in), -1))
	}
	require.Equal(t, "[3 bytes left out]\nend", checks.Excerpt([]byte("世end"), 4), "a character is not cut in two")
	require.Equal(t, "[3 bytes left out]\n", checks.Excerpt([]byte("abc"), 0))
}

// freshTrees hands out directories with the same content and counts them.
func freshTrees(t *testing.T, count *atomic.Int64) checks.Fresh {
	t.Helper()
	base := t.TempDir()
	return func(context.Context) (string, func(), error) {
		dir := filepath.Join(base, fmt.Sprint(count.Add(1)))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return "", nil, err
		}
		return dir, func() { _ = os.RemoveAll(dir) }, os.WriteFile(filepath.Join(dir, "n"), []byte("0"), 0o644)
	}
}

func TestAFailureIsRunOnceMoreOnAFreshTree(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	var count atomic.Int64
	// Passes only where an earlier run left something, so it fails on every fresh tree.
	req := request(t, "sh", "-c", `test -e left-over || { touch left-over; echo first; exit 1; }`)
	eval, err := r.Evaluate(t.Context(), freshTrees(t, &count), req, checks.Rules{})
	require.NoError(t, err)
	require.Equal(t, checks.VerdictFailed, eval.Judgement.Verdict)
	require.Len(t, eval.Runs, 2)
	require.Equal(t, int64(2), count.Load())
}

func TestTwoVerdictsForOneTreeAreNondeterministicAndBothOutputsAreKept(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	shared := t.TempDir()
	require.NoError(t, os.Chmod(shared, 0o777))
	req := request(t, "sh", "-c", `if mkdir "$HOME/shared/first"; then echo one; exit 1; fi; echo two`)
	req.Mounts = []sandbox.Mount{{Source: shared, Target: sandbox.Home + "/shared", Writable: true}}
	var count atomic.Int64
	eval, err := r.Evaluate(t.Context(), freshTrees(t, &count), req, checks.Rules{})
	require.NoError(t, err)
	require.Equal(t, checks.VerdictNondeterministic, eval.Judgement.Verdict)
	require.Len(t, eval.Runs, 2)
	require.Contains(t, string(eval.Runs[0].Output.Kept), "one")
	require.Contains(t, string(eval.Runs[1].Output.Kept), "two")
}

func TestPassesAreConfirmedAsOftenAsThePolicySays(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	var count atomic.Int64
	eval, err := r.Evaluate(t.Context(), freshTrees(t, &count), request(t, "true"), checks.Rules{ConfirmPasses: 2})
	require.NoError(t, err)
	require.Equal(t, checks.VerdictPassed, eval.Judgement.Verdict)
	require.Len(t, eval.Runs, 3)
}

func TestOnlyErrorsOfTheCallerAreErrors(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	req := request(t, "true")
	req.Dir = filepath.Join(req.Dir, "absent")
	_, err := r.Run(t.Context(), req)
	require.Error(t, err)
	req = request(t, "true")
	req.Command = checks.Command{}
	_, err = r.Run(t.Context(), req)
	require.Error(t, err)

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = r.Run(ctx, request(t, "true"))
	require.ErrorIs(t, err, context.Canceled)

	var count atomic.Int64
	_, err = r.Evaluate(t.Context(), func(context.Context) (string, func(), error) { return "", nil, os.ErrPermission }, request(t, "true"), checks.Rules{})
	require.ErrorIs(t, err, os.ErrPermission)
	require.Zero(t, count.Load())
	require.True(t, strings.HasPrefix(err.Error(), "take a fresh tree"))
}
