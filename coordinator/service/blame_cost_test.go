package service_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git/gittest"
)

// checkTime is how long a check takes: `go test ./coordinator/service -run RoundOf32 -check-time 1s -v`.
var checkTime = flag.Duration("check-time", 20*time.Millisecond, "how long a check of the round of 32 takes")

// TestARoundOf32IsBlamedExactly has two of 32 patches fail only together, and one break the check that another one brings. Plain
// bisection and one by one are counted on the same questions.
func TestARoundOf32IsBlamedExactly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.CheckWorkers = 4
	w.open()
	w.run()
	base := w.checkedBase(fmt.Sprintf("sleep %.3f\n! { test -e p3 && test -e p17; }\n", checkTime.Seconds()), nil)
	ids := map[string]coordinator.Identity{}
	names := map[coordinator.Identity]string{}
	for i := range 32 {
		name, files, more := fmt.Sprintf("p%d", i), gittest.Tree{fmt.Sprintf("p%d", i): "x\n"}, map[string]any{}
		if i == 9 {
			files["own.sh"] = fmt.Sprintf("sleep %.3f\n! test -e p22\n", checkTime.Seconds())
			more["required_checks"] = []string{"sh own.sh"}
		}
		ids[name] = w.labelled(name, base, files, more)
		names[ids[name]] = name
	}
	w.quiet()
	before := len(w.verdicts())
	r := w.sealed()
	require.Equal(t, "ready", r.Status)
	require.ElementsMatch(t, []coordinator.Identity{ids["p3"], ids["p17"], ids["p9"], ids["p22"]}, members(r, "blamed"))
	require.Len(t, members(r, "sealed"), 28)

	fails := func(set []string) bool {
		in := map[string]bool{}
		for _, name := range set {
			in[name] = true
		}
		return in["p3"] && in["p17"] || in["p9"] && in["p22"]
	}
	order := make([]string, 0, 32)
	for _, m := range r.Members {
		order = append(order, names[m.Identity])
	}
	halves, steps := bisected(order, fails), oneByOne(order, fails)
	runs := len(w.verdicts()) - before
	t.Logf("checks of %s: blame asked %d questions and ran %d commands, the confirmations of failures included, and is exact; bisection composes %d times and throws out %v, one by one %d times and throws out %v",
		*checkTime, r.Passes[0].Runs, runs, halves.runs, halves.out, steps.runs, steps.out)
	require.Less(t, runs, 2*32)
	require.Len(t, halves.out, 2, "whoever comes later")
	require.Equal(t, halves.out, steps.out)
	w.verified()
}

// verdicts lists the recorded runs.
func (w *world) verdicts() []string {
	w.t.Helper()
	var out []string
	for from := int64(1); ; {
		page, err := w.svc.Log(w.t.Context(), "r", "refs/heads/main", from, 500)
		require.NoError(w.t, err)
		for _, e := range page {
			from = e.Seq + 1
			if e.Kind == "verdict" {
				out = append(out, fmt.Sprint(e.Payload["command"]))
			}
		}
		if len(page) < 500 {
			return out
		}
	}
}

// rival is another way to find who is to blame.
type rival struct {
	runs int
	out  []string
}

// bisected halves a batch that fails and tries each half on what passed before it.
func bisected(all []string, fails func([]string) bool) rival {
	var r rival
	var try func(landed, batch []string) []string
	try = func(landed, batch []string) []string {
		r.runs++
		together := append(append([]string{}, landed...), batch...)
		if !fails(together) {
			return together
		}
		if len(batch) == 1 {
			r.out = append(r.out, batch[0])
			return landed
		}
		return try(try(landed, batch[:len(batch)/2]), batch[len(batch)/2:])
	}
	try(nil, all)
	return r
}

// oneByOne tries each on what passed before it.
func oneByOne(all []string, fails func([]string) bool) rival {
	var r rival
	var landed []string
	for _, name := range all {
		r.runs++
		if next := append(append([]string{}, landed...), name); fails(next) {
			r.out = append(r.out, name)
		} else {
			landed = next
		}
	}
	return r
}
