package sandbox_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"patchd/checks/sandbox"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// execMode makes this test binary serve as the supervisor, as patchd's hidden mode does.
const execMode = "test-sandbox-exec"

// secretVariable stands in this process's environment and must be found in no command's reach.
const secretVariable = "PATCHD_TEST_SECRET=do-not-read-me"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case execMode:
			os.Exit(sandbox.ServeExec(os.Args[2:])) //nolint:forbidigo // the process is the supervisor now
		case helperMode:
			os.Exit(helper(os.Args[2:])) //nolint:forbidigo // the process is the helper now
		}
	}
	if !slices.Contains(os.Environ(), secretVariable) { // the kernel shows the environment that a process was started with
		self, err := os.Executable()
		if err == nil {
			err = syscall.Exec(self, os.Args, append(os.Environ(), secretVariable))
		}
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

func options(t *testing.T, only ...sandbox.Level) sandbox.Options {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	return sandbox.Options{Self: []string{self, execMode}, AllowUnconfined: true, Only: only}
}

// boxes returns a sandbox for every level that works here, and says of the others why they do not.
func boxes(t *testing.T) []*sandbox.Sandbox {
	t.Helper()
	var out []*sandbox.Sandbox
	for _, level := range sandbox.Levels() {
		box, err := sandbox.New(t.Context(), options(t, level))
		if err != nil {
			t.Logf("not on this host: %v", err)
			continue
		}
		out = append(out, box)
	}
	return out
}

// environment is what a command gets in these tests.
func environment() map[string]string {
	return map[string]string{"PATH": "/usr/local/go/bin:/usr/bin:/bin", "HOME": sandbox.Home, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}
}

// shell runs a script in dir, with limits.
func shell(t *testing.T, box *sandbox.Sandbox, dir, script string, limits sandbox.Limits) (sandbox.Outcome, string) {
	t.Helper()
	return run(t, box, sandbox.Spec{Dir: dir, Args: []string{"sh", "-c", script}, Env: environment(), Limits: limits})
}

func run(t *testing.T, box *sandbox.Sandbox, spec sandbox.Spec) (sandbox.Outcome, string) {
	t.Helper()
	if spec.Limits.Timeout == 0 {
		spec.Limits.Timeout = time.Minute
	}
	var out bytes.Buffer
	end, err := box.Run(t.Context(), spec, &out)
	require.NoError(t, err)
	return end, out.String()
}

// passes asserts that a script ends with status 0 and returns what it printed.
func passes(t *testing.T, box *sandbox.Sandbox, dir, script string) string {
	t.Helper()
	end, out := shell(t, box, dir, script, sandbox.Limits{})
	require.Equal(t, sandbox.Exited, end.Cause, "%s: %s", end.Detail, out)
	require.Zero(t, end.ExitCode, out)
	return out
}

// git runs the git binary for a test's own repository.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@localhost",
		"GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@localhost",
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(bytes.TrimSpace(out))
}

// linkedWorktree makes a repository with one commit and a linked worktree, and returns both directories.
func linkedWorktree(t *testing.T) (repo, tree string) {
	t.Helper()
	base := t.TempDir()
	repo, tree = filepath.Join(base, "repo"), filepath.Join(base, "tree")
	require.NoError(t, os.Mkdir(repo, 0o755))
	git(t, repo, "init", "-q", "-b", "main")
	require.NoError(t, os.WriteFile(filepath.Join(repo, "file.txt"), []byte("one\n"), 0o644))
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "first")
	git(t, repo, "remote", "add", "origin", "https://user:hunter2@localhost/x.git")
	git(t, repo, "worktree", "add", "-q", "--detach", tree)
	return repo, tree
}
