package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"patchd/checks/sandbox"

	"github.com/stretchr/testify/require"
)

func TestTheEndIsTheCommandsOwn(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "plain"), []byte("echo x\n"), 0o644))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "alien"), []byte("#!/no/such/interpreter\n"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "own.sh"), []byte("#!/bin/sh\nexit 5\n"), 0o755))
			for _, c := range []struct {
				args   []string
				cause  sandbox.Cause
				code   int
				signal string
			}{
				{[]string{"true"}, sandbox.Exited, 0, ""},
				{[]string{"false"}, sandbox.Exited, 1, ""},
				{[]string{"sh", "-c", "exit 42"}, sandbox.Exited, 42, ""},
				{[]string{"sh", "-c", "kill -SEGV $$"}, sandbox.Exited, -1, "SIGSEGV"},
				{[]string{"sh", "-c", "kill -KILL $$"}, sandbox.Exited, -1, "SIGKILL"},
				{[]string{"sh", "-c", "kill -HUP $$"}, sandbox.Exited, -1, "SIGHUP"},
				{[]string{"./own.sh"}, sandbox.Exited, 5, ""},
				{[]string{"no-such-program"}, sandbox.Missing, -1, ""},
				{[]string{"/no/such/program"}, sandbox.Missing, -1, ""},
				{[]string{"./alien"}, sandbox.Missing, -1, ""},
				{[]string{"./absent"}, sandbox.NotExecutable, -1, ""},
				{[]string{"./plain"}, sandbox.NotExecutable, -1, ""},
			} {
				end, out := run(t, box, sandbox.Spec{Dir: dir, Args: c.args, Env: environment()})
				require.Equal(t, c.cause, end.Cause, "%q: %s %s", c.args, end.Detail, out)
				require.Equal(t, c.code, end.ExitCode, "%q", c.args)
				require.Equal(t, c.signal, end.Signal, "%q", c.args)
				require.Equal(t, box.Level(), end.Level)
				require.Empty(t, out, "%q: only the command itself prints", c.args)
			}
		})
	}
}

func TestStandardInputIsEmpty(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			require.Equal(t, "0\n", passes(t, box, t.TempDir(), "cat | wc -c; if [ -t 0 ]; then exit 1; fi"))
		})
	}
}

func TestMountsAreShownAndWritableOnlyWhenSaid(t *testing.T) {
	t.Parallel()
	for _, box := range boxes(t) {
		t.Run(string(box.Level()), func(t *testing.T) {
			t.Parallel()
			if os.Geteuid() == 0 && box.Level() == sandbox.Landlock {
				end, _ := run(t, box, sandbox.Spec{
					Dir: t.TempDir(), Args: []string{"true"}, Env: environment(),
					Mounts: []sandbox.Mount{{Source: t.TempDir(), Target: sandbox.Home + "/x"}},
				})
				require.Equal(t, sandbox.SetupFailed, end.Cause, "a separate user cannot enter root's directory, and that is nobody's failure")
				return
			}
			ro, rw := t.TempDir(), t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(ro, "in"), []byte("seen\n"), 0o644))
			spec := sandbox.Spec{
				Dir: t.TempDir(), Env: environment(),
				Args: []string{"sh", "-c", `cat "$HOME/a/b/in" && cp "$HOME/a/b/in" "$HOME/cache/out"; echo x > "$HOME/a/b/in"; exit 0`},
				Mounts: []sandbox.Mount{
					{Source: ro, Target: sandbox.Home + "/a/b"},
					{Source: rw, Target: sandbox.Home + "/cache", Writable: true},
				},
			}
			_, out := run(t, box, spec)
			require.Contains(t, out, "seen")
			copied, err := os.ReadFile(filepath.Join(rw, "out"))
			require.NoError(t, err, out)
			require.Equal(t, "seen\n", string(copied))
			if box.Level() != sandbox.Unconfined {
				kept, err := os.ReadFile(filepath.Join(ro, "in"))
				require.NoError(t, err)
				require.Equal(t, "seen\n", string(kept))
			}
		})
	}
}

