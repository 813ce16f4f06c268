package coordinator_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkDecideTwentySourceFiles decides a patch to twenty source files that the target has changed too. Under a name that
// no grammar knows the same files are only merged: the difference is what comparing symbols costs.
func BenchmarkDecideTwentySourceFiles(b *testing.B) {
	for _, extension := range []string{"go", "unknown"} {
		b.Run(extension, func(b *testing.B) {
			w := newBench(b)
			base, patch, target := sourceFiles(b, extension)
			from := w.commit("", base)
			s := w.make(from, base, patch, nil)
			to := w.commit(from, base.with(target))
			for b.Loop() {
				_, _, err := w.engineOf().Decide(b.Context(), to, s, nil)
				require.NoError(b, err)
			}
		})
	}
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
