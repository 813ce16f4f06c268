package symbols_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/ownership/symbols"
)

const childMode = "outline-worker"

var parses = flag.Int("parses", 500, "how many files TestMemoryOfAChildStaysFlat parses")

// TestMain lets this test binary be the child that a pool starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == childMode {
		if err := symbols.ServeChild(os.Stdin, os.Stdout); err != nil {
			os.Exit(1) //nolint:forbidigo // this is the child's main
		}
		os.Exit(0) //nolint:forbidigo // this is the child's main
	}
	goleak.VerifyTestMain(m)
}

func newPool(t *testing.T, opt symbols.Options) *symbols.Pool {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	opt.Command = []string{exe, childMode}
	p := symbols.NewPool(opt)
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return p
}

func TestPoolAgreesWithInProcess(t *testing.T) {
	t.Parallel()
	files := []symbols.Request{
		{Path: "a.go", Blob: "1", Text: []byte("package a\n\n// F is.\nfunc F(x int) { G(x, 2) }\n\ntype T struct{ a int }\n")},
		{Path: "a.py", Blob: "2", Text: []byte("import os\n\nclass A(B):\n    def f(self):\n        self.x = 1\n")},
		{Path: "README", Blob: "3", Text: []byte("text\n")},
		{Path: "b.ts", Blob: "4", Text: []byte("export const f = (a: string) => a;\n(((\n")},
	}
	want, err := symbols.NewInProcess(0).Outlines(t.Context(), files)
	require.NoError(t, err)
	p := newPool(t, symbols.Options{})
	got, err := p.Outlines(t.Context(), files)
	require.NoError(t, err)
	for i := range want {
		require.Equal(t, fmt.Sprintf("%+v", want[i].Outline), fmt.Sprintf("%+v", got[i].Outline), files[i].Path)
		require.Equal(t, want[i].Why, got[i].Why)
	}
	require.Equal(t, symbols.WhyNoGrammar, got[2].Why)
}

func TestPoolStartsNoChildBeforeAFileNeedsOne(t *testing.T) {
	t.Parallel()
	p := newPool(t, symbols.Options{})
	_, err := p.Outlines(t.Context(), []symbols.Request{{Path: "x.unknown", Text: []byte("a")}, {Path: "x.go", Text: []byte("a\x00")}})
	require.NoError(t, err)
	require.Zero(t, p.Started())
	for range 3 {
		r, err := p.Outline(t.Context(), symbols.Request{Path: "x.go", Blob: "b", Text: []byte("package x\n")})
		require.NoError(t, err)
		require.NotNil(t, r.Outline)
	}
	require.EqualValues(t, 1, p.Started())
}

func TestPoolRefusesACommandThatIsNoChild(t *testing.T) {
	t.Parallel()
	p := symbols.NewPool(symbols.Options{Command: []string{"/bin/cat"}})
	defer func() { require.NoError(t, p.Close()) }()
	_, err := p.Outline(t.Context(), symbols.Request{Path: "x.go", Text: []byte("package x\n")})
	require.ErrorContains(t, err, "outline child")
	missing := symbols.NewPool(symbols.Options{Command: []string{"/does/not/exist"}})
	defer func() { require.NoError(t, missing.Close()) }()
	_, err = missing.Outline(t.Context(), symbols.Request{Path: "x.go", Text: []byte("package x\n")})
	require.ErrorContains(t, err, "start outline child")
}

func TestPoolSurvivesHostileText(t *testing.T) {
	t.Parallel()
	hostile := map[string]symbols.Request{
		"java generics":    {Path: "A.java", Text: []byte(strings.Repeat("a<", 50_000))},
		"kotlin templates": {Path: "a.kt", Text: []byte(strings.Repeat(`"${`, 1_600))},
		"deep go":          {Path: "a.go", Text: []byte("package a\nvar x = " + strings.Repeat("(", 100_000) + "1" + strings.Repeat(")", 100_000) + "\n")},
		"deep js":          {Path: "a.js", Text: []byte(strings.Repeat("[", 100_000))},
		"deep python":      {Path: "a.py", Text: []byte("x = " + strings.Repeat("{", 100_000))},
		"deep ts":          {Path: "a.ts", Text: []byte("let x: " + strings.Repeat("A<", 20_000))},
	}
	for name, file := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPool(t, symbols.Options{MemoryBytes: 512 << 20, Timeout: 10 * time.Second})
			good := symbols.Request{Path: "good.go", Text: []byte("package good\n\nfunc F() {}\n")}
			results, err := p.Outlines(t.Context(), []symbols.Request{good, file, good})
			require.NoError(t, err)
			require.NotNil(t, results[0].Outline)
			require.NotNil(t, results[2].Outline)
			if o := results[1].Outline; o != nil {
				require.NotEmpty(t, o.Errors, "what was not looked at is an error")
			} else {
				require.NotEmpty(t, results[1].Why)
			}
			t.Log(results[1].Why, p.Started())
		})
	}
}

