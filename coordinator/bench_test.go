package coordinator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/ownership/symbols"
)

const pendingPatches = 300

// crowd is a set of 300 pending patches, n of which edit one file in places apart, at a target
// that has touched every file since.
func crowd(tb testing.TB, b *bench, n int) coordinator.Inputs {
	tb.Helper()
	lines := make([]string, 8*n+8)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d\n", i)
	}
	file := strings.Join(lines, "")
	tree := texts{"other": "o\n"}
	name := func(i int) string { return fmt.Sprintf("d%d/f%d.txt", i/n%7, i/n) }
	for i := range pendingPatches {
		tree[name(i)] = file
	}
	base := b.commit("", tree)
	var list []*coordinator.Submission
	for i := range pendingPatches {
		at := 8*(i%n) + 4
		change := texts{name(i): strings.Replace(file, lines[at], "changed\n", 1)}
		list = append(list, b.make(base, texts{name(i): file}, change, map[string]any{"title": fmt.Sprint("p", i)}))
	}
	moved := texts{"other": "O\n"}
	for i := range pendingPatches {
		moved[name(i)] = "first\n" + file
	}
	in := at(base, list...)
	in.Target = b.commit(base, tree.with(moved))
	return in
}

// changelog is a set of 300 pending patches, each of which edits a file of its own and adds a line to one changelog.
func changelog(tb testing.TB, b *bench, policy string) coordinator.Inputs {
	tb.Helper()
	tree := texts{coordinator.PolicyPath: policy, "CHANGES": "# Changes\n\n* old\n"}
	for i := range pendingPatches {
		tree[fmt.Sprintf("f%d", i)] = tenLines
	}
	base := b.commit("", tree)
	var list []*coordinator.Submission
	for i := range pendingPatches {
		name := fmt.Sprintf("f%d", i)
		from := texts{name: tenLines, "CHANGES": tree["CHANGES"]}
		list = append(list, b.make(base, from, texts{name: ten("two", "TWO"), "CHANGES": fmt.Sprintf("# Changes\n\n* %d\n* old\n", i)}, nil))
	}
	return at(base, list...)
}

// BenchmarkStateWithOneChangelog works out a set that meets in one file, as a union path and as any other.
func BenchmarkStateWithOneChangelog(b *testing.B) {
	for name, policy := range map[string]string{"union": "version: 1\nmerge:\n  union: [CHANGES]\n", "contended": "version: 1\n"} {
		b.Run(name, func(b *testing.B) {
			w := newBench(b)
			in := changelog(b, w, policy)
			for b.Loop() {
				_, _, err := w.engineOf().State(b.Context(), in)
				require.NoError(b, err)
			}
		})
	}
}

func (b *bench) engineOf() *coordinator.Engine {
	return coordinator.NewEngine(coordinator.EngineConfig{Repo: b.git, Outlines: symbols.NewInProcess(0)})
}

// BenchmarkStateAtAFreshTarget plans 300 pending patches again, as when the target moves; the figure is for the whole set.
func BenchmarkStateAtAFreshTarget(b *testing.B) {
	for _, n := range []int{1, 4, 20} {
		b.Run(fmt.Sprintf("%d_patches_a_file", n), func(b *testing.B) {
			w := newBench(b)
			in := crowd(b, w, n)
			for b.Loop() {
				s, _, err := w.engineOf().State(b.Context(), in)
				require.NoError(b, err)
				require.Equal(b, coordinator.OutcomeCandidate, s.Patches[0].Outcome)
			}
		})
	}
}

// BenchmarkStateWithOneNewMember works a set out again of which all but one patch is known.
func BenchmarkStateWithOneNewMember(b *testing.B) {
	w := newBench(b)
	in := crowd(b, w, 4)
	engine := w.engineOf()
	_, _, err := engine.State(b.Context(), in)
	require.NoError(b, err)
	fresh := 0
	members := in.Members
	for b.Loop() {
		b.StopTimer()
		fresh++
		change := texts{fmt.Sprintf("new%d", fresh): "n\n"}
		in.Members = append(members[:len(members):len(members)], coordinator.Member{Submission: w.make(members[0].Submission.Manifest.BaseCommit, texts{}, change, nil)})
		b.StartTimer()
		_, _, err := engine.State(b.Context(), in)
		require.NoError(b, err)
	}
}

// BenchmarkComposeRound composes a round of 300 patches, four of them in each file.
func BenchmarkComposeRound(b *testing.B) {
	w := newBench(b)
	in := crowd(b, w, 4)
	engine := w.engineOf()
	_, states, err := engine.State(b.Context(), in)
	require.NoError(b, err)
	var plans []*coordinator.Plan
	for _, id := range coordinator.Sealable(states) {
		plans = append(plans, states[id].Plan)
	}
	require.Len(b, plans, pendingPatches)
	for b.Loop() {
		_, err := engine.ComposeRound(b.Context(), in.Target, plans)
		require.NoError(b, err)
	}
}
