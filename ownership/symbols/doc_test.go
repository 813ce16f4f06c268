package symbols_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/ownership/symbols"
)

func TestADocCommentWithEmptyLinesBelongsToItsSymbolWhole(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file, text, symbol string
		start              int
	}{
		{"A.java", "class A {\n    /**\n     Bounds the depth.\n\n     @param n the bound\n     */\n    void bound(int n) {\n    }\n}\n", "A.bound", 2},
		{"a.go", "package a\n\n/*\nbound bounds the depth.\n\nNone is 0.\n*/\nfunc bound(n int) {\n}\n", "bound", 3},
		{"a.ts", "const a = 1;\n\n/* eslint-disable\n\n   no-console */\nfunction bound() {\n}\n", "bound", 3},
	} {
		r, err := symbols.NewInProcess(0).Outlines(t.Context(), []symbols.Request{{Path: tc.file, Text: []byte(tc.text)}})
		require.NoError(t, err)
		require.NotNil(t, r[0].Outline)
		found := map[string]symbols.Lines{}
		for _, s := range r[0].Outline.Symbols {
			found[s.Path] = s.Lines
		}
		require.Contains(t, found, tc.symbol, tc.file)
		require.Equal(t, tc.start, found[tc.symbol].Start, tc.file)
	}
}
