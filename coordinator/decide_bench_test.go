package coordinator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
)

// BenchmarkDecideTwentySourceFiles decides a patch to twenty source files that the target has changed too, as a daemon does.
// Under a name that no grammar knows the same files are only merged: the difference is what comparing symbols costs. "cold"
// has not seen any version of the files before; "warm" has decided another patch to them on the same target.
func BenchmarkDecideTwentySourceFiles(b *testing.B) {
	for _, c := range []struct {
		name, extension string
		warm            bool
	}{{"merge", "unknown", false}, {"cold", "go", false}, {"warm", "go", true}} {
		b.Run(c.name, func(b *testing.B) {
			w := newBench(b)
			base, patch, target := sourceFiles(b, c.extension)
			from := w.commit("", base)
			s, before := w.make(from, base, patch, nil), w.make(from, base, base.with(newFiles()), nil)
			if c.warm {
				before = w.make(from, base, sameButLast(patch), nil)
			}
			to := w.commit(from, base.with(target))
			for b.Loop() {
				b.StopTimer()
				pool := newOutlinePool(b)
				engine := coordinator.NewEngine(coordinator.EngineConfig{Repo: w.git, Outlines: pool})
				_, _, err := engine.Decide(b.Context(), to, before, nil) // starts the parsers, too
				require.NoError(b, err)
				b.StartTimer()
				d, _, err := engine.Decide(b.Context(), to, s, nil)
				require.NoError(b, err)
				b.StopTimer()
				require.Equal(b, coordinator.OutcomeCandidate, d.Outcome, d.Conflict)
				require.Equal(b, c.extension != "go", len(d.Degraded) > 0)
				require.NoError(b, pool.Close())
				b.StartTimer()
			}
		})
	}
}

// newFiles are enough for every parser to be started.
func newFiles() texts {
	out := texts{}
	for i := range 12 {
		out[fmt.Sprintf("new/f%d.go", i)] = fmt.Sprintf("package new\n\nvar v%d = 1\n", i)
	}
	return out
}

// sameButLast gives other versions of the files.
func sameButLast(files texts) texts {
	out := texts{}
	for path, text := range files {
		out[path] = text + "\n// other\n"
	}
	return out
}

// sourceFiles gives twenty files of this module, and what a patch and the target make of them in different functions.
func sourceFiles(tb testing.TB, extension string) (base, patch, target texts) {
	tb.Helper()
	base, patch, target = texts{}, texts{}, texts{}
	found, err := filepath.Glob(filepath.Join("..", "ownership", "*.go"))
	require.NoError(tb, err)
	for _, name := range found {
		raw, err := os.ReadFile(name)
		require.NoError(tb, err)
		text := string(raw)
		const at = "\n\treturn "
		first, last := strings.Index(text, at), strings.LastIndex(text, at)
		if len(base) == 20 || last-first < 500 {
			continue
		}
		path := fmt.Sprintf("src/f%d.%s", len(base), extension)
		base[path] = text
		patch[path] = text[:first] + "\n\tfirst()" + text[first:]
		target[path] = text[:last] + "\n\tlast()" + text[last:]
	}
	require.Len(tb, base, 20)
	return base, patch, target
}
