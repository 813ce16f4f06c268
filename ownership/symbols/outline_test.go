package symbols_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/ownership/symbols"
)

var update = flag.Bool("update", false, "write the outlines that are found as those that are expected")

// TestOutlineOfAFileInEachLanguage compares the outline of each file in testdata/ownership/outline with the one
// beside it, which says by hand-checked lines what the language's table must find.
func TestOutlineOfAFileInEachLanguage(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "..", "testdata", "ownership", "outline")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	seen := map[symbols.Language]bool{}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".outline") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		r, err := symbols.NewInProcess(0).Outlines(t.Context(), []symbols.Request{{Path: e.Name(), Text: text}})
		require.NoError(t, err)
		require.NotNil(t, r[0].Outline, e.Name())
		seen[r[0].Outline.Language] = true
		golden := filepath.Join(dir, e.Name()+".outline")
		got := render(r[0].Outline)
		if *update {
			require.NoError(t, os.WriteFile(golden, []byte(got), 0o600))
		}
		want, err := os.ReadFile(golden)
		require.NoError(t, err)
		require.Equal(t, string(want), got, e.Name())
	}
	require.Len(t, seen, 33, "every language has a file")
}

func render(o *symbols.Outline) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %d lines, errors %v\n", o.Language, o.Total, o.Errors)
	for _, s := range o.Symbols {
		fmt.Fprintf(&b, "%s %s", s.Kind, s.Path)
		if s.Ordinal > 0 {
			fmt.Fprintf(&b, " #%d", s.Ordinal)
		}
		fmt.Fprintf(&b, " [%d-%d]", s.Lines.Start, s.Lines.End)
		if !s.Body.Empty() {
			fmt.Fprintf(&b, " header %d-%d", s.Header.Start, s.Header.End)
		}
		if s.Params != "" {
			b.WriteString(" " + s.Params)
		}
		b.WriteByte('\n')
	}
	for _, im := range o.Imports {
		fmt.Fprintf(&b, "line %d brings in %q: %q of %q\n", im.Line, im.Name, im.Item, im.Module)
	}
	return b.String()
}
