package worktree

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

func TestApplyIsExact(t *testing.T) {
	t.Parallel()
	base := files{"a": ten, "x": "exec:#!\n", "d/e": "", "l": "link:a", "n": "no newline", "crlf": "1\r\n2\r\n"}
	id := func(content string) string { return string(git.HashObject(git.TypeBlob, []byte(content))) }
	zero := strings.Repeat("0", 40)
	with := func(f files) files {
		out := files{}
		maps.Copy(out, base)
		for path, content := range f {
			if content == "" && path != "empty" {
				delete(out, path)
			} else {
				out[path] = content
			}
		}
		return out
	}
	hunk := "@@ -1,3 +1,3 @@\n 1\n-2\n+two\n 3\n"
	for _, c := range []struct {
		name, patch string
		want        files // nil when refused
		code        diff.Code
		line        int
	}{
		{"a hunk at its line", "--- a/a\n+++ b/a\n" + hunk, with(files{"a": edit(ten, "2\n", "two\n")}), "", 0},
		{"a hunk one line off", "--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@\n 1\n-2\n+two\n 3\n", nil, diff.CodeDoesNotApply, 4},
		{"a context that differs", "--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n 1\n-2\n+two\n three\n", nil, diff.CodeDoesNotApply, 7},
		{"past the end", "--- a/a\n+++ b/a\n@@ -10,2 +10,2 @@\n 10\n-11\n+x\n", nil, diff.CodeDoesNotApply, 3},
		{"a neighbour omitted before", "--- a/a\n+++ b/a\n@@ -2,2 +2,2 @@\n-2\n+two\n 3\n", nil, diff.CodeMalformed, 3},
		{"a neighbour omitted after", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+two\n", nil, diff.CodeMalformed, 3},
		{"an insertion into an empty file", "--- a/d/e\n+++ b/d/e\n@@ -0,0 +1 @@\n+x\n", with(files{"d/e": "x\n"}), "", 0},
		{"CRLF is kept", "--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n 1\r\n-2\r\n+3\r\n", with(files{"crlf": "1\r\n3\r\n"}), "", 0},
		{"LF for CRLF does not apply", "--- a/crlf\n+++ b/crlf\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n", nil, diff.CodeDoesNotApply, 4},
		{"no newline at the end", "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-no newline\n\\ No newline at end of file\n+newline\n", with(files{"n": "newline\n"}), "", 0},
		{"a newline that is not there", "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-no newline\n+newline\n", nil, diff.CodeDoesNotApply, 4},
		{"index ids are the base's and the result's", "diff --git a/a b/a\nindex " + id(ten)[:7] + ".." + id(edit(ten, "2\n", "two\n"))[:7] + " 100644\n--- a/a\n+++ b/a\n" + hunk, with(files{"a": edit(ten, "2\n", "two\n")}), "", 0},
		{"an index line of another base", "diff --git a/a b/a\nindex 1234567.." + id(edit(ten, "2\n", "two\n"))[:7] + " 100644\n--- a/a\n+++ b/a\n" + hunk, nil, diff.CodeDoesNotApply, 1},
		{"an index line of another result", "diff --git a/a b/a\nindex " + id(ten) + "..1234567 100644\n--- a/a\n+++ b/a\n" + hunk, nil, diff.CodeDoesNotApply, 1},
		{"creating what exists", "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n", nil, diff.CodeDoesNotApply, 1},
		{"deleting what is missing", "--- a/q\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", nil, diff.CodeDoesNotApply, 1},
		{"deleting what differs", "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", nil, diff.CodeDoesNotApply, 4},
		{"deleting part of a file", "diff --git a/crlf b/crlf\ndeleted file mode 100644\n--- a/crlf\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\r\n", nil, diff.CodeMalformed, 5},
		{"deleting without showing", "diff --git a/a b/a\ndeleted file mode 100644\n", nil, diff.CodeDoesNotApply, 1},
		{"deleting by full id", "diff --git a/a b/a\ndeleted file mode 100644\nindex " + id(ten) + ".." + zero + "\n", with(files{"a": ""}), "", 0},
		{"an empty file", "diff --git a/empty b/empty\nnew file mode 100644\nindex 0000000..e69de29\n", with(files{"empty": ""}), "", 0},
		{"a mode change", "diff --git a/a b/a\nold mode 100644\nnew mode 100755\n", with(files{"a": "exec:" + ten}), "", 0},
		{"a mode that is not the base's", "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", nil, diff.CodeDoesNotApply, 1},
		{"a rename", "diff --git a/a b/b/c\nsimilarity index 100%\nrename from a\nrename to b/c\n", with(files{"a": "", "b/c": ten}), "", 0},
		{"a rename with an edit", "diff --git a/a b/b\nsimilarity index 90%\nrename from a\nrename to b\n--- a/a\n+++ b/b\n" + hunk, with(files{"a": "", "b": edit(ten, "2\n", "two\n")}), "", 0},
		{"a rename onto what exists", "diff --git a/a b/n\nrename from a\nrename to n\n", nil, diff.CodeDoesNotApply, 1},
		{"two names swapped", "diff --git a/a b/n\nrename from a\nrename to n\ndiff --git a/n b/a\nrename from n\nrename to a\n", with(files{"a": "no newline", "n": ten}), "", 0},
		{"a copy", "diff --git a/a b/b\ncopy from a\ncopy to b\n", with(files{"b": ten}), "", 0},
		{"a file becomes a link", "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-no newline\n\\ No newline at end of file\ndiff --git a/n b/n\nnew file mode 120000\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n", with(files{"n": "link:a"}), "", 0},
		{"a file becomes a directory", "--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-no newline\n\\ No newline at end of file\n--- /dev/null\n+++ b/n/x\n@@ -0,0 +1 @@\n+x\n", with(files{"n": "", "n/x": "x\n"}), "", 0},
		{"a file where a directory is", "--- /dev/null\n+++ b/d\n@@ -0,0 +1 @@\n+x\n", nil, diff.CodePathUnsafe, 1},
		{"writing through a link", "--- /dev/null\n+++ b/l/x\n@@ -0,0 +1 @@\n+x\n", nil, diff.CodePathUnsafe, 1},
		{"writing through a link of the same patch", "diff --git a/m b/m\nnew file mode 120000\n--- /dev/null\n+++ b/m\n@@ -0,0 +1 @@\n+d\n\\ No newline at end of file\n--- /dev/null\n+++ b/m/x\n@@ -0,0 +1 @@\n+x\n", nil, diff.CodePathUnsafe, 1},
		{"nothing changes", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n-1\n+1\n 2\n", nil, diff.CodeEmpty, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			got, err := w.apply(w.tree(base), c.patch)
			if c.want == nil {
				var refusal *diff.Error
				require.ErrorAs(t, err, &refusal)
				require.Equal(t, c.code, refusal.Code, "%v", err)
				require.Equal(t, c.line, refusal.Line, "%v", err)
				require.NotEmpty(t, refusal.Hint)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, w.read(got.Tree))
		})
	}
}

