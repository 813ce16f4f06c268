package service_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/coordinator/service"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// refused requires that a landing is refused with these words.
func (w *world) refused(number int64, words string) {
	w.t.Helper()
	_, err := w.svc.Land(w.t.Context(), w.tester(), "", "", number)
	var answer *service.Error
	require.ErrorAs(w.t, err, &answer)
	require.Equal(w.t, service.ErrStale, answer.Code)
	require.Contains(w.t, answer.Error(), words)
}

func TestALandingMovesTheBranchWithItsMarkerAndCleanCheckoutsFollow(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	linked := filepath.Join(t.TempDir(), "linked")
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	r := w.sealed()
	require.Equal(t, "ready", r.Status)
	require.Equal(t, base, w.Git("rev-parse", "main"))
	w.Git("checkout", "-q", "--detach")
	w.Git("worktree", "add", "-q", linked, "main")

	write(t, filepath.Join(linked, "f"), "mine\n")
	w.refused(r.Number, "linked")
	require.Equal(t, base, w.Git("rev-parse", "main"))
	w.Git("-C", linked, "checkout", "-q", "f")
	r = w.land(r.Number)
	require.Equal(t, "landed", r.Status)
	require.Equal(t, string(r.Head), w.Git("rev-parse", "main"))
	require.Equal(t, string(r.Tree), w.Git("rev-parse", "main^{tree}"))
	intent := w.entriesOf("landing_intent", r.Number)
	require.Len(t, intent, 1)
	require.Equal(t, string(r.Head), w.ref(fmt.Sprintf("refs/patchd/landings/%d", intent[0].Seq)))
	require.Empty(t, w.Git("-C", linked, "status", "--porcelain"))
	require.Equal(t, "TWO", w.lines()[1])
	require.Empty(t, w.ref(candidateRef(a)))
	w.quiet()
	p, err := w.svc.Patch(t.Context(), "", "", "a")
	require.NoError(t, err)
	require.Equal(t, service.StateLanded, p.State)
	require.Equal(t, "landed", w.land(r.Number).Status, "landing again is the same answer")
	require.Len(t, w.entries("landed"), 1)
	w.verified()
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func TestATargetThatMovedIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.PollInterval = 1 << 40 // nobody sees it but the swap
	w.open()
	w.run()
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	r := w.sealed()
	moved := w.Commit("by somebody", gittest.Tree{"g": "g\n"})
	w.refused(r.Number, "moved")
	require.Equal(t, moved, w.Git("rev-parse", "main"))
	require.Equal(t, "superseded", w.round(r.Number).Status)
	require.Len(t, w.entriesOf("landing_abandoned", r.Number), 1)
	require.Empty(t, w.entries("landed"))
	require.Equal(t, moved, string(w.at(a, moved).DecidedAt), "its patches are decided again")
	r = w.sealed()
	require.Equal(t, "landed", w.land(r.Number).Status)
	require.Equal(t, "TWO", w.lines()[1])
	w.quiet()
	w.verified()
}

// TestWhatLandsIsWhatPassedWhoeverCommitsMeanwhile has a person commit in a loop in the checkout of the target, and two daemons
// on one database land.
func TestWhatLandsIsWhatPassedWhoeverCommitsMeanwhile(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.checkedBase("true\n", gittest.Tree{"f": tenLines})
	other := *w
	other.svc, other.cancel = nil, nil
	other.config.DataDir = t.TempDir()
	other.open()
	other.run()
	defer other.close()
	var in []service.Submission
	for i := range 3 {
		in = append(in, w.submission(base, w.Change(base, gittest.Tree{fmt.Sprintf("p%d", i): "x\n"}), map[string]any{"patch_id": fmt.Sprintf("p%d", i)}))
	}
	landed := 0
	for i := 0; landed < 3; i++ {
		if i < 3 {
			w.submit(in[i])
		}
		daemon := w
		if i%2 == 1 {
			daemon = &other
		}
		r := daemon.sealed()
		if r.Status != "ready" {
			continue
		}
		var person sync.WaitGroup
		if i < 12 { // who never stops commits faster than any check runs
			person.Go(func() {
				for n := range 3 {
					_ = os.WriteFile(filepath.Join(w.Dir(), "person"), fmt.Appendf(nil, "%d %d\n", i, n), 0o600)
					_, _ = w.Try(nil, "add", "person") // the index may be held
					_, _ = w.Try(nil, "commit", "-q", "-m", "person")
				}
			})
		}
		if r, err := daemon.svc.Land(t.Context(), w.tester(), "", "", r.Number); err == nil && r.Status == "landed" {
			landed += len(r.Members)
		}
		person.Wait()
		require.Eventually(t, func() bool { // the other daemon may hold the index for a moment
			_, err := w.Try(nil, "commit", "-q", "-a", "--allow-empty", "-m", "person") // or the checkout stays dirty
			return err == nil
		}, 10*time.Second, 20*time.Millisecond)
	}
	require.Equal(t, 3, landed)
	w.quiet()
	for i := range 3 {
		require.Equal(t, "x", w.Git("show", fmt.Sprintf("main:p%d", i)), "no commit took back what landed")
	}
	w.sameTreesAsChecked()
	w.verified()
}

