package service_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/worktree/git/gittest"
)

// policyOf is a policy that allows scripts and attaches some to f.
func policyOf(timeout string, rules ...string) string {
	return fmt.Sprintf("version: 1\nchecks:\n  allow: [\"sh **\"]\n  timeout: %s\n  retries: 1\n  rules: [{paths: [\"f\"], run: [%s]}]\n", timeout, strings.Join(rules, ", "))
}

// runs counts the recorded runs of the policy's command.
func (w *world) runs() int {
	w.t.Helper()
	n := 0
	for _, e := range w.entries("verdict") {
		if e.Payload["command"] == "sh check.sh" {
			n++
		}
	}
	return n
}

func TestChecksRunOnTheRebasedTreeAndTheirVerdictsAreReused(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines, "g": "g\n", ".patchd.yml": policyOf("1m", `"sh check.sh"`), "check.sh": "grep -q TWO f && grep -q NINE f && echo fine && echo dirt >f && echo new >new\n"})
	patch := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	landed := w.Commit("landed", gittest.Tree{"f": edited("nine", "NINE\n")})
	in := w.submission(base, patch, nil)
	p := w.decided(in)
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome, "%+v", p.Decision.Operational)
	require.True(t, *p.Decision.Validity.ChecksValid)
	require.Equal(t, []coordinator.Check{{Command: "sh check.sh", Sources: []string{"policy"}, Verdict: "passed"}}, p.Decision.Checks)
	require.NotEmpty(t, p.Decision.Operational.Checks[0].Sandbox)
	require.Equal(t, 1, w.runs())
	require.Equal(t, "TWO", strings.Split(w.Git("show", string(p.Candidate)+":f"), "\n")[1])
	require.Equal(t, "NINE", strings.Split(w.Git("show", string(p.Candidate)+":f"), "\n")[8], "what a check writes does not reach the candidate")
	require.Empty(t, w.Git("ls-tree", string(p.Candidate), "new"))

	same := w.decided(w.submission(base, patch, map[string]any{"title": "the same edits under another title"}))
	require.NotEqual(t, p.Identity, same.Identity)
	require.Equal(t, p.Decision.Candidate.Tree, same.Decision.Candidate.Tree)
	require.Equal(t, 1, w.runs(), "one tree and one command are asked once")
	require.True(t, same.Decision.Operational.Checks[0].Reused)
	require.Equal(t, landed, w.Git("rev-parse", "main"))
	w.verified()
}

func TestAFailureIsRunTwiceAndHeldAgainstTheTarget(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{
		"f": tenLines, ".patchd.yml": policyOf("1m", `"sh check.sh"`), "check.sh": "! grep -q TWO f\n", "own.sh": "grep -q NINE f\n",
	})
	p := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil))
	require.Equal(t, coordinator.OutcomeConflict, p.Outcome)
	require.Equal(t, []coordinator.Code{coordinator.CodeCheckFailed}, p.Codes)
	require.Equal(t, "passed", p.Decision.Checks[0].TargetVerdict)
	require.Equal(t, 3, w.runs(), "twice on the candidate, once on the target")
	require.Empty(t, w.ref(candidateRef(p.Identity)))

	own := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("one", "ONE\n")}), map[string]any{"required_checks": []string{"sh own.sh"}}))
	require.Equal(t, coordinator.OutcomeConflict, own.Outcome, "a check that only the patch asks for makes no target red")
	require.Equal(t, []coordinator.Code{coordinator.CodeCheckFailed}, own.Codes)

	red := w.Commit("red", gittest.Tree{"check.sh": "echo no; exit 1\n"})
	p = w.at(p.Identity, red)
	require.Equal(t, coordinator.OutcomeWaiting, p.Outcome)
	require.Equal(t, []coordinator.Code{coordinator.CodeTargetRed}, p.Codes)
	w.verified()
}

func TestACheckThatPassesAndFailsIsNondeterministic(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	shared, err := os.MkdirTemp("", "patchd-memory-") //nolint:usetesting // a check may run as another account
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(shared)) })
	require.NoError(t, os.Chmod(shared, 0o777))
	w.config.CheckMounts = []sandbox.Mount{{Source: shared, Target: shared, Writable: true}}
	w.open()
	w.run()
	base := w.Commit("base", gittest.Tree{
		"f": tenLines, ".patchd.yml": policyOf("1m", `"sh check.sh"`),
		"check.sh": "echo run; grep -q TWO f || exit 0; mkdir " + shared + "/once 2>/dev/null && exit 1; exit 0\n",
	})
	p := w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil))
	require.Equal(t, coordinator.OutcomeConflict, p.Outcome, "%+v", p.Decision.Operational)
	require.Equal(t, []coordinator.Code{coordinator.CodeCheckNondeterministic}, p.Codes)
	require.Len(t, p.Decision.Operational.Checks, 2, "both outputs are kept, and no pass is picked")
	w.verified()
}

func TestACheckWithoutAVerdictWaitsAndIsTriedAgainWhenHandedInAgain(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines, ".patchd.yml": policyOf("300ms", `"sh check.sh"`), "check.sh": "sleep 60\n"})
	in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)
	p := w.decided(in)
	require.Equal(t, coordinator.OutcomeWaiting, p.Outcome)
	require.Equal(t, []coordinator.Code{coordinator.CodeCheckInconclusive}, p.Codes)
	require.Equal(t, 2, w.runs(), "as often as the policy says")
	w.submit(in)
	require.Eventually(t, func() bool {
		return w.wait(p.Identity).Outcome == coordinator.OutcomeWaiting && w.runs() == 4
	}, time.Minute, 10*time.Millisecond)
	require.Len(t, w.entries("decided"), 1, "and nothing new came of it")
	require.Equal(t, "check_inconclusive", w.attempts()[0].Code)
	w.verified()
}

func TestPatchesThatAskTheSameQuestionAtOnceShareItsRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.CheckWorkers = 3
	w.open()
	w.run()
	base := w.Commit("base", gittest.Tree{"f": tenLines, ".patchd.yml": policyOf("1m", `"sh check.sh"`), "check.sh": "sleep 0.3\n"})
	patch := w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	var ids []coordinator.Identity
	for _, title := range []string{"a", "b", "c"} {
		ids = append(ids, w.submit(w.submission(base, patch, map[string]any{"title": title})).Identity)
	}
	for _, id := range ids {
		require.Equal(t, coordinator.OutcomeCandidate, w.wait(id).Outcome)
	}
	require.Equal(t, 1, w.runs())
}