func TestInspectJudgesTheResultingTree(t *testing.T) {
	t.Parallel()
	base := files{"a": "1\n", "d/e": "1\n", "Case": "1\n", "case": "1\n", "up": "link:d"}
	for _, c := range []struct {
		name string
		add  files
		code diff.Code
	}{
		{"a plain file", files{"n": "1\n"}, ""},
		{"a link inside", files{"d/n": "link:../a"}, ""},
		{"a link to a missing file", files{"n": "link:d/q/../r"}, ""},
		{"a link to itself", files{"n": "link:n"}, ""},
		{"a link that leaves", files{"n": "link:../a"}, diff.CodeSymlink},
		{"a link that leaves by a detour", files{"n": "link:d/../../a"}, diff.CodeSymlink},
		{"a link that leaves through another", files{"d/n": "link:../up/../../a"}, diff.CodeSymlink},
		{"an absolute link", files{"n": "link:/etc/passwd"}, diff.CodeSymlink},
		{"a link into .git", files{"n": "link:.GIT/config"}, diff.CodeSymlink},
		{"an empty link", files{"n": "link:"}, diff.CodeSymlink},
		{"another case", files{"A": "1\n"}, diff.CodePathUnsafe},
		{"a directory in another case", files{"D/x": "1\n"}, diff.CodePathUnsafe},
		{"another normalisation", files{"\u00e9": "1\n", "e\u0301": "1\n"}, diff.CodePathUnsafe},
		{"a collision that the base has is no matter", files{"Case": "2\n"}, ""},
		{".git in disguise", files{".g\u200cit/config": "1\n"}, diff.CodePathUnsafe},
		{"a short name of .git", files{"d/GIT~1": "1\n"}, diff.CodePathUnsafe},
		{"a dash", files{"-x": "1\n"}, diff.CodePathUnsafe},
		{"a control character", files{"x\x1b": "1\n"}, diff.CodePathUnsafe},
		{"invalid UTF-8", files{"x\xff": "1\n"}, diff.CodePathUnsafe},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			b := w.tree(base)
			all := files{}
			maps.Copy(all, base)
			maps.Copy(all, c.add)
			result := w.tree(all)
			changes, err := git.DiffTrees(t.Context(), w.ov, b, result)
			require.NoError(t, err)
			_, err = Inspect(t.Context(), w.ov, b, result, changes, nil)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			var refusal *diff.Error
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, c.code, refusal.Code)
			require.NotEmpty(t, refusal.Path)
		})
	}
}

func TestInspectListsSubmodulesAndRetypedFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	b := w.tree(files{"a": "1\n", "z": "1\n"})
	result := w.tree(files{"a": "link:z", "z": "1\n", "m": "sub:" + strings.Repeat("1", 40)})
	changes, err := git.DiffTrees(t.Context(), w.ov, b, result)
	require.NoError(t, err)
	found, err := Inspect(t.Context(), w.ov, b, result, changes, nil)
	require.NoError(t, err)
	require.Equal(t, &Inspection{Gitlinks: []string{"m"}, Retyped: []string{"a"}}, found)
}

// TestGitsOwnPatchesApplyToTheSameTree takes patches as git writes them between random trees.
func TestGitsOwnPatchesApplyToTheSameTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	rapid.Check(t, func(rt *rapid.T) {
		base := drawTree(rt)
		b, result := w.tree(base), w.tree(change(rt, base, "patch"))
		if b == result {
			return
		}
		require.NoError(rt, w.repo.WritePack(t.Context(), w.ov.Objects()))
		text, err := w.repo.DiffBytes(t.Context(), b, result)
		require.NoError(rt, err)
		got, err := w.apply(b, string(text))
		require.NoError(rt, err, "%s", text)
		require.Equal(rt, result, got.Tree)
	})
}

func TestAttributesFollowGit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attributes := files{
		".gitattributes":          "# comment\n[attr]frozen -merge\n*.lock -merge\n/top.txt merge=binary\nsub/** merge=ours\n*.png binary\nsub/deep/*.x frozen\n\"q\\040x\" -merge\n**/any/f -merge\n[a-c].cls -merge\ndir/ -merge\nf?o -merge\n*.set merge\n",
		"sub/.gitattributes":      "*.lock merge\nback.png !merge\nx.y -merge\n",
		"sub/deep/.gitattributes": "[attr]frozen merge\nz.* -merge\nz.ok merge=union\n",
	}
	tree := w.tree(attributes)
	dir := t.TempDir()
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.Output()
		require.NoError(t, err)
		return string(out)
	}
	run("init", "-q")
	for path, content := range attributes {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600))
	}
	a := NewAttributes(w.ov, tree)
	for _, path := range []string{
		"a.lock", "sub/a.lock", "other/a.lock", "top.txt", "sub/top.txt", "sub/q", "sub/deep/q", "i.png", "sub/i.png", "sub/back.png", "sub/x.y", "x.y",
		"sub/deep/a.x", "sub/a.x", "q x", "d/q x", "any/f", "1/any/f", "1/2/any/f", "a.cls", "d.cls", "dir/f", "dir", "foo", "fo", "f/o", "s.set", "sub/deep/z.a", "sub/deep/z.ok",
	} {
		_, state, _ := strings.Cut(strings.TrimSpace(run("check-attr", "merge", "--", path)), ": merge: ")
		got, err := a.Unmergeable(context.WithoutCancel(t.Context()), path)
		require.NoError(t, err)
		require.Equal(t, state == "unset" || state == "binary", got, "%s: git says %s", path, state)
	}
}
