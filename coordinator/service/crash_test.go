package service_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// publishAs writes a plan's candidate and its ref, as a daemon does before it records the decision.
func (w *world) publishAs(plan *coordinator.Plan, commit git.OID, id coordinator.Identity) {
	w.t.Helper()
	repo, err := git.Open(w.t.Context(), w.Dir(), git.Options{Scratch: w.t.TempDir()})
	require.NoError(w.t, err)
	defer func() { require.NoError(w.t, repo.Close()) }()
	objects, err := plan.Objects.Reachable(w.t.Context(), commit)
	require.NoError(w.t, err)
	require.NoError(w.t, repo.WritePack(w.t.Context(), objects))
	require.NoError(w.t, repo.UpdateRefs(w.t.Context(), []git.RefUpdate{{Ref: git.Ref(candidateRef(id)), Old: git.ZeroOID, New: commit}}))
}

func TestACrashAfterAnyStepLeavesOneDecision(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]func(*world, service.Submission, coordinator.Identity, string){
		"submission committed": func(*world, service.Submission, coordinator.Identity, string) {},
		"candidate ref created": func(w *world, in service.Submission, id coordinator.Identity, target string) {
			d, plan := w.decide(target, in)
			w.publishAs(plan, d.Candidate.Commit, id)
		},
		"candidate ref of an older target commit created": func(w *world, in service.Submission, id coordinator.Identity, target string) {
			d, plan := w.decide(w.Git("rev-parse", target+"~1"), in)
			w.publishAs(plan, d.Candidate.Commit, id)
		},
		"lock of a killed git left": func(w *world, _ service.Submission, id coordinator.Identity, _ string) {
			w.Write(gittest.Tree{".git/" + candidateRef(id) + ".lock": ""})
		},
		"decision recorded, job not acknowledged": func(w *world, _ service.Submission, _ coordinator.Identity, _ string) {
			w.open()
			w.run()
			w.close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			base := w.Commit("base", gittest.Tree{"f": tenLines})
			in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)
			target := w.Commit("landed", gittest.Tree{"f": edited("nine", "NINE\n")})
			w.open()
			id := w.submit(in).Identity
			w.close()
			crash(w, in, id, target)
			w.open()
			w.run()
			p := w.at(id, target)
			require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
			require.Equal(t, string(p.Candidate), w.ref(candidateRef(id)))
			require.Len(t, w.entries("decided"), 1)
			w.restart()
			require.Equal(t, p.Candidate, w.wait(id).Candidate)
			require.Len(t, w.entries("decided"), 1)
			w.verified()
		})
	}
}

func TestARefThatPatchdDidNotWriteIsNeverOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)
	w.open()
	id := w.submit(in).Identity
	w.Git("update-ref", candidateRef(id), base)
	w.run()
	var p *service.Patch
	require.Eventually(t, func() bool {
		var err error
		p, err = w.svc.Patch(t.Context(), "", "", string(id))
		return err == nil && p.Problem != ""
	}, time.Minute, 5*time.Millisecond)
	require.Contains(t, p.Problem, candidateRef(id))
	require.Contains(t, p.Problem, base)
	require.Equal(t, service.StateDeciding, p.State)
	require.Equal(t, base, w.ref(candidateRef(id)))
	require.Empty(t, w.entries("decided"))

	w.Git("update-ref", "-d", candidateRef(id))
	p = w.wait(id)
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome, "it goes on trying")
	require.Empty(t, p.Problem)
}

func TestARefThatWasOvertakenIsSettledAtStart(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	in := w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil)
	p := w.decided(in)
	first := p.Candidate
	target := w.Commit("landed", gittest.Tree{"f": edited("nine", "NINE\n")})
	p = w.at(p.Identity, target)
	w.close()
	w.Git("update-ref", candidateRef(p.Identity), string(first))
	w.open()
	w.run()
	require.Equal(t, string(p.Candidate), w.ref(candidateRef(p.Identity)))
	_, err := w.svc.Withdraw(t.Context(), service.Credential{Name: "tester"}, "", "", "p", "")
	require.NoError(t, err)
	w.close()
	w.Git("update-ref", candidateRef(p.Identity), string(p.Candidate))
	w.open()
	w.run()
	require.Empty(t, w.ref(candidateRef(p.Identity)))
}

func TestTheLedgerShowsWhatWasDoneToIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sql                  string
		chain, anchor, state bool
		says                 string
	}{
		"a payload changed": {"UPDATE patchd.ledger_entries SET payload = convert_to(replace(convert_from(payload, 'UTF8'), 'candidate', 'conflict'), 'UTF8') WHERE kind = 'decided'", false, true, false, "payload"},
		"an entry removed":  {"DELETE FROM patchd.ledger_entries WHERE seq = 2", false, true, true, "seq_gap"},
		"the tail cut": {`DELETE FROM patchd.ledger_entries WHERE seq = (SELECT max(seq) FROM patchd.ledger_entries);
			UPDATE patchd.targets SET version = version - 1, inputs_version = least(inputs_version, version - 1), head_hash = (SELECT hash FROM patchd.ledger_entries ORDER BY seq DESC LIMIT 1)`, true, false, true, "anchor_missing"},
		"a patch's row changed":     {"UPDATE patchd.patches SET outcome = 'conflict', published_outcome = 'conflict'", true, true, false, "the row says"},
		"a candidate's row changed": {"UPDATE patchd.patches SET candidate_commit = base_commit", true, true, false, "the row says"},
		"a patch's row removed":     {"DELETE FROM patchd.patches", true, true, false, "has no row"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := serving(t)
			base := w.Commit("base", gittest.Tree{"f": tenLines})
			w.decided(w.submission(base, w.Change(base, gittest.Tree{"f": edited("two", "TWO\n")}), nil))
			w.close()
			w.open()
			w.verified()
			w.asOwner("SET session_replication_role = replica;" + c.sql)
			for range 2 { // the anchor of a ledger that was tampered with is left alone
				v, err := w.svc.Verify(t.Context(), "", "")
				require.NoError(t, err)
				require.Equal(t, []bool{c.chain, c.anchor, c.state}, []bool{v.Chain, v.Anchor, v.State}, "%v", v.Faults)
				require.Contains(t, strings.Join(v.Faults, "\n"), c.says)
				w.restart()
				w.Commit("later", gittest.Tree{"h": v.Head})
				w.at0()
				w.close()
				w.open()
				if name != "the tail cut" {
					break
				}
			}
		})
	}
}

// at0 waits until the daemon has seen the tip of main.
func (w *world) at0() {
	w.t.Helper()
	tip := w.Git("rev-parse", "main")
	require.Eventually(w.t, func() bool {
		targets, err := w.svc.Targets(w.t.Context())
		return err == nil && string(targets[0].Commit) == tip
	}, time.Minute, 5*time.Millisecond)
}

// asOwner runs SQL as the server's owner, whom nothing stops.
func (w *world) asOwner(sql string) {
	w.t.Helper()
	conn := w.connect()
	_, err := conn.Exec(w.t.Context(), sql)
	require.NoError(w.t, err)
	require.NoError(w.t, conn.Close(context.WithoutCancel(w.t.Context())))
}
