package ownership_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/ownership"
	"patchd/ownership/symbols"
)

// program draws a small Python module as a list of blocks.
func program(t *rapid.T) [][]string {
	n := rapid.IntRange(1, 5).Draw(t, "functions")
	var blocks [][]string
	for i := range n {
		block := []string{fmt.Sprintf("def f%d(a, b):", i)}
		for k := range rapid.IntRange(1, 6).Draw(t, "lines") {
			block = append(block, fmt.Sprintf("    v%d = f%d(a, %d)", k, rapid.IntRange(0, 5).Draw(t, "callee"), k))
		}
		blocks = append(blocks, append(block, "    return v0", ""))
	}
	return blocks
}

// change draws what a side does to a module: edits, renames, moves, deletions, additions.
func change(t *rapid.T, blocks [][]string) [][]string {
	var out [][]string
	for _, b := range blocks {
		out = append(out, slices.Clone(b))
	}
	for range rapid.IntRange(0, 4).Draw(t, "steps") {
		if len(out) == 0 {
			break
		}
		i := rapid.IntRange(0, len(out)-1).Draw(t, "which")
		switch rapid.IntRange(0, 5).Draw(t, "step") {
		case 0:
			k := rapid.IntRange(1, len(out[i])-1).Draw(t, "line")
			out[i][k] = fmt.Sprintf("    w = a + %d", rapid.IntRange(0, 9).Draw(t, "value"))
		case 1:
			out[i][0] = fmt.Sprintf("def g%d(a, b):", rapid.IntRange(0, 3).Draw(t, "name"))
		case 2:
			out[i][0] = strings.Replace(out[i][0], "b)", "b, c)", 1)
		case 3:
			out = slices.Delete(out, i, i+1)
		case 4:
			out = append(out, []string{fmt.Sprintf("def h%d(a):", rapid.IntRange(0, 2).Draw(t, "new")), fmt.Sprintf("    return f%d(a, a)", rapid.IntRange(0, 4).Draw(t, "callee")), ""})
		case 5:
			block := out[i]
			out = append(slices.Delete(out, i, i+1), block)
		}
	}
	return out
}

func moduleText(blocks [][]string) string {
	var b strings.Builder
	for _, block := range blocks {
		b.WriteString(strings.Join(block, "\n") + "\n")
	}
	return b.String()
}

func TestSwappingTheSidesChangesNothingElse(t *testing.T) {
	t.Parallel()
	outliner := symbols.NewInProcess(0)
	rapid.Check(t, func(t *rapid.T) {
		var in ownership.Input
		for _, name := range []string{"a.py", "b.py"} {
			blocks := program(t)
			base := version(name, moduleText(blocks))
			in.Files = append(in.Files, file(base, version(name, moduleText(change(t, blocks))), version(name, moduleText(change(t, blocks)))))
		}
		in.LeftName, in.RightName = "left", "right"
		in.SameSymbol = rapid.SampledFrom([]ownership.SameSymbol{ownership.SameSymbolReview, ownership.SameSymbolDependent}).Draw(t, "policy")
		got, err := ownership.Classify(t.Context(), outliner, in)
		require.NoError(t, err)
		other, err := ownership.Classify(t.Context(), outliner, swap(in))
		require.NoError(t, err)
		require.Equal(t, details(got.Reasons), details(turned(other.Reasons)))
		require.Equal(t, details(got.Coupled), details(turned(other.Coupled)))
		require.Equal(t, got.Degraded, other.Degraded)
		slices.Reverse(in.Files)
		again, err := ownership.Classify(t.Context(), outliner, in)
		require.NoError(t, err)
		require.Equal(t, got, again, "the order of the files does not matter")
	})
}

func TestWhatBothSidesDoAlikeIsNoReason(t *testing.T) {
	t.Parallel()
	outliner := symbols.NewInProcess(0)
	rapid.Check(t, func(t *rapid.T) {
		blocks := program(t)
		base, result := version("a.py", moduleText(blocks)), version("a.py", moduleText(change(t, blocks)))
		got, err := ownership.Classify(t.Context(), outliner, ownership.Input{Files: []ownership.File{file(base, result, result)}})
		require.NoError(t, err)
		require.Empty(t, got.Reasons)
		require.Empty(t, got.Coupled)
	})
}

func TestOneSideAloneIsNoReason(t *testing.T) {
	t.Parallel()
	outliner := symbols.NewInProcess(0)
	rapid.Check(t, func(t *rapid.T) {
		blocks := program(t)
		base, result := version("a.py", moduleText(blocks)), version("a.py", moduleText(change(t, blocks)))
		got, err := ownership.Classify(t.Context(), outliner, ownership.Input{Files: []ownership.File{file(base, result, base)}})
		require.NoError(t, err)
		require.Empty(t, got.Reasons)
		require.Empty(t, got.Coupled)
	})
}
