package symbols_test

import (
	"fmt"
	"os"
	"testing"

	"patchd/ownership/symbols"
)

// BenchmarkOutline outlines a file of this package, in the process and through a child.
func BenchmarkOutline(b *testing.B) {
	text, err := os.ReadFile("pool.go")
	if err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	pool := symbols.NewPool(symbols.Options{Command: []string{exe, childMode}})
	b.Cleanup(func() { _ = pool.Close() })
	for name, outliner := range map[string]symbols.Outliner{"in_process": symbols.NewInProcess(0), "pool": pool} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := outliner.Outlines(b.Context(), []symbols.Request{{Path: "pool.go", Text: text}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkOutlineBatch outlines sixty files in one call, as a decision over twenty changed files asks for.
func BenchmarkOutlineBatch(b *testing.B) {
	text, err := os.ReadFile("extract.go")
	if err != nil {
		b.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	pool := symbols.NewPool(symbols.Options{Command: []string{exe, childMode}})
	b.Cleanup(func() { _ = pool.Close() })
	files := make([]symbols.Request, 60)
	for i := range files {
		files[i] = symbols.Request{Path: fmt.Sprintf("f%d.go", i), Text: text[:5000]}
	}
	for b.Loop() {
		if _, err := pool.Outlines(b.Context(), files); err != nil {
			b.Fatal(err)
		}
	}
}