func TestMountsMayNotCoverWhatTheViewProvides(t *testing.T) {
	t.Parallel()
	box, err := sandbox.New(t.Context(), options(t))
	require.NoError(t, err)
	for _, target := range []string{"/", "/proc", "/proc/self", "/etc/x", "/home", "/home/check", sandbox.Checkout, sandbox.Checkout + "/x", "/usr/bin", "relative", "/a/../b", "/run"} {
		_, err := box.Run(t.Context(), sandbox.Spec{
			Dir: t.TempDir(), Args: []string{"true"}, Mounts: []sandbox.Mount{{Source: t.TempDir(), Target: target}},
		}, os.Stderr)
		require.Error(t, err, target)
	}
}

func TestGoTestsRunInside(t *testing.T) {
	t.Parallel()
	box, err := sandbox.New(t.Context(), options(t)) // the strongest level only: everything is compiled from nothing
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example\n\ngo 1.21\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a_test.go"), []byte("package a\n\nimport \"testing\"\n\nfunc TestA(t *testing.T) {}\n"), 0o644))
	spec := sandbox.Spec{Dir: dir, Env: environment(), Args: []string{"go", "test", "./..."}, Limits: sandbox.Limits{Timeout: 5 * time.Minute}}
	end, out := run(t, box, spec)
	if end.Cause == sandbox.Missing {
		t.Skip("go is not in its usual place")
	}
	require.Zero(t, end.ExitCode, "%v %s", end, out)
	require.Contains(t, out, "ok")
}

func TestRootWithoutUserNamespacesBecomesASeparateUserOnACopy(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	box, err := sandbox.New(t.Context(), options(t, sandbox.Namespaces))
	if err != nil {
		t.Skipf("not on this host: %v", err)
	}
	box = sandbox.WithoutUserNamespaces(box)
	_, tree := linkedWorktree(t)
	out := passes(t, box, tree, `pwd; echo changed > file.txt; cat file.txt; touch $HOME/x /tmp/y; test $(id -u) -gt 60000 && test "$(ls -A)" = file.txt`)
	require.Equal(t, sandbox.Checkout+"\nchanged\n", out)
	kept, err := os.ReadFile(filepath.Join(tree, "file.txt"))
	require.NoError(t, err)
	require.Equal(t, "one\n", string(kept))
	end, out := shell(t, box, tree, `cat /etc/shadow; cat /proc/1/environ; kill -9 1; exit 0`, sandbox.Limits{})
	require.Equal(t, sandbox.Exited, end.Cause)
	require.NotContains(t, out, "root:*")
	end, _ = shell(t, box, tree, `echo 1 > /proc/sys/vm/drop_caches || echo x > /usr/x`, sandbox.Limits{})
	require.NotZero(t, end.ExitCode)
}

func TestRefusingNamesEveryLevelAndItsReason(t *testing.T) {
	t.Parallel()
	opt := options(t, sandbox.Bubblewrap, sandbox.Unconfined)
	opt.Bubblewrap, opt.AllowUnconfined = "/nonexistent/bwrap", false
	_, err := sandbox.New(t.Context(), opt)
	var refused *sandbox.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Contains(t, err.Error(), "/nonexistent/bwrap")
	require.Contains(t, err.Error(), "unconfined: not allowed")
}

func TestHomeCachesAreThoseThatExist(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, "go/pkg/mod"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o755))
	require.Equal(t, []sandbox.Mount{{Source: filepath.Join(home, "go/pkg/mod"), Target: sandbox.Home + "/go/pkg/mod"}}, sandbox.HomeCaches(home))
}

func BenchmarkRun(b *testing.B) {
	self, err := os.Executable()
	require.NoError(b, err)
	for _, level := range sandbox.Levels() {
		box, err := sandbox.New(b.Context(), sandbox.Options{Self: []string{self, execMode}, AllowUnconfined: true, Only: []sandbox.Level{level}})
		if err != nil {
			continue
		}
		dir := b.TempDir()
		b.Run(string(level), func(b *testing.B) {
			for b.Loop() {
				_, err := box.Run(b.Context(), sandbox.Spec{Dir: dir, Args: []string{"true"}, Env: environment()}, os.Stderr)
				require.NoError(b, err)
			}
		})
	}
}