// sameTreesAsChecked requires that every landing is on the branch, once, with the tree on which its round's checks passed.
func (w *world) sameTreesAsChecked() {
	w.t.Helper()
	seen := map[string]bool{}
	for _, e := range w.entries("landed") {
		number, ok := e.Payload["round"].(float64)
		require.True(w.t, ok)
		r := w.round(int64(number))
		last := r.Passes[len(r.Passes)-1]
		require.Equal(w.t, string(last.Tree), w.Git("rev-parse", string(r.Head)+"^{tree}"))
		require.Equal(w.t, string(r.On), w.Git("rev-parse", fmt.Sprintf("%s~%d", r.Head, len(last.Members))))
		for _, c := range last.Checks {
			require.Equal(w.t, "passed", c.Verdict)
		}
		_, err := w.Try(nil, "merge-base", "--is-ancestor", string(r.Head), "main")
		require.NoError(w.t, err)
		for _, m := range last.Members {
			require.False(w.t, seen[string(m.Identity)], "landed twice")
			seen[string(m.Identity)] = true
		}
	}
}

// crashBetween makes a landing's intent and, if asked, its swap, as a daemon does that is killed then.
func (w *world) crashBetween(r *service.Round, swap bool) ledger.Seq {
	w.t.Helper()
	store, err := ledger.Open(w.t.Context(), w.config.DatabaseURL, ledger.Options{Clock: clock()})
	require.NoError(w.t, err)
	defer store.Close()
	var l ledger.Landing
	err = store.InTx(w.t.Context(), func(ctx context.Context, tx *ledger.Tx) error {
		targets, err := tx.Targets(ctx)
		if err != nil {
			return err
		}
		t, err := tx.LockTarget(ctx, targets[0].ID)
		if err != nil {
			return err
		}
		l = ledger.Landing{Target: t.ID, Seq: t.Version + 1, Round: r.Number, Old: r.On, New: r.Head}
		for _, m := range r.Members {
			l.Identities = append(l.Identities, ledger.Identity(m.Identity))
		}
		if _, err := tx.Append(ctx, t, ledger.Anything(), ledger.Entry{Kind: service.KindLandingIntent, Payload: fmt.Appendf(nil, `{"round":%d}`, r.Number)}); err != nil {
			return err
		}
		if err := tx.IntendLanding(ctx, t, l); err != nil {
			return err
		}
		row, err := tx.Round(ctx, t.ID, r.Number)
		if err != nil {
			return err
		}
		row.Status = ledger.RoundLanding
		return tx.SaveRound(ctx, t, row)
	})
	require.NoError(w.t, err)
	if swap {
		w.Git("update-ref", "refs/heads/main", string(r.Head), string(r.On))
		w.Git("update-ref", fmt.Sprintf("refs/patchd/landings/%d", l.Seq), string(r.Head))
	}
	return l.Seq
}

// readyToLand is a world with a round that is ready, whose daemon is stopped.
func readyToLand(t *testing.T) (w *world, base string, r *service.Round) {
	t.Helper()
	w = serving(t)
	base = w.Commit("base", gittest.Tree{"f": tenLines})
	w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	r = w.sealed()
	require.Equal(t, "ready", r.Status)
	w.quiet()
	w.close()
	return w, base, r
}

func TestAnIntentIsCarriedOutByTheNextDaemon(t *testing.T) {
	t.Parallel()
	for name, swapped := range map[string]bool{"intended": false, "swapped": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, r := readyToLand(t)
			w.crashBetween(r, swapped)
			w.open()
			w.run()
			require.Equal(t, "landed", w.round(r.Number).Status)
			require.Equal(t, string(r.Head), w.Git("rev-parse", "main"))
			require.Empty(t, w.Git("status", "--porcelain"), "the checkout follows")
			require.Len(t, w.entries("landed"), 1)
			w.quiet()
			w.restart()
			require.Len(t, w.entries("landed"), 1)
		})
	}
}

