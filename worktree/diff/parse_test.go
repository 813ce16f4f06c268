package diff

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const simple = "diff --git a/x b/x\nindex 1111111..2222222 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@ head\n a\n-b\n+c\n"

func TestParseReadsASection(t *testing.T) {
	t.Parallel()
	p, err := Parse([]byte(simple), DefaultLimits())
	require.NoError(t, err)
	require.Len(t, p.Files, 1)
	f := p.Files[0]
	require.Equal(t, OpModify, f.Op)
	require.Equal(t, "x", f.Path())
	require.Equal(t, uint32(0o100644), f.OldMode)
	require.Equal(t, "1111111", f.OldOID)
	require.Equal(t, []Line{{' ', []byte("a\n")}, {'-', []byte("b\n")}, {'+', []byte("c\n")}}, f.Hunks[0].Lines)
	require.Equal(t, " head", f.Hunks[0].Section)
	require.Equal(t, simple, string(Format(p)))
}

func TestParseAcceptsWhatGitAndDiffWrite(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain with prefixes":         "--- a/x\t2024-01-01\n+++ b/x\t2024-01-01\n@@ -1 +1 @@\n-a\n+b\n",
		"plain without prefixes":      "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n",
		"plain addition":              "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+b\n",
		"plain deletion":              "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-b\n",
		"no newline on either side":   "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
		"CRLF lines":                  "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\r\n+b\r\n",
		"mode change":                 "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
		"rename without change":       "diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n",
		"name with spaces":            "diff --git a/x y b/x y\nnew file mode 100644\nindex 0000000..e69de29\n",
		"quoted name":                 "diff --git \"a/\\303\\244\" \"b/\\303\\244\"\nnew file mode 100644\nindex 0000000..e69de29\n",
		"one name quoted":             "diff --git a/x \"b/\\303\\244\"\nrename from x\nrename to \"\\303\\244\"\n",
		"change of type":              "diff --git a/x b/x\ndeleted file mode 100644\nindex 1111111..0000000\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\ndiff --git a/x b/x\nnew file mode 120000\nindex 0000000..2222222\n--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+y\n\\ No newline at end of file\n",
		"two files swap their names":  "diff --git a/x b/y\nrename from x\nrename to y\ndiff --git a/y b/x\nrename from y\nrename to x\n",
		"a source copied and changed": "diff --git a/x b/x\nold mode 100644\nnew mode 100755\ndiff --git a/x b/y\ncopy from x\ncopy to y\n",
	} {
		p, err := Parse([]byte(text), DefaultLimits())
		require.NoError(t, err, name)
		again, err := Parse(Format(p), DefaultLimits())
		require.NoError(t, err, name)
		require.Equal(t, string(Format(p)), string(Format(again)), name)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	head := "diff --git a/x b/x\n--- a/x\n+++ b/x\n"
	for _, c := range []struct {
		name, text string
		code       Code
		line       int
	}{
		{"nothing", " \n", CodeEmpty, 0},
		{"prose", "please change x\n", CodeMalformed, 1},
		{"text before", "From: me\n" + simple, CodeMalformed, 1},
		{"text after", simple + "-- \n2.39.5\n", CodeMalformed, 9},
		{"an empty line after", simple + "\n", CodeMalformed, 9},
		{"a byte order mark", "\xef\xbb\xbf" + simple, CodeMalformed, 1},
		{"UTF-16", "d\x00i\x00", CodeMalformed, 1},
		{"a truncated line", strings.TrimSuffix(simple, "\n"), CodeMalformed, 8},
		{"a truncated hunk", head + "@@ -1,2 +1,2 @@\n a\n", CodeMalformed, 6},
		{"a combined diff", "diff --cc x\n", CodeMalformed, 1},
		{"names that disagree in the header", "diff --git a/x b/y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", CodeMalformed, 1},
		{"names that disagree below", "diff --git a/x b/x\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", CodeMalformed, 2},
		{"deletion by /dev/null alone", "diff --git a/x b/x\n--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", CodeMalformed, 2},
		{"two sections for one file", simple + simple, CodeMalformed, 9},
		{"deleted and made anew", "diff --git a/x b/x\ndeleted file mode 100644\ndiff --git a/x b/x\nnew file mode 100644\n", CodeMalformed, 3},
		{"too few lines", head + "@@ -1,3 +1,2 @@\n a\n-b\ndiff --git a/y b/y\n", CodeMalformed, 7},
		{"too many lines", head + "@@ -1 +1 @@\n-a\n+b\n+c\n", CodeMalformed, 7},
		{"a lost space", head + "@@ -1,2 +1,2 @@\n\n-a\n+b\n", CodeMalformed, 5},
		{"overlapping hunks", head + "@@ -1,2 +1,2 @@\n a\n-b\n+c\n@@ -2 +2 @@\n-b\n+d\n", CodeMalformed, 8},
		{"a new start that lies", head + "@@ -5 +6 @@\n-a\n+b\n", CodeMalformed, 4},
		{"numbers that overflow", head + "@@ -99999999999999999999 +1 @@\n-a\n+b\n", CodeMalformed, 4},
		{"a hunk that changes nothing", head + "@@ -1 +1 @@\n a\n", CodeMalformed, 4},
		{"a line after the last", head + "@@ -1,2 +1 @@\n-a\n\\ No newline at end of file\n-b\n+b\n", CodeMalformed, 7},
		{"a section that changes nothing", "diff --git a/x b/x\nindex 1111111..2222222 100644\n", CodeMalformed, 1},
		{"headers that contradict", "diff --git a/x b/x\nnew file mode 100644\ndeleted file mode 100644\n", CodeMalformed, 1},
		{"a repeated header", "diff --git a/x b/x\nold mode 100644\nold mode 100644\nnew mode 100755\n", CodeMalformed, 3},
		{"a rename without its end", "diff --git a/x b/y\nrename from x\n", CodeMalformed, 1},
		{"no prefixes", "diff --git x x\n--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n", CodeMalformed, 1},
		{"CRLF headers", strings.ReplaceAll(simple, "\n", "\r\n"), CodeMalformed, 1},
		{"binary without content", "diff --git a/x b/x\nindex 1111111..2222222 100644\nBinary files a/x and b/x differ\n", CodeMalformed, 3},
		{"binary without full index", "diff --git a/x b/x\nindex 1111111..2222222 100644\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n", CodeDoesNotApply, 1},
		{"dots", "--- a/../x\n+++ b/../x\n@@ -1 +1 @@\n-a\n+b\n", CodePathUnsafe, 1},
		{"an absolute path", "--- /etc/passwd\n+++ /etc/passwd\n@@ -1 +1 @@\n-a\n+b\n", CodePathUnsafe, 1},
		{"octal dots", "--- \"a/\\056\\056/x\"\n+++ \"b/\\056\\056/x\"\n@@ -1 +1 @@\n-a\n+b\n", CodePathUnsafe, 1},
		{"a newline in a name", "diff --git \"a/x\\ny\" \"b/x\\ny\"\nnew file mode 100644\n", CodePathUnsafe, 1},
		{"setuid", "diff --git a/x b/x\nnew file mode 104755\n", CodeModeUnsafe, 2},
		{"any write", "diff --git a/x b/x\nold mode 100644\nnew mode 100777\n", CodeModeUnsafe, 3},
		{"a directory's mode", "diff --git a/x b/x\nnew file mode 040000\n", CodeModeUnsafe, 2},
		{"no plain rename", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", CodeMalformed, 3},
	} {
		_, err := Parse([]byte(c.text), DefaultLimits())
		var refusal *Error
		require.ErrorAs(t, err, &refusal, c.name)
		require.Equal(t, c.code, refusal.Code, c.name)
		require.Equal(t, c.line, refusal.Line, "%s: %v", c.name, err)
		require.NotEmpty(t, refusal.Hint, c.name)
	}
}

func TestParseRefusesBombsFromDeclaredSizes(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("1", 40) + ".." + strings.Repeat("2", 40)
	head := "diff --git a/x b/x\nindex " + id + " 100644\nGIT binary patch\n"
	delta := Format(&Patch{Files: []File{{Op: OpModify, Old: "x", New: "x", OldMode: 0o100644, NewMode: 0o100644, OldOID: id[:40], NewOID: id[42:], Similarity: -1, Binary: &Binary{Forward: BinaryHunk{Delta: true, Data: []byte{4, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 'x'}}}}}})
	for name, text := range map[string]string{
		"a literal":         head + "literal 999999999\nHcmV?d00001\n\n",
		"a larger literal":  head + "literal 99999999999999999999\nHcmV?d00001\n\n",
		"a delta's result":  string(delta),
		"an endless line":   "--- a/x\n+++ b/x\n@@ -0,0 +1 @@\n+" + strings.Repeat("x", 5<<20) + "\n",
		"a million hunks":   "--- a/x\n+++ b/x\n" + manyHunks(200_001),
		"too many sections": strings.Repeat("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", 10_001),
	} {
		_, err := Parse([]byte(text), DefaultLimits())
		var refusal *Error
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, CodeTooLarge, refusal.Code, "%s: %v", name, err)
	}
}

