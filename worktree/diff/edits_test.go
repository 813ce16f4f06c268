package diff

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// text draws a file of lines from a small alphabet, so that repeats and slides are common.
func text(letters string, most int) *rapid.Generator[[][]byte] {
	return rapid.Custom(func(t *rapid.T) [][]byte {
		picks := rapid.SliceOfN(rapid.SampledFrom([]byte(letters)), 0, most).Draw(t, "lines")
		var out [][]byte
		for _, c := range picks {
			out = append(out, []byte{c, '\n'})
		}
		if len(out) > 0 && rapid.Bool().Draw(t, "no newline at end") {
			out[len(out)-1] = out[len(out)-1][:1]
		}
		return out
	})
}

func lines(s string) [][]byte { return Lines([]byte(s)) }

func TestLinesKeepTerminators(t *testing.T) {
	t.Parallel()
	require.Empty(t, lines(""))
	require.Equal(t, [][]byte{[]byte("a\r\n"), []byte("\n"), []byte("b")}, lines("a\r\n\nb"))
	require.Equal(t, "a\r\n\nb", string(Join(lines("a\r\n\nb"))))
}

func TestEditsTurnBaseIntoResultAndStandApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, result := text("abcde", 40).Draw(t, "base"), text("abcde", 40).Draw(t, "result")
		edits := Edits(base, result)
		requireSound(t, base, result, edits)
		require.Equal(t, edits, Edits(base, result))
		require.Equal(t, edits, Canonical(base, edits), "canonical is a fixpoint of the diff")
	})
}

// requireSound asserts that the edits are sorted, apart from each other, change something and give result.
func requireSound(t require.TestingT, base, result [][]byte, edits []Edit) {
	for i, e := range edits {
		require.False(t, EqualLines(base[e.Start:e.End], e.New), "an edit changes something")
		if i > 0 {
			require.Greater(t, e.Start, edits[i-1].End, "an untouched line lies between two edits")
		}
	}
	require.True(t, EqualLines(result, Apply(base, edits)))
}

func TestCanonicalKeepsWhatReplaces(t *testing.T) {
	t.Parallel()
	base := lines("y\nx\nx\n")
	edits := []Edit{{0, 1, lines("x\n")}, {3, 3, lines("x\n}\n")}}
	require.Equal(t, edits, Canonical(base, edits), "the replaced line stays replaced although another alignment exists")
	require.Equal(t, []Edit{{3, 3, lines("x\n")}}, Canonical(base, []Edit{{1, 1, lines("x\n")}}))
	require.Equal(t, []Edit{{0, 2, lines("a\nb\n")}}, Canonical(base, []Edit{{0, 1, lines("a\n")}, {1, 2, lines("b\n")}}), "abutting edits are one")
	require.Empty(t, Canonical(base, []Edit{{0, 1, lines("y\n")}}))
}

func TestFallbackGivesSoundEdits(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, result := text("abc", 60).Draw(t, "base"), text("abc", 60).Draw(t, "result")
		a, b, ids := intern(base, result)
		d := newDiffer(a, b, ids)
		d.work = rapid.IntRange(0, 60).Draw(t, "work")
		d.run()
		m := align(a, b, d.changedA, d.changedB)
		m.compact()
		requireSound(t, base, result, m.edits(result))
	})
}

func TestHugeAndRepetitiveFilesAreBounded(t *testing.T) {
	t.Parallel()
	equal := bytes.Repeat([]byte("x\n"), 1_000_000)
	var mixed, other bytes.Buffer
	for i := range 200_000 {
		fmt.Fprintf(&mixed, "%d\n%d\n", i, i%7)
		fmt.Fprintf(&other, "%d\n%d\n", i*2, i%5)
	}
	for _, c := range []struct{ name, base, result string }{
		{"a million equal lines, one more", string(equal), string(equal) + "x\n"},
		{"a million equal lines, one replaced", string(equal), string(equal[:1_000_000]) + "y\n" + string(equal[1_000_002:])},
		{"everything rewritten", mixed.String(), other.String()},
		{"nothing in common", mixed.String(), strings.ReplaceAll(mixed.String(), "\n", "!\n")},
		{"half of all lines", mixed.String(), string(equal)},
	} {
		base, result := lines(c.base), lines(c.result)
		requireSound(t, base, result, Edits(base, result))
	}
}

func TestReachIsTheWholeSlideRange(t *testing.T) {
	t.Parallel()
	base := lines("a\nx\nx\nx\nb\n")
	x := lines("x\n")
	require.Equal(t, Span{1, 4}, Reach(base, Edit{2, 2, x}))
	require.Equal(t, Span{1, 4}, Reach(base, Edit{2, 3, nil}))
	require.Equal(t, Span{2, 3}, Reach(base, Edit{2, 3, lines("y\n")}), "a replacement does not slide")
	require.Equal(t, Span{0, 0}, Reach(nil, Edit{0, 0, x}))
	require.Equal(t, Span{0, 4}, Reach(lines("ab\ncd\nab\ncd\n"), Edit{2, 2, lines("ab\ncd\n")}), "a block slides with its lines turned")
	require.Equal(t, Edit{0, 0, lines("ab\ncd\n")}, Topmost(lines("ab\ncd\nab\ncd\n"), Edit{3, 3, lines("cd\nab\n")}))
}

