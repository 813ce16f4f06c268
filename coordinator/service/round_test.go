package service_test

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/service"
	"patchd/worktree/git/gittest"
)

// quiet waits until nothing is undecided or running, and requires that what is published is what the engine makes of the set
// from scratch.
func (w *world) quiet() coordinator.Digest {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	published, err := w.svc.Quiet(ctx, "", "")
	require.NoError(w.t, err)
	state, err := w.svc.State(ctx, "", "")
	require.NoError(w.t, err)
	require.Equal(w.t, state.StateDigest, published)
	return published
}

func (w *world) tester() service.Credential {
	return service.Credential{Name: "tester", Scopes: service.Scopes()}
}

// labelled submits a change of the base under a label.
func (w *world) labelled(label, base string, files gittest.Tree, more map[string]any) coordinator.Identity {
	w.t.Helper()
	fields := map[string]any{"patch_id": label}
	maps.Copy(fields, more)
	r := w.submit(w.submission(base, w.Change(base, files), fields))
	require.Nil(w.t, r.Refused)
	return r.Identity
}

func (w *world) seal(keys ...string) *service.Round {
	w.t.Helper()
	r, err := w.svc.Seal(w.t.Context(), service.SealRequest{Keys: keys, By: w.tester()})
	require.NoError(w.t, err)
	return r
}

// sealed seals and waits until the round is ready or over.
func (w *world) sealed(keys ...string) *service.Round {
	w.t.Helper()
	return w.round(w.seal(keys...).Number)
}

func (w *world) round(number int64) *service.Round {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	r, err := w.svc.WaitRound(ctx, "", "", number)
	require.NoError(w.t, err)
	return r
}

func (w *world) land(number int64) *service.Round {
	w.t.Helper()
	r, err := w.svc.Land(w.t.Context(), w.tester(), "", "", number)
	require.NoError(w.t, err)
	return r
}

func (w *world) withdraw(key string) {
	w.t.Helper()
	_, err := w.svc.Withdraw(w.t.Context(), w.tester(), "", "", key, "")
	require.NoError(w.t, err)
}

func members(r *service.Round, status string) []coordinator.Identity {
	var out []coordinator.Identity
	for _, m := range r.Members {
		if status == "" || m.Status == status {
			out = append(out, m.Identity)
		}
	}
	slices.Sort(out)
	return out
}

func ascending(ids ...coordinator.Identity) []coordinator.Identity {
	slices.Sort(ids)
	return ids
}

func (w *world) status(id coordinator.Identity) coordinator.PatchStatus {
	w.t.Helper()
	state, err := w.svc.State(w.t.Context(), "", "")
	require.NoError(w.t, err)
	i := slices.IndexFunc(state.Patches, func(p coordinator.PatchStatus) bool { return p.Identity == id })
	require.GreaterOrEqual(w.t, i, 0, "patch %s is not in the set", id)
	return state.Patches[i]
}

func TestTwoThatMeetNameEachOtherAndWithdrawingOneFreesTheOther(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	b := w.labelled("b", base, gittest.Tree{"f": edited("two", "2\n")}, nil)
	c := w.labelled("c", base, gittest.Tree{"g": "new\n"}, nil)
	w.quiet()
	for id, other := range map[coordinator.Identity]coordinator.Identity{a: b, b: a} {
		st := w.status(id)
		require.Equal(t, coordinator.OutcomeConflict, st.Outcome)
		require.Equal(t, coordinator.CodeSameLines, st.Contention[0].Code)
		require.Equal(t, string(other), st.Contention[0].With)
		require.NotEmpty(t, w.ref(candidateRef(id)), "each by itself is a candidate")
	}
	require.Equal(t, coordinator.OutcomeCandidate, w.status(c).Outcome)
	require.Equal(t, ascending(c), members(w.sealed(), ""))

	w.withdraw("a")
	w.quiet()
	require.Equal(t, coordinator.OutcomeCandidate, w.status(b).Outcome)
	require.Empty(t, w.status(b).Contention)
	require.Empty(t, w.ref(candidateRef(a)))
	require.NotEmpty(t, w.ref(candidateRef(b)))
	p := w.wait(b)
	require.Equal(t, coordinator.OutcomeCandidate, p.Outcome)
	w.verified()
}

