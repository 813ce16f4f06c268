package checks_test

import (
	"slices"
	"testing"

	"patchd/checks"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func command(t *testing.T, line string) checks.Command {
	t.Helper()
	cmd, err := checks.ParseCommand(line)
	require.NoError(t, err)
	return cmd
}

func TestPatternsMatchArgumentByArgument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, line string
		want          bool
	}{
		{"npm test -- *", "npm test -- parser", true},
		{"npm test -- *", "npm test --", false},
		{"npm test -- *", "npm test -- a b", false},
		{"npm test -- *", "npm test -- 'a b'", true},
		{"npm test -- *", "npm test -- ''", true},
		{"npm test -- **", "npm test --", true},
		{"npm test -- **", "npm test -- a b c", true},
		{"npm test **", "npm run x", false},
		{"go test ./...", "go test ./...", true},
		{"go test ./...", "go test ./... -race", false},
		{"go test ./pkg/*", "go test ./pkg/a", false},
		{"go test ./pkg/*", "go test './pkg/*'", true},
		{"go ** -race **", "go test -race", true},
		{"go ** -race **", "go test -v ./a -race ./b", true},
		{"go ** -race **", "go test", false},
		{"** x", "a x", true},
		{"** **", "a", true},
		{"make '*'", "make x", false},
		{"make '*'", "make '*'", true},
		{"make *", "make -f /etc/passwd", false},
	} {
		p, err := checks.ParsePattern(c.pattern)
		require.NoError(t, err)
		require.Equal(t, c.want, p.Match(command(t, c.line)), "%s on %s", c.pattern, c.line)
	}
}

func TestWhatIsNotAllowedNamesTheNearestPattern(t *testing.T) {
	t.Parallel()
	patterns, err := checks.ParsePatterns([]string{"make **", "npm test -- *", "npm run lint"})
	require.NoError(t, err)
	require.NoError(t, checks.Allowed(patterns, command(t, "npm test -- x")))

	var refused *checks.NotAllowedError
	require.ErrorAs(t, checks.Allowed(patterns, command(t, "npm test x")), &refused)
	require.Equal(t, "npm test -- *", refused.Nearest)
	require.ErrorAs(t, checks.Allowed(patterns, command(t, "npm run build")), &refused)
	require.Equal(t, "npm run lint", refused.Nearest)
	require.ErrorAs(t, checks.Allowed(patterns, command(t, "curl x")), &refused)
	require.Empty(t, refused.Nearest)
	require.ErrorAs(t, checks.Allowed(nil, command(t, "npm test")), &refused)

	_, err = checks.ParsePatterns([]string{"ok", "a 'b"})
	var bad *checks.CommandError
	require.ErrorAs(t, err, &bad)
}

func TestUnionKnowsNoOrderAndNoSpelling(t *testing.T) {
	t.Parallel()
	got := checks.Union(
		[]checks.Command{command(t, "npm test"), command(t, `go "test" ./...`)},
		[]checks.Command{command(t, "go  test ./..."), command(t, "make")},
		[]checks.Command{command(t, "make"), command(t, "make"), command(t, "go test './...'")},
	)
	require.Equal(t, []checks.Required{
		{Command: command(t, "go test ./..."), Sources: []checks.Source{"landed", "patch", "policy"}},
		{Command: command(t, "make"), Sources: []checks.Source{"landed", "policy"}},
		{Command: command(t, "npm test"), Sources: []checks.Source{"patch"}},
	}, got)

	lines := rapid.SliceOf(rapid.SampledFrom([]string{"a", "a b", "c", "'c'", "d e"}))
	rapid.Check(t, func(rt *rapid.T) {
		lists := [3][]checks.Command{}
		for i := range lists {
			for _, l := range lines.Draw(rt, "list") {
				lists[i] = append(lists[i], command(t, l))
			}
		}
		want := checks.Union(lists[0], lists[1], lists[2])
		for i := range lists {
			slices.Reverse(lists[i])
		}
		require.Equal(rt, want, checks.Union(lists[0], lists[1], lists[2]))
	})
}