func TestPoolAnswersToACancelledContext(t *testing.T) {
	t.Parallel()
	p := newPool(t, symbols.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := p.Outline(ctx, symbols.Request{Path: "x.go", Text: []byte("package x\n")})
	require.ErrorIs(t, err, context.Canceled)
	_, err = p.Outline(t.Context(), symbols.Request{Path: "x.go", Text: []byte("package x\n")})
	require.NoError(t, err)
}

func TestPoolServesManyCallersAtOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t, symbols.Options{Workers: 3})
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			var files []symbols.Request
			for k := range 20 {
				files = append(files, symbols.Request{Path: "x.go", Text: fmt.Appendf(nil, "package x\n\nfunc F%d_%d() {}\n", i, k)})
			}
			results, err := p.Outlines(context.WithoutCancel(t.Context()), files)
			if err != nil || len(results) != 20 || results[7].Outline.Symbols[0].Name != fmt.Sprintf("F%d_7", i) {
				t.Errorf("caller %d: %v", i, err)
			}
		})
	}
	wait.Wait()
}

func TestPoolIsClosedOnce(t *testing.T) {
	t.Parallel()
	p := newPool(t, symbols.Options{})
	require.NoError(t, p.Close())
	require.NoError(t, p.Close())
	_, err := p.Outline(t.Context(), symbols.Request{Path: "x.go", Text: []byte("package x\n")})
	require.ErrorIs(t, err, symbols.ErrClosed)
}

func TestFilesThatAreNotParsedSayWhy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		file symbols.Request
		why  symbols.Why
	}{
		{"no grammar", symbols.Request{Path: "a.xyz", Text: []byte("a")}, symbols.WhyNoGrammar},
		{"ten megabytes", symbols.Request{Path: "a.go", Text: bytes.Repeat([]byte("// x\n"), 2<<20)}, symbols.WhyTooLarge},
		{"NUL", symbols.Request{Path: "a.go", Text: []byte("package a\x00")}, symbols.WhyNotText},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, err := symbols.NewInProcess(0).Outlines(t.Context(), []symbols.Request{c.file})
			require.NoError(t, err)
			require.Equal(t, c.why, r[0].Why)
		})
	}
}

func TestBOMAndCRLFDoNotMoveLines(t *testing.T) {
	t.Parallel()
	plain := "import os\n\n# about f\ndef f(a):\n    return a\n"
	p := symbols.NewInProcess(0)
	r, err := p.Outlines(t.Context(), []symbols.Request{
		{Path: "a.py", Text: []byte(plain)},
		{Path: "a.py", Text: []byte("\xef\xbb\xbf" + plain)},
		{Path: "a.py", Text: []byte(strings.ReplaceAll(plain, "\n", "\r\n"))},
	})
	require.NoError(t, err)
	for _, x := range r[1:] {
		require.Empty(t, x.Outline.Errors)
		require.Equal(t, r[0].Outline.Symbols, x.Outline.Symbols)
		require.Equal(t, r[0].Outline.Text, x.Outline.Text)
	}
}

func TestMemoryOfAChildStaysFlat(t *testing.T) {
	t.Parallel()
	if raceDetector {
		t.Skip("the race detector's own memory would count")
	}
	p := newPool(t, symbols.Options{Workers: 1, MemoryBytes: 256 << 20})
	text, err := os.ReadFile("extract.go")
	require.NoError(t, err)
	files := make([]symbols.Request, *parses)
	for i := range files {
		files[i] = symbols.Request{Path: "x.go", Text: text}
	}
	results, err := p.Outlines(t.Context(), files)
	require.NoError(t, err)
	for _, r := range results {
		require.NotNil(t, r.Outline)
	}
	require.LessOrEqual(t, p.Started(), int64(1+*parses/10_000), "a child that grew would have died")
}