func TestEveryPlaceInReachGivesTheSameResult(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base := text("ab", 12).Draw(t, "base")
		gap := rapid.IntRange(0, len(base)).Draw(t, "gap")
		e := Edit{gap, gap, text("ab", 3).Draw(t, "new")}
		if !e.IsInsertion() {
			return
		}
		want, got := Apply(base, []Edit{e}), Topmost(base, e)
		require.True(t, EqualLines(want, Apply(base, []Edit{got})))
		require.Equal(t, Reach(base, e).Start, got.Start)
		require.Equal(t, Reach(base, e), Reach(base, got))
	})
}

func TestApartNeedsAnUntouchedLineBetween(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b  Span
		apart bool
	}{
		{Span{0, 1}, Span{2, 3}, true},
		{Span{0, 1}, Span{1, 2}, false},
		{Span{1, 1}, Span{2, 2}, true},
		{Span{1, 1}, Span{1, 1}, false},
		{Span{1, 1}, Span{1, 2}, false},
		{Span{1, 1}, Span{0, 1}, false},
		{Span{1, 1}, Span{2, 3}, true},
		{Span{0, 5}, Span{3, 3}, false},
		{Span{0, 0}, Span{0, 1}, false},
	} {
		require.Equal(t, c.apart, Apart(c.a, c.b), "%v %v", c.a, c.b)
		require.Equal(t, c.apart, Apart(c.b, c.a), "%v %v", c.b, c.a)
	}
}

func TestComposeDoesBothAndDropsWhatCancelsOut(t *testing.T) {
	t.Parallel()
	base := lines("a\nb\nc\nd\ne\n")
	change := Edits(base, lines("a\nB\nc\nd\ne\n"))
	back := Edits(lines("a\nB\nc\nd\ne\n"), base)
	require.Empty(t, Compose(base, change, back))
	rapid.Check(t, func(t *rapid.T) {
		base, mid, last := text("abcd", 24).Draw(t, "base"), text("abcd", 24).Draw(t, "mid"), text("abcd", 24).Draw(t, "new")
		requireSound(t, base, last, Compose(base, Edits(base, mid), Edits(mid, last)))
	})
}

func TestComposeOfDistinctLinesEqualsTheDirectDiff(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		next := 0
		fresh := func() []byte { next++; return fmt.Appendf(nil, "line %d\n", next) }
		var base [][]byte
		for range rapid.IntRange(0, 12).Draw(t, "lines") {
			base = append(base, fresh())
		}
		change := func(from [][]byte) (to [][]byte) {
			for _, l := range from {
				switch rapid.IntRange(0, 5).Draw(t, "what") {
				case 0:
				case 1:
					to = append(to, fresh())
				case 2:
					to = append(to, l, fresh())
				default:
					to = append(to, l)
				}
			}
			return to
		}
		mid := change(base)
		last := change(mid)
		require.Equal(t, Edits(base, last), Compose(base, Edits(base, mid), Edits(mid, last)))
	})
}

// gitSpans gives the base ranges that git's own diff changes. With context git does not cut the common tail off
// first, which would change what it counts.
func gitSpans(t *testing.T, dir string, base, result []byte) []Span {
	t.Helper()
	a, b := filepath.Join(dir, "a"), filepath.Join(dir, "b")
	require.NoError(t, os.WriteFile(a, base, 0o600))
	require.NoError(t, os.WriteFile(b, result, 0o600))
	cmd := exec.CommandContext(t.Context(), "git", "diff", "--no-index", "--histogram", "-U1", "--no-indent-heuristic", "--no-color", "--no-ext-diff", "-a", "a", "b")
	cmd.Dir = dir
	cmd.Env = []string{"GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "PATH=" + os.Getenv("PATH")} //nolint:forbidigo // the test finds git
	out, _ := cmd.Output()
	at := bytes.Index(out, []byte("--- a/"))
	if at < 0 {
		return nil
	}
	p, err := Parse(bytes.Replace(out[at:], []byte("+++ b/b"), []byte("+++ b/a"), 1), DefaultLimits())
	require.NoError(t, err)
	var spans []Span
	for _, h := range p.Files[0].Hunks {
		at, open := h.OldStart-1, false
		for _, line := range h.Lines {
			if line.Op == ' ' {
				open = false
			} else if !open {
				spans = append(spans, Span{at, at})
				open = true
			}
			if line.Op != '+' {
				at++
			}
			if line.Op == '-' {
				spans[len(spans)-1].End = at
			}
		}
	}
	return spans
}

// TestEditsFollowGitsHistogram compares with git on real source text that is changed in random places.
func TestEditsFollowGitsHistogram(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	dir := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		content, err := os.ReadFile(rapid.SampledFrom(files).Draw(rt, "file"))
		require.NoError(rt, err)
		base := Lines(content)
		var result [][]byte
		for at := 0; at < len(base); {
			run := rapid.IntRange(1, 30).Draw(rt, "keep")
			result = append(result, base[at:min(at+run, len(base))]...)
			at = min(at+run, len(base))
			switch rapid.IntRange(0, 3).Draw(rt, "what") {
			case 0:
				at = min(at+rapid.IntRange(1, 5).Draw(rt, "drop"), len(base))
			case 1:
				from := rapid.IntRange(0, len(base)-1).Draw(rt, "copy")
				result = append(result, base[from:min(from+5, len(base))]...)
			default:
			}
		}
		want, got := gitSpans(t, dir, Join(base), Join(result)), Edits(base, result)
		require.Len(rt, got, len(want))
		for i, e := range got { // equal but for slides
			reach := Reach(base, e)
			require.Equal(rt, want[i].End-want[i].Start, e.End-e.Start)
			require.True(rt, reach.Start <= want[i].Start && want[i].End <= reach.End, "%v is not in %v", want[i], reach)
		}
	})
}
