package coordinator_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
)

// texts is a tree: content by path.
type texts map[string]string

// with is the tree after a change; a content of "" removes the path.
func (x texts) with(change texts) texts {
	out := maps.Clone(x)
	for path, content := range change {
		if content == "" {
			delete(out, path)
		} else {
			out[path] = content
		}
	}
	return out
}

// patchTo is the diff from one tree to another: whole files go and come, so that nothing depends on how its hunks are drawn.
func (x texts) patchTo(next texts) []byte {
	var out strings.Builder
	for _, path := range slices.Sorted(maps.Keys(x.with(next))) {
		before, had := x[path]
		after, has := next[path]
		if had == has && before == after {
			continue
		}
		fmt.Fprintf(&out, "diff --git a/%s b/%s\n", path, path)
		from, to := "a/"+path, "b/"+path
		switch {
		case !had:
			from = "/dev/null"
			out.WriteString("new file mode 100644\n")
		case !has:
			to = "/dev/null"
			out.WriteString("deleted file mode 100644\n")
		}
		fmt.Fprintf(&out, "--- %s\n+++ %s\n@@ -%s +%s @@\n%s%s", from, to, span(before), span(after), marked("-", before), marked("+", after))
	}
	return []byte(out.String())
}

func span(text string) string {
	if n := strings.Count(text, "\n"); n > 0 {
		return fmt.Sprintf("1,%d", n)
	}
	return "0,0"
}

func marked(mark, text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(mark + line)
	}
	return out.String()
}

// commit writes a commit of a whole tree on a parent ("" for a root).
func (b *bench) commit(parent git.OID, tree texts) git.OID {
	b.t.Helper()
	ov := git.NewOverlay(b.git)
	var edits []git.TreeEdit
	for path, content := range tree {
		edits = append(edits, git.TreeEdit{Path: path, Entry: git.Entry{Mode: git.ModeFile, OID: ov.PutBlob([]byte(content))}})
	}
	root, err := git.EditTree(b.t.Context(), ov, git.EmptyTree, edits)
	require.NoError(b.t, err)
	who := git.Signature{Name: "A U Thor", Email: "author@example.com", When: time.Unix(1_700_000_000, 0).UTC()}
	c := git.Commit{Tree: root, Author: who, Committer: who, Message: "commit\n"}
	if parent != "" {
		c.Parents = []git.OID{parent}
	}
	id := ov.PutCommit(c)
	require.NoError(b.t, b.git.WritePack(b.t.Context(), ov.Objects()))
	return id
}

// keep writes a plan's or a round's objects, as a daemon does before it names their commits.
func (b *bench) keep(ov *git.Overlay) {
	b.t.Helper()
	require.NoError(b.t, b.git.WritePack(b.t.Context(), ov.Objects()))
}

// make submits the change from one tree to another on a base commit.
func (b *bench) make(base git.OID, from, change texts, more map[string]any) *coordinator.Submission {
	b.t.Helper()
	return b.submit(string(base), from.patchTo(from.with(change)), more)
}

func members(list ...*coordinator.Submission) []coordinator.Member {
	var out []coordinator.Member
	for _, s := range list {
		out = append(out, coordinator.Member{Submission: s, Labels: []coordinator.PatchID{s.Manifest.PatchID}})
	}
	return out
}

// state is f on an engine that may remember; fresh is f on one that does not.
func (b *bench) state(in coordinator.Inputs) (*coordinator.State, coordinator.States) {
	b.t.Helper()
	s, states, err := b.engine.State(b.t.Context(), in)
	require.NoError(b.t, err)
	for id, j := range states {
		require.NoError(b.t, j.Err, "patch %s", id.Short())
	}
	return s, states
}

func (b *bench) fresh(in coordinator.Inputs) (*coordinator.State, coordinator.States) {
	b.t.Helper()
	again := &bench{Repo: b.Repo, t: b.t, git: b.git, engine: coordinator.NewEngine(coordinator.EngineConfig{Repo: b.git, Outlines: symbols.NewInProcess(0)})}
	return again.state(in)
}

// at is the state of a set at a target without anything else.
func at(target git.OID, list ...*coordinator.Submission) coordinator.Inputs {
	return coordinator.Inputs{Target: target, Members: members(list...)}
}

// saying gives every check of a plan a verdict by its command.
func saying(verdicts map[string]coordinator.Verdict) func(context.Context, *coordinator.Plan) (coordinator.Verdicts, error) {
	return func(_ context.Context, p *coordinator.Plan) (coordinator.Verdicts, error) {
		out := coordinator.Verdicts{}
		for _, c := range p.Checks {
			if v, known := verdicts[c.Command]; known {
				out[coordinator.Question{Tree: p.Tree, Command: c.Command}] = v
				out[coordinator.Question{Tree: p.Decision.Target.Tree, Command: c.Command}] = "passed"
			}
		}
		return out, nil
	}
}

// outcomes lists what became of patches, in their order.
func outcomes(states coordinator.States, list ...*coordinator.Submission) []string {
	var out []string
	for _, s := range list {
		st := states[s.Identity].Status
		what := string(st.Outcome)
		switch {
		case st.SupersededBy != "":
			what = "superseded"
		case st.Waiting != nil:
			what += ":" + string(st.Waiting.Code)
		case states[s.Identity].Decision != nil && len(states[s.Identity].Decision.Codes()) > 0:
			what += ":" + string(states[s.Identity].Decision.Codes()[0])
		case len(st.Contention) > 0:
			what += ":" + string(st.Contention[0].Code)
		case st.Due:
			what += "due"
		}
		out = append(out, what)
	}
	return out
}

