package ownership_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/ownership"
	"patchd/ownership/symbols"
)

const hunkBase = `package a

// Parse reads.
func Parse(s string) int {
	a := len(s)
	return a
}

func Other() int {
	return 1
}

var x = 1
`

func own(t *testing.T, result string, declared ...ownership.Hunk) (*ownership.Claim, error) {
	t.Helper()
	base, after := version("a.go", hunkBase), version("a.go", result)
	touch := ownership.Touch{Op: "modify", Base: base, Result: after, Edits: editsOf(base, after)}
	return ownership.Own(t.Context(), symbols.NewInProcess(0), []ownership.Touch{touch}, declared)
}

func edited(from, to string) string {
	return replaceOnce(hunkBase, from, to)
}

func TestOwnedHunksAreDerivedFromDiffAndTree(t *testing.T) {
	t.Parallel()
	claim, err := own(t, edited("len(s)", "len(s) + 1"))
	require.NoError(t, err)
	require.Equal(t, []ownership.Footprint{{Path: "a.go", Op: "modify", Start: 5, End: 5, Symbol: "Parse"}}, claim.Footprint)
	claim, err = own(t, edited("var x", "func New() {}\n\nvar x"))
	require.NoError(t, err)
	require.Equal(t, []ownership.Footprint{{Path: "a.go", Op: "modify", Start: 13, End: 12, Symbol: "New"}}, claim.Footprint)
}

func TestDeclaredHunksAreHeldAgainstBaseAndDiff(t *testing.T) {
	t.Parallel()
	change := edited("len(s)", "len(s) + 1")
	for _, c := range []struct {
		name   string
		hunk   ownership.Hunk
		result string
		code   ownership.Code
		line   int
		value  string
		want   string
	}{
		{name: "range and symbol are right", hunk: ownership.Hunk{Path: "a.go", Start: 4, End: 7, Symbol: "Parse"}, result: change},
		{name: "a blank line around the symbol does no harm", hunk: ownership.Hunk{Path: "a.go", Start: 2, End: 8, Symbol: "Parse"}, result: change},
		{name: "no symbol declared", hunk: ownership.Hunk{Path: "a.go", Start: 5, End: 5}, result: change},
		{
			name: "an edit outside", hunk: ownership.Hunk{Path: "a.go", Start: 9, End: 11, Symbol: "Other"}, result: change,
			code: ownership.CodeHunkNotOwned, line: 5, value: "9-11", want: "lines 5 to 5",
		},
		{
			name: "another symbol", hunk: ownership.Hunk{Path: "a.go", Start: 4, End: 7, Symbol: "Other"}, result: change,
			code: ownership.CodeOwnedHunkStale, line: 4, value: "Other", want: `"Parse"`,
		},
		{
			name: "two symbols", hunk: ownership.Hunk{Path: "a.go", Start: 4, End: 11, Symbol: "Parse"}, result: change,
			code: ownership.CodeOwnedHunkStale, line: 4, value: "Parse", want: "no symbol",
		},
		{
			name: "beyond the file", hunk: ownership.Hunk{Path: "a.go", Start: 4, End: 700, Symbol: "Parse"}, result: change,
			code: ownership.CodeOwnedHunkStale, line: 4, value: "4-700", want: "1-13",
		},
		{
			name: "a path that the diff does not touch", hunk: ownership.Hunk{Path: "b.go", Start: 1, End: 1}, result: change,
			code: ownership.CodeOwnedHunkStale, line: 1, value: "b.go", want: "the diff touches",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := own(t, c.result, c.hunk)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			var stale *ownership.HunkError
			require.ErrorAs(t, err, &stale)
			require.Equal(t, c.code, stale.Code)
			require.Equal(t, c.line, stale.Line)
			require.Equal(t, c.value, stale.Value)
			require.Contains(t, stale.Want, c.want)
			require.Equal(t, c.hunk.Path, stale.Path)
		})
	}
}

func TestADeclaredSymbolIsNotCheckedWithoutAGrammar(t *testing.T) {
	t.Parallel()
	base, after := version("a.unknown", "a\nb\nc\n"), version("a.unknown", "a\nB\nc\n")
	touch := ownership.Touch{Op: "modify", Base: base, Result: after, Edits: editsOf(base, after)}
	claim, err := ownership.Own(t.Context(), symbols.NewInProcess(0), []ownership.Touch{touch}, []ownership.Hunk{{Path: "a.unknown", Start: 2, End: 2, Symbol: "b"}})
	require.NoError(t, err)
	require.Equal(t, []ownership.Degraded{{Path: "a.unknown", Why: symbols.WhyNoGrammar}}, claim.Degraded)
}
