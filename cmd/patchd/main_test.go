package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"patchd/coordinator/api/client"
	"patchd/coordinator/ledger/pgserver"
	"patchd/coordinator/ledger/pgtest"
)

// suite runs the tests of this process with one PostgreSQL server for all of them.
type suite struct {
	m      *testing.M
	status int
}

// Run implements what testscript and pgtest ask for.
func (s *suite) Run() int {
	pgtest.Main(runner(func() int {
		s.status = s.m.Run()
		return s.status
	}))
	return s.status
}

type runner func() int

func (r runner) Run() int { return r() }

func TestMain(m *testing.M) {
	testscript.Main(&suite{m: m}, map[string]func(){"patchd": main})
}

// TestCommands runs each command as a process, against real git and real PostgreSQL.
func TestCommands(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup:               setup,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": checkStatus, "database": makeDatabase, "ready": waitForDaemon, "processes": checkProcesses, "saved": saveStdout,
			"eventually": runUntil,
		},
	})
}

// setup gives each script a home of its own and git an identity.
func setup(env *testscript.Env) error {
	data := filepath.Join(env.WorkDir, "data")
	for name, value := range map[string]string{
		"HOME": env.WorkDir, "PATCHD_DATA_DIR": data, "TMPDIR": filepath.Join(env.WorkDir, "tmp"), "GIT_CONFIG_NOSYSTEM": "1",
		"GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@example.org", "GIT_AUTHOR_DATE": "2024-02-03T04:05:06Z",
		"GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@example.org", "GIT_COMMITTER_DATE": "2024-02-03T04:05:06Z",
	} {
		env.Setenv(name, value)
	}
	env.Defer(func() { eraseServer(filepath.Join(data, "postgres")) })
	return os.Mkdir(filepath.Join(env.WorkDir, "tmp"), 0o755)
}

// eraseServer deletes a script's private server: root's is not below the script's own directory.
func eraseServer(dir string) {
	if _, err := os.Stat(dir); err != nil {
		return
	}
	if err := pgserver.Erase(dir); err != nil {
		panic(err)
	}
}

// checkStatus runs a command and compares its exit status: status N COMMAND [ARG...].
func checkStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// makeDatabase gives the script a database of its own on the shared server.
func makeDatabase(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Setenv("PATCHD_DATABASE_URL", pgtest.New(scriptTB{ts}))
}

// scriptTB lets a script stand where pgtest wants a test.
type scriptTB struct{ ts *testscript.TestScript }

func (s scriptTB) Helper()                           {}
func (s scriptTB) Cleanup(f func())                  { s.ts.Defer(f) }
func (s scriptTB) Context() context.Context          { return context.Background() }
func (s scriptTB) Errorf(format string, args ...any) { s.ts.Logf(format, args...) }
func (s scriptTB) Fatalf(format string, args ...any) { s.ts.Fatalf(format, args...) }

// waitForDaemon waits until the daemon of the data directory is ready.
func waitForDaemon(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		if info, err := readDaemonInfo(ts.Getenv("PATCHD_DATA_DIR")); err == nil {
			c, err := client.New(client.Options{Server: "unix:" + info.Socket})
			ts.Check(err)
			err = c.Ready(ctx)
			c.Close()
			if err == nil {
				return
			}
		}
		select {
		case <-ctx.Done():
			ts.Fatalf("the daemon is not ready after a minute")
		case <-tick.C:
		}
	}
}

// checkProcesses fails where a process still runs that names the script's directory on its command line.
func checkProcesses(ts *testscript.TestScript, _ bool, _ []string) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	dir := ts.Getenv("WORK")
	for _, path := range lines {
		raw, err := os.ReadFile(path)
		if err != nil {
			continue // it has just ended
		}
		if dir != "" && bytes.Contains(raw, []byte(dir)) {
			ts.Fatalf("process %s still runs: %q", path, raw)
		}
	}
}

// saveStdout puts the last command's output, without its final newline, into a variable: saved NAME.
func saveStdout(ts *testscript.TestScript, _ bool, args []string) {
	out := ts.ReadFile("stdout")
	for len(out) > 0 && out[len(out)-1] == '\n' {
		out = out[:len(out)-1]
	}
	ts.Setenv(args[0], out)
}

// runUntil runs a command until its output has the words: eventually WORDS COMMAND [ARG...].
func runUntil(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: eventually WORDS COMMAND [ARG...]")
	}
	limit := time.NewTimer(time.Minute)
	defer limit.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ts.Exec(args[1], args[2:]...)
		if err == nil && strings.Contains(ts.ReadFile("stdout"), args[0]) {
			return
		}
		select {
		case <-limit.C:
			ts.Fatalf("no %q after a minute", args[0])
		case <-tick.C:
		}
	}
}