// contends lists whom a patch contends with, ascending.
func contends(states coordinator.States, s *coordinator.Submission) []coordinator.Identity {
	var out []coordinator.Identity
	for _, r := range states[s.Identity].Status.Contention {
		out = append(out, coordinator.Identity(r.With))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// ten is a file of ten distinct lines with some of them replaced.
func ten(replace ...string) string {
	return strings.NewReplacer(replace...).Replace(tenLines)
}

func TestPatchesThatMeetNameEachOtherAndOneLeavingFreesTheOther(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	r := b.make(base, tree, texts{"g": ten("two", "2")}, nil)

	_, states := b.state(at(base, p, q, r))
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines", "candidate"}, outcomes(states, p, q, r))
	require.Equal(t, []coordinator.Identity{q.Identity}, contends(states, p))
	require.Equal(t, []coordinator.Identity{p.Identity}, contends(states, q))

	_, states = b.state(at(base, p, r))
	require.Equal(t, []string{"candidate", "candidate"}, outcomes(states, p, r))
}

func TestASetIsWhatIsInItWhateverItsOrderLabelsAndRepeats(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	list := []*coordinator.Submission{
		b.make(base, tree, texts{"f": ten("two", "TWO")}, nil),
		b.make(base, tree, texts{"f": ten("two", "2")}, nil),
		b.make(base, tree, texts{"f": ten("nine", "NINE")}, nil),
	}
	want, _ := b.state(at(base, list...))
	slices.Reverse(list)
	in := at(base, append(list, list[1], list[0])...)
	for i := range in.Members {
		in.Members[i].Labels = []coordinator.PatchID{coordinator.PatchID(fmt.Sprint("label-", i%2))}
	}
	got, _ := b.fresh(in)
	require.Equal(t, want, got)
}

func TestATargetThatMovesDecidesEverythingAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	r := b.make(base, tree, texts{"f": ten("nine", "NINE")}, nil)
	before, _ := b.state(at(base, p, q, r))
	moved := b.commit(base, tree.with(texts{"f": ten("nine", "9")}))
	_, states := b.state(at(moved, p, q, r))
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines", "conflict:same_lines"}, outcomes(states, p, q, r))
	require.Empty(t, contends(states, r), "what T itself is in the way of contends with nobody")
	there, _ := b.state(at(moved, p, q, r))
	again, _ := b.fresh(at(moved, p, q, r))
	require.Equal(t, again, there)
	back, _ := b.state(at(base, p, q, r))
	require.Equal(t, before, back, "a target that moves back finds the state that it had")
}

func TestARejectedPatchIsInNoSet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	bad := b.make(base, tree.with(texts{"f": ten("one", "1")}), texts{"f": ten("two", "2")}, nil)
	s, states := b.state(at(base, p, bad))
	require.Len(t, s.Patches, 1)
	require.Equal(t, coordinator.OutcomeRejected, states[bad.Identity].Decision.Outcome)
	require.NotEmpty(t, states[bad.Identity].Decision.DecisionDigest)
	alone, _ := b.state(at(base, p))
	require.Equal(t, alone, s)
}

func TestWhatIsUncheckedContendsWithNobodyYetAndSaysWhomItWillMeet(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, map[string]any{"required_checks": []string{"run slow"}})
	q := b.make(base, tree, texts{"f": ten("two", "2")}, nil)
	in := at(base, p, q)
	_, states := b.state(in)
	require.Equal(t, []string{"due", "candidate"}, outcomes(states, p, q))
	require.Equal(t, [][2]coordinator.Identity{{min(p.Identity, q.Identity), max(p.Identity, q.Identity)}}, states.OpenContention())
	require.False(t, states[q.Identity].Sealable(), "a seal waits for the verdict")
	require.Len(t, states[p.Identity].Asks, 1)

	in.Verdicts = saying(map[string]coordinator.Verdict{"run slow": "passed"})
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:same_lines", "conflict:same_lines"}, outcomes(states, p, q))
	in.Verdicts = saying(map[string]coordinator.Verdict{"run slow": "failed"})
	_, states = b.state(in)
	require.Equal(t, []string{"conflict:check_failed", "candidate"}, outcomes(states, p, q))
}

func TestWhileThePolicyCannotBeReadOnlyThePatchThatMendsItIsDecided(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, coordinator.PolicyPath: "version: 1\nchecks: [\n"}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	mend := b.make(base, tree, texts{coordinator.PolicyPath: "version: 1\nchecks:\n  allow: ['run *']\n"}, map[string]any{"required_checks": []string{"run slow"}})
	in := at(base, p, mend)
	_, states := b.state(in)
	require.Equal(t, []string{"waiting:policy_invalid", "conflict:owner_approval"}, outcomes(states, p, mend))
	in.Rulings = coordinator.Rulings{ruling(t, coordinator.ActionApprove, mend, open(t, states, mend, coordinator.ActionApprove))}
	_, states = b.state(in)
	require.Equal(t, []string{"waiting:policy_invalid", "candidate"}, outcomes(states, p, mend), "without checks")
	require.Empty(t, coordinator.Sealable(states), "it is sealed alone, by name")
	require.True(t, states[mend.Identity].Sealable())
}

func replaced(text, from, to string) string { return strings.Replace(text, from, to, 1) }

func splitLines(text string) []string { return slices.Collect(strings.Lines(text)) }