func TestWhatWasSwappedAndResetByAPersonIsNotSwappedAgain(t *testing.T) {
	t.Parallel()
	w, base, r := readyToLand(t)
	w.crashBetween(r, true)
	w.Git("reset", "-q", "--hard", base)
	w.open()
	w.run()
	w.quiet()
	require.Equal(t, base, w.Git("rev-parse", "main"), "the marker says that it landed; the person took it back")
	require.Len(t, w.entries("landed"), 1)
	p, err := w.svc.Patch(t.Context(), "", "", "a")
	require.NoError(t, err)
	require.Equal(t, []coordinator.Code{coordinator.CodeLandingReverted}, p.Codes)
	require.Equal(t, "empty", w.sealed().Status, "nothing lands again by itself")

	_, err = w.svc.Resolve(t.Context(), service.ResolveRequest{By: w.tester(), Key: "a", Action: coordinator.ActionReopen, Why: "it was reset by mistake", ExpectedVersion: p.Version})
	require.NoError(t, err)
	w.quiet()
	again := w.sealed()
	require.Equal(t, "ready", again.Status)
	require.Equal(t, "landed", w.land(again.Number).Status)
	w.quiet()
	require.Equal(t, "TWO", w.lines()[1])
	w.verified()
}

func TestAnIntentThatWasGivenUpIsNotCarriedOutByAnother(t *testing.T) {
	t.Parallel()
	w, base, r := readyToLand(t)
	seq := w.crashBetween(r, false)
	w.Git("update-ref", fmt.Sprintf("refs/patchd/abandoned/%d", seq), base)
	w.open()
	w.run()
	require.Equal(t, "superseded", w.round(r.Number).Status)
	require.Equal(t, base, w.Git("rev-parse", "main"))
	require.Len(t, w.entries("landing_abandoned"), 1)
	w.quiet()
	r = w.sealed()
	require.Equal(t, "landed", w.land(r.Number).Status)
}

func TestABranchThatComesBackRestoresWhatLanded(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	w.quiet()
	r := w.land(w.sealed("a").Number)
	w.quiet()
	w.Git("reset", "-q", "--hard", base)
	w.at(a, base)
	w.quiet()
	require.Equal(t, []coordinator.Code{coordinator.CodeLandingReverted}, w.wait(a).Codes)
	w.Git("reset", "-q", "--hard", string(r.Head))
	w.quiet()
	p, err := w.svc.Patch(t.Context(), "", "", string(a))
	require.NoError(t, err)
	require.Equal(t, service.StateLanded, p.State)
	w.verified()
}

func TestPausedTargetsNeitherSealNorLandAndGoOnWhenResumed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	r := w.sealed()
	require.NoError(t, w.svc.Pause(t.Context(), w.tester(), "", "", true))
	_, err := w.svc.Seal(t.Context(), service.SealRequest{By: w.tester()})
	require.Error(t, err)
	require.NoError(t, w.svc.Pause(t.Context(), w.tester(), "", "", false))
	w.refused(r.Number, "paused")
	require.NoError(t, w.svc.Resume(t.Context(), w.tester(), "", ""))
	require.Equal(t, "landed", w.land(r.Number).Status)
}

func TestTwoDaemonsLandOneRoundOnce(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	r := w.sealed()
	second := w.config
	second.DataDir = t.TempDir()
	other, err := service.Open(t.Context(), second)
	require.NoError(t, err)
	defer func() { require.NoError(t, other.Close()) }()
	var both sync.WaitGroup
	for _, svc := range []*service.Service{w.svc, other, w.svc, other} {
		both.Go(func() { _, _ = svc.Land(context.WithoutCancel(t.Context()), w.tester(), "", "", r.Number) })
	}
	both.Wait()
	require.Equal(t, "landed", w.round(r.Number).Status)
	require.Len(t, w.entries("landed"), 1)
	require.Empty(t, w.entries("landing_abandoned"))
	require.Equal(t, string(r.Head), w.Git("rev-parse", "main"))
	require.Empty(t, w.Git("status", "--porcelain"))
	require.Equal(t, git.OID(w.Git("rev-parse", "main")), r.Head)
	w.quiet()
	w.verified()
}
