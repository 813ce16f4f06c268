package symbols_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/ownership/symbols"
)

var (
	filesOf = flag.String("files", "", "a checkout whose source files BenchmarkOutlineFiles outlines")
	suffix  = flag.String("suffix", "", "of these, only the files whose names end so")
)

// BenchmarkOutlineFiles outlines every source file of a real checkout, over and over: what a typical file costs, and whether
// memory grows. It measures nothing without -files; -suffix .go
// takes those of one language.
func BenchmarkOutlineFiles(b *testing.B) {
	if *filesOf == "" {
		b.Skip("needs -files DIR")
	}
	files := sources(b, *filesOf)
	outliner := symbols.NewInProcess(0)
	times := make([]time.Duration, 0, b.N)
	halfway := 0
	b.ResetTimer()
	for i := range b.N {
		start := time.Now() //nolint:forbidigo // a measurement
		_, err := outliner.Outlines(b.Context(), []symbols.Request{files[i%len(files)]})
		times = append(times, time.Since(start))
		require.NoError(b, err)
		if i == b.N/2 {
			halfway = residentKB(b)
		}
	}
	b.StopTimer()
	sizes := make([]int, len(files))
	for i, f := range files {
		sizes[i] = len(f.Text)
	}
	slices.Sort(sizes)
	slices.Sort(times)
	b.ReportMetric(float64(len(files)), "files")
	b.ReportMetric(float64(sizes[len(sizes)/2])/1000, "median-KB")
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, "median-ms")
	b.ReportMetric(float64(times[len(times)*9/10].Microseconds())/1000, "p90-ms")
	b.ReportMetric(float64(halfway)/1000, "halfway-MB")
	b.ReportMetric(float64(residentKB(b))/1000, "end-MB")
}

// sources reads the files that have a grammar, in a mixed order that is always the same.
func sources(tb testing.TB, dir string) []symbols.Request {
	tb.Helper()
	languages := symbols.NewLanguages()
	var files []symbols.Request
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return filepath.SkipDir
		case !entry.Type().IsRegular() || languages.Version(path) == "" || !strings.HasSuffix(path, *suffix):
			return nil
		}
		text, err := os.ReadFile(path)
		if err == nil && len(text) > 0 && len(text) <= symbols.DefaultMaxBytes {
			files = append(files, symbols.Request{Path: path, Text: text})
		}
		return err
	})
	require.NoError(tb, err)
	require.NotEmpty(tb, files)
	slices.SortFunc(files, func(a, b symbols.Request) int { return strings.Compare(reversed(a.Path), reversed(b.Path)) })
	return files
}

func reversed(s string) string {
	b := []byte(s)
	slices.Reverse(b)
	return string(b)
}

// residentKB is the process's resident memory.
func residentKB(tb testing.TB) int {
	tb.Helper()
	var size, resident int
	text, err := os.ReadFile("/proc/self/statm")
	require.NoError(tb, err)
	_, err = fmt.Sscan(string(text), &size, &resident)
	require.NoError(tb, err)
	return resident * os.Getpagesize() / 1000
}
