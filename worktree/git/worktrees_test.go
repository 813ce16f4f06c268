package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestADiffIsCompleteAndAppliesExactly(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	from := s.tree(map[string]string{"text": tenLines, "moved": strings.Repeat(tenLines, 3), "binary": "a\x00b" + tenLines, "gone": "g\n"})
	to := s.tree(map[string]string{"text": tenLines + "no newline", "to/here": strings.Repeat(tenLines, 3), "binary": "a\x00c" + tenLines, "with space": "n\n"})
	s.git("config", "diff.noprefix", "true")
	s.git("config", "diff.external", "false")
	s.git("config", "color.diff", "always")
	s.write(".git/info/attributes", "* -diff\n")
	diff, err := s.open().DiffBytes(t.Context(), from, to)
	require.NoError(t, err)
	for _, want := range []string{"rename from moved\nrename to to/here\n", "GIT binary patch\n", "\\ No newline at end of file\n", "deleted file mode 100644\n", "diff --git a/text b/text\n"} {
		require.Contains(t, string(diff), want)
	}
	index := s.in(s.dir, "GIT_INDEX_FILE="+filepath.Join(t.TempDir(), "i"))
	index.git("read-tree", string(from))
	index.gitIn(string(diff), "apply", "--cached", "-")
	require.Equal(t, string(to), index.git("write-tree"))
}

func TestAWorktreesPresentStateIsWhatAddWouldRecord(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	base := s.commit(map[string]string{"kept": "1", "edited": "1\n", "gone": "1", ".gitignore": "ignored\n", ".gitattributes": "*.crlf text eol=crlf\n"})
	r := s.open()
	tree, err := r.WorktreeTree(t.Context(), s.dir, base)
	require.NoError(t, err)
	require.Equal(t, s.oid("HEAD^{tree}"), tree)
	s.write("edited", "2\n")
	s.write("staged", "s\n")
	s.git("add", "staged")
	s.write("untracked/new", "n\n")
	s.write("ignored", "i\n")
	s.write("dos.crlf", "a\r\n")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "gone")))
	status := s.git("status", "--porcelain")
	tree, err = r.WorktreeTree(t.Context(), filepath.Join(s.dir, "untracked"), base)
	require.NoError(t, err)
	require.Equal(t, status, s.git("status", "--porcelain"), "the user's index is left alone")
	require.Equal(t, ".gitattributes\n.gitignore\ndos.crlf\nedited\nkept\nstaged\nuntracked/new", s.git("ls-tree", "-r", "--name-only", string(tree)))
	require.Equal(t, "a", s.git("cat-file", "blob", string(tree)+":dos.crlf"), "line ends as git add would store them")
	s.git("add", "-A")
	require.Equal(t, s.git("write-tree"), string(tree))
}

func TestAnEditOfTheSameSizeWithinOneSecondIsSeen(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.git("config", "core.trustctime", "false") // the time of change cannot be set; without it the second counts alone
	second := time.Date(2024, time.May, 1, 0, 0, 0, 0, time.UTC)
	path := filepath.Join(s.dir, "edited")
	s.write("edited", "1\n")
	require.NoError(t, os.Chtimes(path, second, second))
	base := s.commit(map[string]string{})
	require.NoError(t, os.WriteFile(path, []byte("2\n"), 0o600))
	for _, p := range []string{path, filepath.Join(s.dir, ".git", "index")} {
		require.NoError(t, os.Chtimes(p, second, second))
	}
	tree, err := s.open().WorktreeTree(t.Context(), s.dir, base)
	require.NoError(t, err)
	require.Equal(t, "2", s.git("cat-file", "blob", string(tree)+":edited"))
}

func TestHeadIsReadOfTheWorktreeThatIsNamed(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	head, err := r.Head(t.Context(), s.dir)
	require.NoError(t, err)
	require.Equal(t, git.HeadInfo{Branch: "refs/heads/main"}, head)
	one := s.commit(map[string]string{"a": "1"})
	s.git("worktree", "add", "-q", "--detach", s.dir+"-linked")
	s.commit(map[string]string{"a": "2"})
	head, err = r.Head(t.Context(), s.dir+"-linked")
	require.NoError(t, err)
	require.Equal(t, git.HeadInfo{Commit: one}, head)
}
