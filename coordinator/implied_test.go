package coordinator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// candidate writes a patch's candidate to the repository, as a daemon does, and gives its commit.
func (b *bench) candidate(states coordinator.States, s *coordinator.Submission) git.OID {
	b.t.Helper()
	p := states[s.Identity].Plan
	require.NotNil(b.t, p)
	require.NotNil(b.t, p.Decision.Candidate)
	b.keep(p.Objects)
	return p.Decision.Candidate.Commit
}

// knowing looks patches up that are in the set no longer.
func knowing(list ...*coordinator.Submission) func(context.Context, coordinator.Identity) (*coordinator.Submission, error) {
	return func(_ context.Context, id coordinator.Identity) (*coordinator.Submission, error) {
		for _, s := range list {
			if s.Identity == id {
				return s, nil
			}
		}
		return nil, nil
	}
}

func TestABaseThatIsACandidateIsADependency(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	_, states := b.state(at(base, p))
	onP := b.candidate(states, p)
	afterP := tree.with(texts{"f": ten("two", "TWO")})
	q := b.make(onP, afterP, texts{"f": ten("two", "two again")}, nil)
	_, states = b.state(at(base, p, q))
	require.Equal(t, []string{"candidate", "candidate"}, outcomes(states, p, q))
	require.Equal(t, []coordinator.Dependency{{Identity: p.Identity, Commit: onP}}, states[q.Identity].Decision.Dependencies)
	onQ := b.candidate(states, q)
	afterQ := afterP.with(texts{"f": ten("two", "two again")})
	r := b.make(onQ, afterQ, texts{"f": ten("two", "once more")}, nil)
	_, states = b.state(at(base, p, q, r))
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, p, q, r), "a chain of three, each on the one before")
	require.Len(t, states[r.Identity].Decision.Dependencies, 2)

	moved := b.commit(base, tree.with(texts{"f": ten("nine", "NINE")}))
	_, states = b.state(at(moved, p, q, r))
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, p, q, r), "candidates of an older target are bases still")
	require.Equal(t, "once more\n", line(b, states[r.Identity].Plan, 2))
	require.Equal(t, "NINE\n", line(b, states[r.Identity].Plan, 9))

	_, states = b.state(at(base, q, r))
	require.Equal(t, []string{"waiting:base_unrelated", "waiting:blocked_by"}, outcomes(states, q, r), "nobody knows what the first base is")
	in := at(base, q, r)
	in.Lookup = knowing(p)
	_, states = b.state(in)
	require.Equal(t, []string{"waiting:dependency_unknown", "waiting:dependency_unknown"}, outcomes(states, q, r), "withdrawn: it is not in the set")
}

// line is one line of file f of a plan's tree, counted from 1.
func line(b *bench, p *coordinator.Plan, n int) string {
	b.t.Helper()
	entry, err := git.Lookup(b.t.Context(), p.Objects, p.Tree, "f")
	require.NoError(b.t, err)
	content, err := p.Objects.ReadBlob(b.t.Context(), entry.OID)
	require.NoError(b.t, err)
	lines := splitLines(string(content))
	require.Greater(b.t, len(lines), n-1)
	return lines[n-1]
}

func TestADependantFollowsWhatItsBaseBecame(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	_, states := b.state(at(base, p))
	onP := b.candidate(states, p)
	q := b.make(onP, tree.with(texts{"f": ten("two", "TWO")}), texts{"f": ten("two", "TWO", "nine", "NINE")}, nil)

	in := at(onP, q) // landed as it was
	in.Landings = []coordinator.Landing{{Identity: p.Identity, Commit: string(onP), Counts: true}}
	in.Lookup = knowing(p)
	_, states = b.state(in)
	require.Equal(t, []string{"candidate"}, outcomes(states, q))
	require.Empty(t, states[q.Identity].Decision.Dependencies)

	moved := b.commit(base, tree.with(texts{"g": "g\n"})) // landed after it was rebased
	_, states = b.state(at(moved, p))
	rebased := b.candidate(states, p)
	require.NotEqual(t, onP, rebased)
	in.Target, in.Landings[0].Commit = rebased, string(rebased)
	_, states = b.state(in)
	require.Equal(t, []string{"candidate"}, outcomes(states, q))
	require.Empty(t, states[q.Identity].Decision.Dependencies)
	require.Equal(t, "TWO\n", line(b, states[q.Identity].Plan, 2))
	require.Equal(t, "NINE\n", line(b, states[q.Identity].Plan, 9))

	next := b.make(base, tree, texts{"f": ten("two", "zwei")}, map[string]any{"supersedes": []string{string(p.Identity)}})
	_, states = b.state(at(base, p, q, next)) // superseded
	require.Equal(t, []string{"superseded", "candidate", "candidate"}, outcomes(states, p, q, next))
	require.Equal(t, next.Identity, states[q.Identity].Decision.Dependencies[0].Identity)
	require.Equal(t, "zwei\n", line(b, states[q.Identity].Plan, 2))
}

func TestABaseInAForeignCommitsCloakIsNobodysCandidate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	ov := git.NewOverlay(b.git)
	honest, err := b.engine.Plan(t.Context(), base, p)
	require.NoError(t, err)
	b.keep(honest.Objects)
	commit, err := honest.Objects.ReadCommit(t.Context(), honest.Decision.Candidate.Commit)
	require.NoError(t, err)
	commit.Author.Name = "Somebody Else"
	forged := ov.PutCommit(*commit)
	b.keep(ov)
	q := b.make(forged, tree.with(texts{"f": ten("two", "TWO")}), texts{"f": ten("two", "again")}, nil)
	_, states := b.state(at(base, p, q))
	require.Equal(t, []string{"candidate", "waiting:base_unrelated"}, outcomes(states, p, q))
}

func TestABaseOnARoundsChainDependsOnAllThatTheChainHolds(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	tree := texts{"f": tenLines, "g": tenLines}
	base := b.commit("", tree)
	p := b.make(base, tree, texts{"f": ten("two", "TWO")}, nil)
	q := b.make(base, tree, texts{"g": ten("two", "TWO")}, nil)
	_, states := b.state(at(base, p, q))
	round, err := b.engine.ComposeRound(t.Context(), base, []*coordinator.Plan{states[p.Identity].Plan, states[q.Identity].Plan})
	require.NoError(t, err)
	b.keep(round.Objects)
	r := b.make(round.Head, texts{"f": ten("two", "TWO"), "g": ten("two", "TWO")}, texts{"new": "n\n"}, nil)
	_, states = b.state(at(base, p, q, r))
	require.Equal(t, []string{"candidate", "candidate", "candidate"}, outcomes(states, p, q, r))
	require.Len(t, states[r.Identity].Decision.Dependencies, 2)
	require.Equal(t, round.Head, states[r.Identity].Decision.Candidate.Parent)
}