func manyHunks(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "@@ -%d +%d @@\n-a\n+b\n", i*2+1, i*2+1)
	}
	return b.String()
}

func TestParseReadsGitsBinaryPatches(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) []byte {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@x", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@x")
		out, err := cmd.Output()
		require.NoError(t, err, "git %v", args)
		return out
	}
	noise := make([]byte, 5000)
	for i := range noise {
		noise[i] = byte(i * i >> 3)
	}
	run("init", "-q")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), noise, 0o600))
	run("add", ".")
	run("commit", "-qm", "one")
	changed := append(append([]byte(nil), noise[:100]...), noise[200:]...)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "x"), changed, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "y"), append([]byte{0}, noise[:10]...), 0o600))
	run("add", ".")
	p, err := Parse(run("diff", "--cached", "--binary", "--full-index"), DefaultLimits())
	require.NoError(t, err)
	require.Len(t, p.Files, 2)
	require.True(t, p.Files[0].Binary.Forward.Delta)
	got, ok := ApplyDelta(noise, p.Files[0].Binary.Forward.Data, 0)
	require.True(t, ok)
	require.Equal(t, changed, got)
	back, ok := ApplyDelta(changed, p.Files[0].Binary.Reverse.Data, 0)
	require.True(t, ok)
	require.Equal(t, noise, back)
	require.Equal(t, append([]byte{0}, noise[:10]...), p.Files[1].Binary.Forward.Data)
	again, err := Parse(Format(p), DefaultLimits())
	require.NoError(t, err)
	require.Equal(t, p.Files[0].Binary.Forward.Data, again.Files[0].Binary.Forward.Data)
}

