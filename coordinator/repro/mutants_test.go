package repro_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/coordinator/repro"
	"patchd/coordinator/service"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// mutant is a coordinator that decides by what must not decide. What it does not change is the real one's.
type mutant struct {
	repro.Coordinator
	svc *service.Service
	mu  sync.Mutex
	// arrived is the order in which identities came, labels what they came as.
	arrived []coordinator.Identity
	labels  map[coordinator.Identity]coordinator.PatchID
	objects string // where the run's own are
	sealed  *service.Round
}

func (m *mutant) Submit(ctx context.Context, in service.Submission) (*service.Receipt, error) {
	r, err := m.Coordinator.Submit(ctx, in)
	if err == nil && r.Identity != "" {
		m.mu.Lock()
		defer m.mu.Unlock()
		if !slices.Contains(m.arrived, r.Identity) {
			m.arrived = append(m.arrived, r.Identity)
			m.labels[r.Identity] = r.PatchID
		}
	}
	return r, err
}

// opening gives the mutants that mutate makes of real services; one run's mutant outlives the service's restarts.
func opening(mutate func(*mutant) repro.Coordinator) repro.Open {
	var mu sync.Mutex
	byDir := map[string]*mutant{}
	return func(ctx context.Context, c service.Config) (repro.Coordinator, func() error, error) {
		svc, stop, err := repro.Serve(ctx, c)
		if err != nil {
			return nil, nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		m := byDir[c.Repos[0].Dir]
		if m == nil {
			m = &mutant{labels: map[coordinator.Identity]coordinator.PatchID{}, objects: filepath.Join(c.Repos[0].Dir, "objects")}
			byDir[c.Repos[0].Dir] = m
		}
		m.Coordinator, m.svc = svc, svc.(*service.Service)
		return mutate(m), stop, nil
	}
}

// preferring settles contention by itself, for the patch that comes before all that it contends with.
type preferring struct {
	*mutant
	before func(a, b coordinator.Identity) bool
}

func (p preferring) Quiet(ctx context.Context, repo string, ref git.Ref) (coordinator.Digest, error) {
	if _, err := p.Coordinator.Quiet(ctx, repo, ref); err != nil {
		return "", err
	}
	state, err := p.State(ctx, repo, ref)
	if err != nil {
		return "", err
	}
	for _, st := range state.Patches {
		wins := len(st.Contention) > 0
		for _, x := range st.Contention {
			wins = wins && p.before(st.Identity, coordinator.Identity(x.With))
		}
		if !wins {
			continue
		}
		by := service.Credential{Name: "mutant", Scopes: service.Scopes()}
		_, err := p.svc.Resolve(ctx, service.ResolveRequest{By: by, Key: string(st.Identity), Action: coordinator.ActionChoose, Why: "it is preferred"})
		if err != nil {
			return "", err
		}
	}
	return p.Coordinator.Quiet(ctx, repo, ref)
}

// caught requires that the comparison finds a difference, in words that say this.
func (b *bench) caught(open repro.Open, words string) {
	b.t.Helper()
	b.config.Open = open
	r := b.run()
	require.False(b.t, r.Agree)
	require.Contains(b.t, r.Difference, words)
}

func contending(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, gittest.Tree{"f": tenLines})
	b.add("a", edited("two", "TWO"), nil)
	b.add("b", edited("two", "2"), nil)
	b.add("c", edited("nine", "NINE"), nil)
	return b
}

func TestFirstArrivalWinsIsCaught(t *testing.T) {
	t.Parallel()
	contending(t).caught(opening(func(m *mutant) repro.Coordinator {
		return preferring{m, func(a, b coordinator.Identity) bool { return slices.Index(m.arrived, a) < slices.Index(m.arrived, b) }}
	}), `is "candidate" instead of "conflict"`)
}

func TestSmallestLabelWinsIsCaught(t *testing.T) {
	t.Parallel()
	contending(t).caught(opening(func(m *mutant) repro.Coordinator {
		return preferring{m, func(a, b coordinator.Identity) bool { return m.labels[a] < m.labels[b] }}
	}), `is "candidate" instead of "conflict"`)
}

// folding composes a round by merging one candidate after another in order of arrival, which every pair survives.
type folding struct {
	*mutant
	repo *gittest.Repo
	base string
}

func (f folding) Seal(context.Context, service.SealRequest) (*service.Round, error) {
	return &service.Round{Number: 1}, nil
}

