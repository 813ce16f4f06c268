package service_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git/gittest"
)

// gate is a directory that checks and the test share.
type gate struct {
	t   *testing.T
	dir string
}

// gated gives a daemon a gate, before it is opened.
func (w *world) gated() gate {
	w.t.Helper()
	dir, err := os.MkdirTemp("", "patchd-gate-") // a check may run as another account
	require.NoError(w.t, err)
	w.t.Cleanup(func() { require.NoError(w.t, os.RemoveAll(dir)) })
	require.NoError(w.t, os.Chmod(dir, 0o777))
	w.config.CheckMounts = []sandbox.Mount{{Source: dir, Target: dir, Writable: true}}
	w.config.CheckWorkers = 4
	return gate{w.t, dir}
}

// open lets the checks go on that wait for a name.
func (g gate) open(name string) {
	g.t.Helper()
	require.NoError(g.t, os.WriteFile(filepath.Join(g.dir, name), nil, 0o600))
}

// wait is a script that waits for a name.
func (g gate) wait(name string) string {
	return fmt.Sprintf("while ! test -e %s/%s; do sleep 0.02; done\n", g.dir, name)
}

// checkedBase is a base whose policy has every patch checked by check.sh.
func (w *world) checkedBase(check string, files gittest.Tree) string {
	tree := gittest.Tree{".patchd.yml": "version: 1\nchecks:\n  allow: [\"sh **\"]\n  timeout: 1m\n  rules: [{paths: [\"**\"], run: [\"sh check.sh\"]}]\n", "check.sh": check}
	maps.Copy(tree, files)
	return w.Commit("base", tree)
}

func TestASealWaitsForSlowChecksOnlyWherePlansContend(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gated()
	w.open()
	w.run()
	base := w.checkedBase("test -e slow && ! test -e both && { "+strings.TrimSpace(g.wait("slow"))+" ; exit 1; }\ntrue\n", gittest.Tree{"f": tenLines})
	slow := w.labelled("slow", base, gittest.Tree{"f": edited("two", "TWO\n"), "slow": ""}, nil)
	meets := w.labelled("meets", base, gittest.Tree{"f": edited("two", "2\n")}, nil)
	apart := w.labelled("apart", base, gittest.Tree{"g": "g\n"}, nil)
	w.wait(meets)
	w.wait(apart)

	named := w.sealed("apart")
	require.Equal(t, "ready", named.Status, "what does not meet the slow one waits for nothing")
	all := w.seal()
	again, err := w.svc.Round(t.Context(), "", "", all.Number)
	require.NoError(t, err)
	require.Equal(t, "sealing", again.Status)
	require.Empty(t, w.entriesOf("sealed", all.Number), "whether the second is free depends on the first one's check")
	g.open("slow")
	r := w.round(all.Number)
	require.Equal(t, ascending(meets, apart), members(r, ""), "the first failed, so that it contends with nobody")
	require.Equal(t, coordinator.OutcomeConflict, w.wait(slow).Outcome)
	w.quiet()
	w.verified()
}

// entriesOf lists the entries of a kind that name a round.
func (w *world) entriesOf(kind string, round int64) []service.Entry {
	var out []service.Entry
	for _, e := range w.entries(kind) {
		if n, ok := e.Payload["round"].(float64); ok && int64(n) == round {
			out = append(out, e)
		}
	}
	return out
}

func TestMembersWhoseChecksHaveNotRunAreComposedAndASingleFailureIsTheirs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	g := w.gated()
	w.config.CheckWorkers = 1
	w.open()
	w.run()
	base := w.checkedBase("test $(ls | grep -c '^p') = 1 && { "+strings.TrimSpace(g.wait("own"))+"; }\n! test -e pbad\n", nil)
	good := w.labelled("good", base, gittest.Tree{"pgood": ""}, nil)
	bad := w.labelled("bad", base, gittest.Tree{"pbad": ""}, nil)
	number := w.seal().Number
	require.Eventually(t, func() bool { return len(w.entriesOf("sealed", number)) == 1 }, time.Minute, 5*time.Millisecond)
	g.open("own")
	r := w.round(number)
	require.Equal(t, "ready", r.Status)
	require.Equal(t, []coordinator.Identity{good}, members(r, "sealed"))
	require.Equal(t, []coordinator.Identity{bad}, members(r, "blamed"))
	require.Len(t, r.Passes, 2)
	require.Equal(t, []coordinator.RecordedBlame{{Identity: bad, Target: r.On, Code: coordinator.CodeCheckFailed, Command: "sh check.sh", Subset: []coordinator.Identity{bad}}}, r.Blames)
	w.land(r.Number)
	w.quiet()
	require.Equal(t, []coordinator.Code{coordinator.CodeCheckFailed}, w.wait(bad).Codes)
	w.verified()
}

