package service_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git/gittest"
)

// What the matrix looks at must show what each of the safeguards is for: here one is left out at a time.

func TestALandingWithoutItsIntentIsCaught(t *testing.T) {
	t.Parallel()
	w, _, r := readyToLand(t)
	acked := map[coordinator.Identity]string{r.Members[0].Identity: "a"}
	w.Git("update-ref", "refs/heads/main", string(r.Head), string(r.On)) // and then it is killed
	w.Git("reset", "-q", "--hard")
	w.open()
	w.run()
	w.quiet()
	require.Contains(t, strings.Join(w.faults(acked), "\n"), "recorded as landed 0 times")
}

func TestALandingWithoutItsMarkerIsCaught(t *testing.T) {
	t.Parallel()
	swappedAgain := func(marker bool) bool {
		w, base, r := readyToLand(t)
		w.crashBetween(r, marker)
		if !marker {
			w.Git("update-ref", "refs/heads/main", string(r.Head), string(r.On))
		}
		w.Git("reset", "-q", "--hard", base) // by a person
		w.open()
		w.run()
		w.quiet()
		return w.Git("rev-parse", "main") != base
	}
	require.False(t, swappedAgain(true))
	require.True(t, swappedAgain(false), "without the marker nobody knows that it was swapped before")
}

func TestACandidateWithADateOfItsOwnIsCaught(t *testing.T) {
	t.Parallel()
	rerun := func(date string) (before, after string) {
		w := newWorld(t)
		base := w.Commit("base", gittest.Tree{"f": tenLines})
		in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)
		w.open()
		id := w.submit(in).Identity
		w.close()
		d, plan := w.decide(base, in)
		w.publishAs(plan, d.Candidate.Commit, id) // and then it is killed
		if date != "" {
			raw := strings.Replace(w.Git("cat-file", "commit", string(d.Candidate.Commit)), "committer patchd <patchd@localhost> ", "committer patchd <patchd@localhost> "+date, 1)
			w.Write(gittest.Tree{"commit": raw + "\n"})
			w.Git("update-ref", candidateRef(id), w.Git("hash-object", "-t", "commit", "-w", "commit"))
			w.Git("clean", "-qf")
		}
		before = w.ref(candidateRef(id))
		w.open()
		w.run()
		return before, string(w.wait(id).Candidate)
	}
	before, after := rerun("")
	require.Equal(t, before, after, "the rerun writes the same commit")
	before, after = rerun("9")
	require.NotEqual(t, before, after)
}
