package coordinator_test

import (
	"encoding/json"
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/coordinator"
	"patchd/ownership/symbols"
	"patchd/worktree/diff"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// outlineMode makes the test program an outline child.
const outlineMode = "outline-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == outlineMode {
		if err := symbols.ServeChild(os.Stdin, os.Stdout); err != nil {
			os.Exit(1) //nolint:forbidigo // this is the child's main
		}
		os.Exit(0) //nolint:forbidigo // this is the child's main
	}
	goleak.VerifyTestMain(m)
}

// newOutlinePool is how a daemon outlines files.
func newOutlinePool(tb testing.TB) *symbols.Pool {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	return symbols.NewPool(symbols.Options{Command: []string{self, outlineMode}})
}

// bench is one repository with an engine over it.
type bench struct {
	*gittest.Repo
	t      testing.TB
	git    *git.Repo
	engine *coordinator.Engine
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	r := gittest.New(tb)
	r.Commit("start", gittest.Tree{"README": "start\n"})
	return openBench(tb, r)
}

func openBench(tb testing.TB, r *gittest.Repo) *bench {
	tb.Helper()
	repo, err := git.Open(tb.Context(), r.Dir(), git.Options{Scratch: tb.TempDir()})
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, repo.Close()) })
	engine := coordinator.NewEngine(coordinator.EngineConfig{Repo: repo, Outlines: symbols.NewInProcess(0)})
	return &bench{Repo: r, t: tb, git: repo, engine: engine}
}

// submit makes a submission of a diff on a base; more overrides manifest fields.
func (b *bench) submit(base string, patch []byte, more map[string]any) *coordinator.Submission {
	b.t.Helper()
	fields := map[string]any{
		"patch_id": "p", "base_commit": base, "paths": pathsOf(patch), "owned_hunks": []any{}, "required_checks": []any{}, "diff_sha256": coordinator.SHA256(patch),
	}
	maps.Copy(fields, more)
	raw, err := json.Marshal(fields)
	require.NoError(b.t, err)
	s, err := coordinator.Admit(raw, patch)
	require.NoError(b.t, err)
	return s
}

// pathsOf is what a well-formed diff touches; nothing where it is not.
func pathsOf(patch []byte) []string {
	p, err := diff.Parse(patch, diff.DefaultLimits())
	if err != nil {
		return []string{}
	}
	set := map[string]bool{}
	for _, f := range p.Files {
		if f.Op != diff.OpCopy {
			set[f.Old] = true
		}
		set[f.New] = true
	}
	delete(set, "")
	out := []string{}
	for path := range set {
		out = append(out, path)
	}
	return out
}

func (b *bench) decide(target string, s *coordinator.Submission) *coordinator.Decision {
	b.t.Helper()
	d, _, err := b.engine.Decide(b.t.Context(), git.OID(target), s, nil)
	require.NoError(b.t, err)
	return d
}

const tenLines = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"

func edited(from, to string) string { return strings.Replace(tenLines, from+"\n", to, 1) }

func TestAPatchApartFromWhatLandedIsACandidate(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines, "g": "g\n"})
	patch := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n"), "new": "n\n"})
	target := b.Commit("landed", gittest.Tree{"f": edited("nine", "NINE\n"), "g": gittest.Deleted})

	d := b.decide(target, b.submit(base, patch, map[string]any{"title": "Two", "message": "Why."}))
	require.Equal(t, coordinator.OutcomeCandidate, d.Outcome, "%+v", d)
	require.Equal(t, coordinator.StageAccepted, d.Stage)
	require.Equal(t, []*bool{new(true), new(true), nil}, []*bool{d.Validity.ProtocolValid, d.Validity.PatchValid, d.Validity.ChecksValid})
	require.Equal(t, "not_evaluated", d.Validity.Semantic)
	require.Equal(t, git.OID(target), d.Candidate.Parent)
	require.Equal(t, "commits", d.Rules.SinceBase)

	plan, err := b.engine.Plan(t.Context(), git.OID(target), b.submit(base, patch, map[string]any{"title": "Two", "message": "Why."}))
	require.NoError(t, err)
	commit, err := plan.Objects.ReadCommit(t.Context(), d.Candidate.Commit)
	require.NoError(t, err)
	require.Equal(t, "Two\n\nWhy.\n\nPatch-Identity: "+string(d.Patch.Identity)+"\nPatch-Base: "+base+"\nPatch-Digest: sha256:"+string(d.Patch.DiffSHA256)+"\n", commit.Message)
	entry, err := git.Lookup(t.Context(), plan.Objects, d.Candidate.Tree, "f")
	require.NoError(t, err)
	content, err := plan.Objects.ReadBlob(t.Context(), entry.OID)
	require.NoError(t, err)
	require.Equal(t, strings.Replace(edited("two", "TWO\n"), "nine", "NINE", 1), string(content))
}

func TestOneDecisionHasOneDigestWhateverItsLabels(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines})
	patch := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	target := b.Commit("landed", gittest.Tree{"f": edited("two", "2\n")})
	first := b.decide(target, b.submit(base, patch, map[string]any{"patch_id": "a", "metadata": map[string]any{"agent": "x"}}))
	second := b.decide(target, b.submit(base, patch, map[string]any{"patch_id": "b", "on_conflict": "merge", "client_request_id": "k"}))
	require.Equal(t, first.PlanDigest, second.PlanDigest)
	require.Equal(t, first.DecisionDigest, second.DecisionDigest)
	require.NotEmpty(t, first.DecisionDigest)
}

func TestAConflictNamesLinesAndCarriesTheMerge(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines})
	patch := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	target := b.Commit("landed", gittest.Tree{"f": edited("two", "2\n")})
	d := b.decide(target, b.submit(base, patch, nil))
	require.Equal(t, coordinator.OutcomeConflict, d.Outcome)
	require.Equal(t, coordinator.ClassTextual, d.Conflict.Class)
	require.Equal(t, []coordinator.Code{coordinator.CodeSameLines}, d.Codes())
	r := d.Conflict.Reasons[0]
	require.Equal(t, coordinator.LineRange{2, 2}, *r.BaseLines)
	require.Equal(t, coordinator.LineRange{2, 2}, *r.TargetLines)
	require.Equal(t, target, r.With)
	require.True(t, d.Conflict.Merge.HasMarkers)
	require.Equal(t, "f", d.Conflict.Merge.Files[0].Path)
	require.Equal(t, []*bool{new(true), new(false), nil}, []*bool{d.Validity.ProtocolValid, d.Validity.PatchValid, d.Validity.ChecksValid})
}
