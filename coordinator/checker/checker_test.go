package checker_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/checks"
	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/coordinator/checker"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

const sandboxMode = "test-sandbox-exec"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandboxMode {
		os.Exit(sandbox.ServeExec(os.Args[2:])) //nolint:forbidigo // the process is the supervisor now
	}
	goleak.VerifyTestMain(m)
}

// bench is a repository with a checker that passes the variables of env.
type bench struct {
	*gittest.Repo
	checker *checker.Checker
	plan    *coordinator.Plan
}

func newBench(t *testing.T, env map[string]string, files gittest.Tree) bench {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	clock := func() time.Time { return time.Unix(1_700_000_000, 0) }
	runner, err := checker.NewRunner(t.Context(), checker.RunnerConfig{
		Command: []string{self, sandboxMode}, AllowUnsandboxed: true, Clock: clock,
		Lookup: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	require.NoError(t, err)
	require.NotEmpty(t, runner.Level())
	r := gittest.New(t)
	r.Commit("tree", files)
	repo, err := git.Open(t.Context(), r.Dir(), git.Options{Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, repo.Close()) })
	c, err := checker.New(t.Context(), runner, repo, t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close(t.Context())) })
	policy, err := coordinator.ParsePolicy([]byte("version: 1\nchecks: {env: [CI], timeout: 1m}\n"))
	require.NoError(t, err)
	return bench{r, c, &coordinator.Plan{Policy: policy, Objects: git.NewOverlay(repo)}}
}

func (b bench) ask(t *testing.T, command string) (coordinator.Verdict, []coordinator.CheckEvidence) {
	t.Helper()
	q := coordinator.Question{Tree: git.OID(b.Git("rev-parse", "HEAD^{tree}")), Command: command}
	v, seen, err := b.checker.Ask(t.Context(), b.plan, q)
	require.NoError(t, err)
	return v, seen
}

func TestEveryRunBeginsWithExactlyTheTree(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, gittest.Tree{"dirty.sh": "test ! -e new && echo x >new && echo >>f && ls && exit 1\n", "f": "f\n"})
	v, seen := b.ask(t, "sh dirty.sh")
	require.Equal(t, checks.VerdictFailed, v)
	require.Len(t, seen, 2, "a failure is confirmed")
	require.Equal(t, seen[0].OutputSHA256, seen[1].OutputSHA256, "what the first run wrote is gone before the second")
	require.Equal(t, "dirty.sh\nf\nnew\n", seen[0].Excerpt)
	require.Equal(t, 1, seen[0].ExitCode)
	require.NotEmpty(t, seen[0].Sandbox)
}

func TestAnEnvironmentIsWhatThePolicyNamesAndPartOfTheKey(t *testing.T) {
	t.Parallel()
	files := gittest.Tree{"env.sh": "echo \"CI=$CI HIDDEN=$HIDDEN\"\n"}
	with := newBench(t, map[string]string{"CI": "yes", "HIDDEN": "secret"}, files)
	v, seen := with.ask(t, "sh env.sh")
	require.Equal(t, checks.VerdictPassed, v)
	require.Equal(t, "CI=yes HIDDEN=\n", seen[0].Excerpt)

	key := func(b bench, command string) checker.Key {
		k, err := b.checker.Key(b.plan.Policy, coordinator.Question{Command: command})
		require.NoError(t, err)
		return k
	}
	without := newBench(t, map[string]string{"HIDDEN": "other"}, files)
	require.NotEqual(t, key(with, "sh env.sh").Environment, key(without, "sh env.sh").Environment)
	require.Equal(t, key(with, "sh env.sh").Args, key(without, "sh  'env.sh'").Args, "arguments count, not how they were written")
	require.NotEqual(t, key(with, "sh env.sh").Args, key(with, "sh env.sh x").Args)
	again := newBench(t, map[string]string{"CI": "yes", "HIDDEN": "changed"}, files)
	require.Equal(t, key(with, "sh env.sh"), key(again, "sh env.sh"), "what the policy does not name is no part of it")
}

func TestACommandThatIsNotThereComesToNoVerdict(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, gittest.Tree{"f": "f\n"})
	v, seen := b.ask(t, "no-such-program")
	require.Equal(t, checks.VerdictInconclusive, v)
	require.Contains(t, fmt.Sprint(seen[0].Why), "no-such-program")
}