func TestHunksDrawnFromEditsParseAndApply(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, result := text("abcdefgh", 40).Draw(t, "base"), text("abcdefgh", 40).Draw(t, "result")
		edits := Edits(base, result)
		if len(edits) == 0 {
			return
		}
		f := File{Op: OpModify, Old: "x", New: "x", Similarity: -1, Hunks: Hunks(base, edits, rapid.IntRange(0, 3).Draw(t, "context"))}
		p, err := Parse(Format(&Patch{Files: []File{f}}), DefaultLimits())
		require.NoError(t, err)
		var got [][]byte
		at := 0
		for _, h := range p.Files[0].Hunks {
			first := h.OldStart - 1
			if h.OldCount == 0 {
				first++
			}
			got = append(got, base[at:first]...)
			at = first + h.OldCount
			for _, line := range h.Lines {
				if line.Op != '-' {
					got = append(got, line.Text)
				}
			}
		}
		require.True(t, EqualLines(result, append(got, base[at:]...)))
	})
}

func TestCheckPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"a", "a/b.c", "ä/ö", ".gitignore", ".github/x", "git", "a.git/x", "con1", "common", "com", "a b", "xx:y"} {
		require.Empty(t, CheckPath(path), path)
	}
	for _, path := range []string{
		"", "/a", "../a", "a/../b", "a/./b", "a//b", "a/", ".git/x", "a/.GIT/x", "git~1/x", "GIT~1", ".git::$INDEX_ALLOCATION/x", ".git.", ".git /x",
		".g\u200cit/x", "a\nb", "a\rb", "a\x1bb", "a\x00b", "a\xffb", "-rf", "a/-x", `..\x`, `a\b`, "C:x", "c:/x", "CON", "a/nul.txt", "com1.c", "a\u0085b",
		strings.Repeat("x", 256), strings.Repeat("x/", 64) + "x", strings.Repeat("abcdefgh/", 500),
	} {
		require.NotEmpty(t, CheckPath(path), "%q", path)
	}
}

// FuzzParse holds that parsing never panics, gives typed errors, and that what was parsed formats to a fixpoint.
func FuzzParse(f *testing.F) {
	f.Add([]byte(simple))
	f.Add([]byte("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n"))
	f.Add([]byte("diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"))
	f.Add([]byte("diff --git a/x b/x\nindex " + strings.Repeat("1", 40) + ".." + strings.Repeat("2", 40) + " 100644\nGIT binary patch\nliteral 0\nHcmV?d00001\n\n"))
	limits := DefaultLimits()
	limits.BinaryBytes = 1 << 16
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text, limits)
		if err != nil {
			var refusal *Error
			require.ErrorAs(t, err, &refusal)
			return
		}
		formatted := Format(p)
		again, err := Parse(formatted, limits)
		require.NoError(t, err, "%s", formatted)
		require.Equal(t, string(formatted), string(Format(again)))
	})
}