func TestTwoThatFailOnlyTogetherAreBothBlamedAndTheRestLands(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.checkedBase("! { test -e pa && test -e pb; }\n", nil)
	a := w.labelled("a", base, gittest.Tree{"pa": ""}, nil)
	b := w.labelled("b", base, gittest.Tree{"pb": ""}, nil)
	c := w.labelled("c", base, gittest.Tree{"pc": ""}, nil)
	w.quiet()
	r := w.sealed()
	require.Equal(t, "ready", r.Status)
	require.Equal(t, ascending(a, b), members(r, "blamed"))
	require.Equal(t, []coordinator.Identity{c}, members(r, "sealed"))
	w.quiet()
	for id, other := range map[coordinator.Identity]coordinator.Identity{a: b, b: a} {
		st := w.status(id)
		require.Equal(t, coordinator.OutcomeConflict, st.Outcome)
		require.Equal(t, []coordinator.Reason{{Class: coordinator.ClassBehavioral, Code: coordinator.CodeCompositionFailed, With: string(other), Command: "sh check.sh"}}, st.Blame)
	}
	require.Len(t, r.Passes[0].Blame.Sets, 1)
	require.Equal(t, ascending(a, b), r.Passes[0].Blame.Sets[0].Subset, "the evidence is what fails")
	w.land(r.Number)
	w.quiet()
	require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome, "at the new target nothing is known against it")
	w.verified()
}

func TestARedTargetBlamesNobody(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.checkedBase("test -e fixed\n", nil)
	a := w.labelled("a", base, gittest.Tree{"pa": ""}, nil)
	w.labelled("b", base, gittest.Tree{"pb": ""}, nil)
	r := w.sealed("a")
	require.Equal(t, "stopped", r.Status)
	require.Equal(t, coordinator.CodeTargetRed, r.Code)
	require.Empty(t, members(r, "blamed"))
	w.quiet()
	require.Empty(t, w.status(a).Blame)
	require.Equal(t, []coordinator.Code{coordinator.CodeTargetRed}, w.wait(a).Codes)
	require.Equal(t, "empty", w.sealed().Status, "what waits for the target is in no default round")
}

func TestACheckWithoutOneVerdictStopsTheRoundAndBlamesNobody(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		code   coordinator.Code
	}{
		"nondeterministic": {"test $(ls | grep -c '^p') -lt 2 && exit 0; mkdir %s/once 2>/dev/null && exit 1; exit 0\n", coordinator.CodeCheckNondeterministic},
		"inconclusive":     {"test $(ls | grep -c '^p') -lt 2 && exit 0; ls %s >/dev/null; kill -9 $$\n", coordinator.CodeCheckInconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			g := w.gated()
			w.open()
			w.run()
			base := w.checkedBase(fmt.Sprintf(c.script, g.dir), nil)
			a := w.labelled("a", base, gittest.Tree{"pa": ""}, nil)
			w.labelled("b", base, gittest.Tree{"pb": ""}, nil)
			w.quiet()
			r := w.sealed()
			require.Equal(t, "stopped", r.Status)
			require.Equal(t, c.code, r.Code)
			require.Contains(t, r.Message, "sh check.sh")
			require.Empty(t, members(r, "blamed"))
			require.Len(t, w.entriesOf("round_stopped", r.Number), 1)
			w.quiet()
			require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome)
			w.verified()
		})
	}
}