func TestADependantFollowsWhatItDependsOn(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	b := w.labelled("b", base, gittest.Tree{"g": "new\n"}, map[string]any{"depends_on": []string{"a"}})
	w.quiet()
	require.Equal(t, []coordinator.Dependency{{Identity: a, Commit: w.wait(a).Candidate}}, w.wait(b).Decision.Dependencies)
	require.Equal(t, w.ref(candidateRef(a)), w.Git("rev-parse", candidateRef(b)+"^"))

	x := w.labelled("x", base, gittest.Tree{"f": edited("two", "2\n")}, nil)
	w.quiet()
	st := w.status(b)
	require.Equal(t, coordinator.CodeBlockedBy, st.Waiting.Code)
	require.Equal(t, []coordinator.Identity{a}, st.BlockedBy)
	require.Empty(t, w.ref(candidateRef(b)))

	w.withdraw("x")
	w.quiet()
	require.Equal(t, coordinator.OutcomeCandidate, w.status(b).Outcome)
	r := w.sealed("b")
	require.Equal(t, "ready", r.Status)
	require.Equal(t, ascending(a, b), members(r, ""), "with everything that it depends on")
	w.land(r.Number)
	require.Equal(t, "TWO", w.lines()[1])
	require.NotEqual(t, x, a)
	w.quiet()
	w.verified()
}

func TestALabelThatIsGivenLaterIsFound(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	b := w.labelled("b", base, gittest.Tree{"g": "new\n"}, map[string]any{"depends_on": []string{"later"}})
	w.quiet()
	require.Equal(t, coordinator.CodeDependencyUnknown, w.status(b).Waiting.Code)
	require.Equal(t, a, w.labelled("later", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil))
	w.quiet()
	require.Equal(t, coordinator.OutcomeCandidate, w.status(b).Outcome)
}

func TestASuccessorTakesThePlaceAndEndsTheRound(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	r := w.sealed()
	require.Equal(t, "ready", r.Status)
	b := w.labelled("b", base, gittest.Tree{"f": edited("two", "2\n")}, map[string]any{"supersedes": []string{"a"}})
	w.quiet()
	require.Equal(t, b, w.status(a).SupersededBy)
	require.Equal(t, coordinator.OutcomeCandidate, w.status(b).Outcome)
	require.Equal(t, "superseded", w.round(r.Number).Status)
	_, err := w.svc.Land(t.Context(), w.tester(), "", "", r.Number)
	require.Error(t, err)
	w.withdraw("b")
	w.quiet()
	require.Equal(t, coordinator.OutcomeCandidate, w.status(a).Outcome)
	w.verified()
}

func TestASealTakesTheSetOfItsCut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.open() // nothing works yet: what comes after the cut is there when the round is sealed
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	c := w.labelled("c", base, gittest.Tree{"h": "c\n"}, nil)
	d := w.labelled("d", base, gittest.Tree{"h": "d\n"}, nil)
	first := w.seal()
	w.labelled("b", base, gittest.Tree{"f": edited("two", "2\n")}, nil)
	w.withdraw("c")
	second := w.seal()
	w.withdraw("d")
	w.run()
	r := w.round(first.Number)
	require.Equal(t, ascending(a), members(r, ""), "b came after the cut; c and d met at it")
	require.Equal(t, "ready", r.Status)
	r = w.round(second.Number)
	require.Equal(t, []coordinator.Identity{d}, members(r, ""), "a and b meet")
	require.Equal(t, "superseded", r.Status, "a member was withdrawn")
	require.NotEqual(t, c, d)
	w.quiet()
	w.verified()
}

func TestAPatchThatGovernsIsSealedAloneAndByName(t *testing.T) {
	t.Parallel()
	w := serving(t)
	base := w.Commit("base", gittest.Tree{"f": tenLines})
	a := w.labelled("a", base, gittest.Tree{"f": edited("two", "TWO\n")}, nil)
	w.labelled("policy", base, gittest.Tree{".patchd.yml": "version: 1\n"}, nil)
	w.quiet()
	p, err := w.svc.Patch(t.Context(), "", "", "policy")
	require.NoError(t, err)
	require.Equal(t, []coordinator.Code{coordinator.CodeOwnerApproval}, p.Codes)
	_, err = w.svc.Resolve(t.Context(), service.ResolveRequest{By: w.tester(), Key: "policy", Action: coordinator.ActionApprove, Why: "it is right", ExpectedVersion: p.Version})
	require.NoError(t, err)
	w.quiet()
	require.Equal(t, []coordinator.Identity{a}, members(w.sealed(), ""))
	both := w.sealed("a", "policy")
	require.Equal(t, "stopped", both.Status)
	require.Equal(t, coordinator.CodeOwnerApproval, both.Code)
	alone := w.sealed("policy")
	require.Equal(t, "ready", alone.Status)
	w.land(alone.Number)
	w.quiet()
	w.verified()
}

// lines gives the lines of f on the branch.
func (w *world) lines() []string {
	w.t.Helper()
	return strings.Split(w.Git("show", "main:f"), "\n")
}
