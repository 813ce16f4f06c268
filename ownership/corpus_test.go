package ownership_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"

	"patchd/ownership"
	"patchd/ownership/symbols"
)

// TestCorpus runs each case of testdata/ownership, both ways round. A case is a txtar archive: files under base/,
// left/ and right/ (a file that a side leaves out is as at the base), and what is expected. Lines of its comment that
// begin with "left" or "right" say "left deletes PATH", "left renames OLD NEW" and "left owns PATH START END
// [SYMBOL]"; "policy NAME VALUE" sets the policy.
func TestCorpus(t *testing.T) {
	t.Parallel()
	var files []string
	for _, pattern := range []string{"*.txtar", "*/*.txtar"} {
		found, err := filepath.Glob(filepath.Join("..", "testdata", "ownership", pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.NotEmpty(t, files)
	for _, name := range files {
		rel, err := filepath.Rel(filepath.Join("..", "testdata", "ownership"), name)
		require.NoError(t, err)
		t.Run(strings.TrimSuffix(rel, ".txtar"), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(name)
			require.NoError(t, err)
			in, want := readCase(t, raw)
			coupled := strings.Contains(string(raw), "\ncoupled ") || strings.Contains(string(raw), "policy coupled")
			got := classify(t, in)
			require.Equal(t, want, describe(got, coupled))
			other := classify(t, swap(in))
			require.Equal(t, want, describe(other, coupled), "sides swapped")
			require.Equal(t, details(got.Coupled), details(turned(other.Coupled)), "sides swapped")
			require.Equal(t, details(got.Reasons), details(turned(other.Reasons)), "sides swapped")
		})
	}
}

func classify(t *testing.T, in ownership.Input) *ownership.Result {
	t.Helper()
	r, err := ownership.Classify(t.Context(), symbols.NewInProcess(0), in)
	require.NoError(t, err)
	return r
}

// details makes reasons comparable without regard to their order.
func details(list []ownership.Reason) []string {
	out := []string{}
	for _, r := range list {
		out = append(out, fmt.Sprint(r.Code, r.Path, r.Symbol, r.BaseLines, r.LeftLines, r.RightLines, place(r.Base), place(r.Left), place(r.Right), r.Detail))
	}
	slices.Sort(out)
	return out
}

func place(p *ownership.Place) string {
	if p == nil {
		return "-"
	}
	return fmt.Sprint(*p)
}

// describe lists what a case expects: reasons, degraded files and, where the case is about them, coupled edits.
func describe(r *ownership.Result, coupled bool) []string {
	out := brief(r.Reasons)
	for _, d := range r.Degraded {
		out = append(out, fmt.Sprintf("degraded %s %s", d.Path, d.Why))
	}
	for _, c := range r.Coupled {
		if !coupled {
			break
		}
		out = append(out, fmt.Sprintf("coupled %s %s", c.Path, c.Symbol))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func readCase(t *testing.T, raw []byte) (in ownership.Input, want []string) {
	t.Helper()
	archive := txtar.Parse(raw)
	in.LeftName, in.RightName = "left", "right"
	sides := map[string]map[string]*ownership.Version{"base": {}, "left": {}, "right": {}}
	want = []string{}
	for _, f := range archive.Files {
		if f.Name == "expect" {
			for line := range strings.Lines(string(f.Data)) {
				if line = strings.TrimSpace(line); line != "" {
					want = append(want, line)
				}
			}
			continue
		}
		side, path, ok := strings.Cut(f.Name, "/")
		require.True(t, ok && sides[side] != nil, "unexpected file %q", f.Name)
		sides[side][path] = version(path, string(f.Data))
	}
	slices.Sort(want)
	moved := map[string]map[string]string{"left": {}, "right": {}}
	gone := map[string]map[string]bool{"left": {}, "right": {}}
	for line := range strings.Lines(string(archive.Comment)) {
		directive(t, strings.Fields(line), &in, moved, gone)
	}
	in.Files = filesOf(sides, moved, gone)
	return in, want
}

func directive(t *testing.T, words []string, in *ownership.Input, moved map[string]map[string]string, gone map[string]map[string]bool) {
	t.Helper()
	if len(words) < 3 || words[0] != "left" && words[0] != "right" && words[0] != "policy" {
		return
	}
	switch words[1] {
	case "same_symbol":
		in.SameSymbol = ownership.SameSymbol(words[2])
	case "coupled":
		in.ReviewCoupled = words[2] == "review"
	case "deletes":
		gone[words[0]][words[2]] = true
	case "renames":
		moved[words[0]][words[2]] = words[3]
	case "owns":
		h := ownership.Hunk{Path: words[2]}
		_, err := fmt.Sscan(words[3]+" "+words[4], &h.Start, &h.End)
		require.NoError(t, err)
		if len(words) > 5 {
			h.Symbol = words[5]
		}
		if words[0] == "left" {
			in.LeftOwned = append(in.LeftOwned, h)
		} else {
			in.RightOwned = append(in.RightOwned, h)
		}
	}
}

func filesOf(sides map[string]map[string]*ownership.Version, moved map[string]map[string]string, gone map[string]map[string]bool) []ownership.File {
	result := func(side, path string) *ownership.Version {
		if gone[side][path] {
			return nil
		}
		base := sides["base"][path]
		if to := moved[side][path]; to != "" {
			if v := sides[side][to]; v != nil {
				return v
			}
			return version(to, string(base.Text))
		}
		if v := sides[side][path]; v != nil {
			return v
		}
		return base
	}
	targets := map[string]bool{}
	for _, names := range moved {
		for _, to := range names {
			targets[to] = true
		}
	}
	var files []ownership.File
	for path, base := range sides["base"] {
		files = append(files, file(base, result("left", path), result("right", path)))
	}
	added := map[string]bool{}
	for _, side := range []string{"left", "right"} {
		for path := range sides[side] {
			if sides["base"][path] == nil && !targets[path] && !added[path] {
				added[path] = true
				files = append(files, file(nil, sides["left"][path], sides["right"][path]))
			}
		}
	}
	return files
}