func (f folding) WaitRound(ctx context.Context, _ string, _ git.Ref, _ int64) (*service.Round, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := f.base
	r := &service.Round{Number: 1, Status: "ready"}
	for _, id := range f.arrived {
		p, err := f.svc.Patch(ctx, "", "", string(id))
		if err != nil {
			return nil, err
		}
		if p.Candidate == "" || p.State == service.StateWithdrawn {
			continue
		}
		objects := "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + f.objects
		tree, err := f.repo.Try([]string{objects}, "merge-tree", "--write-tree", at, string(p.Candidate)) //nolint:contextcheck // the test's own
		if err != nil {
			return nil, err
		}
		commit, err := f.repo.Try([]string{objects}, "commit-tree", "-p", at, "-p", string(p.Candidate), "-m", "fold", strings.TrimSpace(string(tree))) //nolint:contextcheck // the test's own
		if err != nil {
			return nil, err
		}
		at, r.Tree = strings.TrimSpace(string(commit)), git.OID(strings.TrimSpace(string(tree)))
	}
	return r, nil
}

func (f folding) Land(context.Context, service.Credential, string, git.Ref, int64) (*service.Round, error) {
	return &service.Round{}, nil
}

func TestFoldingOnePatchAfterAnotherIsCaught(t *testing.T) {
	t.Parallel()
	file := strings.ReplaceAll("} a a a } a } b }", " ", "\n") + "\n"
	b := newBench(t, gittest.Tree{"f": file})
	b.add("alters", gittest.Tree{"f": strings.Replace(file, "}\na\n", "}\nA\n", 1)}, nil)
	b.add("inserts-a", gittest.Tree{"f": strings.Replace(file, "a\na\na\n", "a\na\na\na\n", 1)}, nil)
	b.add("inserts-brace", gittest.Tree{"f": strings.Replace(file, "}\na\na\n", "}\na\na\n}\n", 1)}, nil)
	honest := b.run()
	require.Empty(t, honest.Difference)
	b.caught(opening(func(m *mutant) repro.Coordinator { return folding{m, b.Repo, b.base} }), "composed tree")
}

// hasty seals whatever does not contend at that moment, and waits for no check.
type hasty struct{ *mutant }

func (h hasty) Seal(ctx context.Context, in service.SealRequest) (*service.Round, error) {
	state, err := h.State(ctx, in.Repo, in.Target)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.sealed = &service.Round{Number: 1, Status: "ready"}
	for _, st := range state.Patches {
		if len(st.Contention) == 0 && (st.Due || st.Outcome == coordinator.OutcomeCandidate) {
			h.sealed.Members = append(h.sealed.Members, service.RoundMember{Identity: st.Identity, Status: "sealed"})
		}
	}
	return h.sealed, nil
}

func (h hasty) WaitRound(context.Context, string, git.Ref, int64) (*service.Round, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sealed, nil
}

func (h hasty) Land(context.Context, service.Credential, string, git.Ref, int64) (*service.Round, error) {
	return &service.Round{}, nil
}

func TestSealingWithoutWaitingForTheSlowCheckIsCaught(t *testing.T) {
	t.Parallel()
	b := newBench(t, gittest.Tree{
		"f": tenLines, "check.sh": "sleep 0.3\n",
		".patchd.yml": "version: 1\nchecks:\n  allow: [\"sh **\"]\n  rules: [{paths: [\"f\"], run: [\"sh check.sh\"]}]\n",
	})
	// the first and the third by identity are sealed before the second is admitted
	for n := 0; ; n++ {
		b.config.Patches = nil
		b.add("slow", edited("two", "TWO"), map[string]any{"title": fmt.Sprintf("slow %d", n)})
		b.add("meets", edited("two", "2"), nil)
		b.add("other", gittest.Tree{"g": "g\n"}, nil)
		if b.between("other", "slow", "meets") {
			break
		}
	}
	b.config.Orders = 8
	b.caught(opening(func(m *mutant) repro.Coordinator { return hasty{m} }), "the round holds")
	b.config.Open, b.config.Orders = nil, 8
	require.Empty(t, b.run().Difference, "the real one waits")
}

// between reports whether a patch stands between two others in the order of identities.
func (b *bench) between(name string, others ...string) bool {
	ids := map[string]coordinator.Identity{}
	for _, p := range b.config.Patches {
		s, err := coordinator.Admit(p.Manifest, p.Diff)
		require.NoError(b.t, err)
		ids[p.Name] = s.Identity
	}
	lower := min(ids[others[0]], ids[others[1]])
	upper := max(ids[others[0]], ids[others[1]])
	return lower < ids[name] && ids[name] < upper
}
