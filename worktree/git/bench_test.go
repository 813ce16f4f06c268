package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

// benchRepo is a repository of 10,000 files in 200 directories, and its tree.
func benchRepo(b *testing.B, opt git.Options) (*git.Repo, git.OID) {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "repo.git")
	run := func(stdin string, args ...string) {
		cmd := exec.Command("git", args...)
		cmd.Env = []string{searchPath(), "HOME=" + b.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
		cmd.Dir, cmd.Stdin = filepath.Dir(dir), strings.NewReader(stdin)
		out, err := cmd.CombinedOutput()
		require.NoError(b, err, "%s", out)
	}
	run("", "init", "-q", "--bare", dir)
	var s strings.Builder
	s.WriteString("commit refs/heads/main\ncommitter C <c@example.com> 1700000000 +0000\ndata 0\n")
	for i := range 10_000 {
		text := benchText(i)
		fmt.Fprintf(&s, "M 100644 inline %s\ndata %d\n%s\n", benchPath(i), len(text), text)
	}
	run(s.String(), "--git-dir", dir, "fast-import", "--quiet")
	repo, err := git.Open(b.Context(), dir, opt)
	require.NoError(b, err)
	b.Cleanup(func() { _ = repo.Close() })
	tip, found, err := repo.Resolve(b.Context(), "refs/heads/main")
	require.NoError(b, err)
	require.True(b, found)
	commit, err := repo.ReadCommit(b.Context(), tip)
	require.NoError(b, err)
	return repo, commit.Tree
}

func benchPath(i int) string { return fmt.Sprintf("d%02d/e%d/f%d.txt", i%20, i/20%10, i) }

func benchText(i int) string {
	return strings.Repeat(fmt.Sprintf("this is a line of file %d\n", i), 200)
}

// edited gives the tree in which n files have another first line, with the new objects.
func edited(b *testing.B, repo *git.Repo, tree git.OID, n int, line string) (*git.Overlay, git.OID) {
	b.Helper()
	over := git.NewOverlay(repo)
	var edits []git.TreeEdit
	for i := range n {
		edits = append(edits, git.TreeEdit{Path: benchPath(i * 7), Entry: git.Entry{Mode: git.ModeFile, OID: over.PutBlob([]byte(line + benchText(i*7)))}})
	}
	result, err := git.EditTree(b.Context(), over, tree, edits)
	require.NoError(b, err)
	return over, result
}

// BenchmarkReadObject asks a "git cat-file" process for a blob that no cache holds.
func BenchmarkReadObject(b *testing.B) {
	repo, tree := benchRepo(b, git.Options{})
	e, err := git.Lookup(b.Context(), repo, tree, benchPath(0))
	require.NoError(b, err)
	for b.Loop() {
		_, err := repo.Read(b.Context(), e.OID)
		require.NoError(b, err)
	}
}

// BenchmarkEditTree edits five files in five directories.
func BenchmarkEditTree(b *testing.B) {
	repo, tree := benchRepo(b, git.Options{})
	for b.Loop() {
		edited(b, repo, tree, 5, "edited\n")
	}
}

// BenchmarkMergeTree has git merge two sides that touch five files each, one of them shared.
func BenchmarkMergeTree(b *testing.B) {
	repo, tree := benchRepo(b, git.Options{Scratch: b.TempDir()})
	ours, left := edited(b, repo, tree, 5, "ours\n")
	over := git.NewOverlay(ours)
	entry := git.Entry{Mode: git.ModeFile, OID: over.PutBlob([]byte(benchText(0) + "theirs\n"))}
	right, err := git.EditTree(b.Context(), over, tree, []git.TreeEdit{{Path: benchPath(0), Entry: entry}})
	require.NoError(b, err)
	for b.Loop() {
		merged, err := repo.MergeTree(b.Context(), over, tree, left, right)
		require.NoError(b, err)
		require.True(b, merged.Clean)
	}
}

// BenchmarkWritePack keeps the objects of a candidate that edits five files, durably.
func BenchmarkWritePack(b *testing.B) {
	if testing.Short() {
		b.Skip("waits for the disk")
	}
	repo, tree := benchRepo(b, git.Options{})
	for n := 0; b.Loop(); n++ {
		over, _ := edited(b, repo, tree, 5, fmt.Sprintf("%d %d\n", os.Getpid(), n))
		require.NoError(b, repo.WritePack(b.Context(), over.Objects()))
	}
}