func TestJudgingRuns(t *testing.T) {
	t.Parallel()
	const (
		p, f, x, m = checks.StatusPassed, checks.StatusFailed, checks.StatusTimeout, checks.StatusKilledMemory
		sandboxed  = checks.StatusSandboxFailed
	)
	for _, c := range []struct {
		name  string
		runs  []checks.Status
		rules checks.Rules
		want  checks.Verdict
		again bool
	}{
		{"nothing yet", nil, checks.Rules{}, checks.VerdictInconclusive, true},
		{"a pass", []checks.Status{p}, checks.Rules{}, checks.VerdictPassed, false},
		{"a failure is run once more", []checks.Status{f}, checks.Rules{}, checks.VerdictInconclusive, true},
		{"a confirmed failure", []checks.Status{f, f}, checks.Rules{}, checks.VerdictFailed, false},
		{"two verdicts for one tree", []checks.Status{f, p}, checks.Rules{}, checks.VerdictNondeterministic, false},
		{"no pass is picked", []checks.Status{p, f}, checks.Rules{ConfirmPasses: 1}, checks.VerdictNondeterministic, false},
		{"an unconfirmed pass", []checks.Status{p, p}, checks.Rules{ConfirmPasses: 2}, checks.VerdictInconclusive, true},
		{"a confirmed pass", []checks.Status{p, p, p}, checks.Rules{ConfirmPasses: 2}, checks.VerdictPassed, false},
		{"a time-out gives up at once by default", []checks.Status{x}, checks.Rules{}, checks.VerdictInconclusive, false},
		{"a time-out is tried again", []checks.Status{x}, checks.Rules{Tries: 2}, checks.VerdictInconclusive, true},
		{"tries are used up", []checks.Status{x, m}, checks.Rules{Tries: 2}, checks.VerdictInconclusive, false},
		{"a time-out before a pass says nothing", []checks.Status{x, p}, checks.Rules{Tries: 2}, checks.VerdictPassed, false},
		{"a failure and a time-out blame nobody", []checks.Status{f, x}, checks.Rules{}, checks.VerdictInconclusive, false},
		{"a failure, a time-out, another try", []checks.Status{f, x}, checks.Rules{Tries: 2}, checks.VerdictInconclusive, true},
		{"nondeterministic beside a time-out", []checks.Status{f, sandboxed, p}, checks.Rules{Tries: 3}, checks.VerdictNondeterministic, false},
	} {
		got := checks.Judge(c.runs, c.rules)
		require.Equal(t, c.want, got.Verdict, c.name)
		require.Equal(t, c.again, got.Again, c.name)
		require.Equal(t, got.Verdict.Reusable(), got.Reason == "", "%s: %s", c.name, got.Reason)
	}
}

func TestJudgementsKnowNoOrderAndAlwaysEnd(t *testing.T) {
	t.Parallel()
	statuses := rapid.SampledFrom([]checks.Status{
		checks.StatusPassed, checks.StatusFailed, checks.StatusTimeout, checks.StatusKilled, checks.StatusCommandMissing, checks.StatusSandboxFailed,
	})
	rapid.Check(t, func(rt *rapid.T) {
		rules := checks.Rules{ConfirmPasses: rapid.IntRange(0, 3).Draw(rt, "confirm"), Tries: rapid.IntRange(0, 3).Draw(rt, "tries")}
		var runs []checks.Status
		for checks.Judge(runs, rules).Again {
			runs = append(runs, statuses.Draw(rt, "status"))
			require.LessOrEqual(rt, len(runs), 8)
		}
		want := checks.Judge(runs, rules)
		require.Equal(rt, want, checks.Judge(rapid.Permutation(runs).Draw(rt, "order"), rules))
	})
}

func TestKeysNameTreeArgumentsAndEnvironment(t *testing.T) {
	t.Parallel()
	key := func(tree string, env checks.Environment, args ...string) string {
		k, err := checks.Key(tree, args, env)
		require.NoError(t, err)
		require.Len(t, k, 64)
		return k
	}
	base := key("t1", checks.Environment{"A": "1", "B": "2"}, "go", "test")
	require.Equal(t, base, key("t1", checks.Environment{"B": "2", "A": "1"}, "go", "test"))
	seen := map[string]bool{base: true}
	for _, other := range []string{
		key("t2", checks.Environment{"A": "1", "B": "2"}, "go", "test"),
		key("t1", checks.Environment{"A": "1", "B": "3"}, "go", "test"),
		key("t1", checks.Environment{"A": "1"}, "go", "test"),
		key("t1", checks.Environment{"A": "1", "B": "2"}, "go test"),
		key("t1", checks.Environment{"A": "1", "B": "2"}, "go", "test", ""),
	} {
		require.False(t, seen[other])
		seen[other] = true
	}
	// sha256 of {"args":["a"],"env":{"X":"<sha256 of 1>"},"tree":"t"}, worked out with sha256sum.
	require.Equal(t, "660ebd1bd4d62f47cf0554183611bc2d0d4a1996ae44ddd265899cba2ed7bc5b", key("t", checks.Environment{"X": "1"}, "a"))
}

func TestTheEnvironmentIsFixedButForWhatThePolicyPasses(t *testing.T) {
	t.Parallel()
	values := map[string]string{"CI": "1", "TOKEN": "s", "HOME": "/root", "EDITOR": "vi"}
	lookup := func(name string) (string, bool) { v, ok := values[name]; return v, ok }
	env, err := checks.NewEnvironment([]string{"CI", "ABSENT"}, lookup)
	require.NoError(t, err)
	require.Equal(t, []string{"CI", "HOME", "LANG", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"}, env.Names())
	require.Equal(t, "1", env["CI"])
	require.Equal(t, checks.Home, env["HOME"])
	for _, bad := range []string{"HOME", "TMPDIR", "A=B", "", "1A", "A\nB"} {
		_, err := checks.NewEnvironment([]string{bad}, lookup)
		require.Error(t, err, "%q", bad)
	}
}
