package worktree_test

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"patchd/worktree"
	"patchd/worktree/git"
)

// testingT is *testing.T or *rapid.T.
type testingT interface {
	require.TestingT
	Context() context.Context
}

// poolSandbox is a real repository with a pool beside it.
type poolSandbox struct {
	dir, poolDir string
	repo         *git.Repo
	overlay      *git.Overlay
}

func newPoolSandbox(t *testing.T) *poolSandbox {
	t.Helper()
	parent := t.TempDir()
	s := &poolSandbox{dir: filepath.Join(parent, "repo"), poolDir: filepath.Join(parent, "pool")}
	require.NoError(t, os.Mkdir(s.dir, 0o755))
	s.git(t, "init", "-q", "-b", "main")
	s.git(t, "commit", "-q", "--allow-empty", "-m", "root")
	repo, err := git.Open(t.Context(), s.dir, git.Options{Scratch: t.TempDir()})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, repo.Close()) })
	s.repo, s.overlay = repo, git.NewOverlay(repo)
	return s
}

func (s *poolSandbox) git(t require.TestingT, args ...string) string {
	return s.gitIn(t, s.dir, args...)
}

func (s *poolSandbox) gitIn(t require.TestingT, dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C", "GIT_AUTHOR_NAME=a",
		"GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "git %v: %s", args, out)
	return strings.TrimSpace(string(out))
}

func (s *poolSandbox) pool(t *testing.T, opt worktree.PoolOptions) *worktree.Pool {
	t.Helper()
	pool, err := worktree.NewPool(t.Context(), s.repo, s.poolDir, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, pool.Close(t.Context()), "all leases are released") }) // the context is over by now
	return pool
}

// tree makes a tree of files. A content that begins with a word and a colon gives the mode: "exec:", "link:", "module:".
func (s *poolSandbox) tree(t testingT, files map[string]string) git.OID {
	var edits []git.TreeEdit
	for path, content := range files {
		mode, data := git.ModeFile, content
		for prefix, m := range map[string]git.Mode{"exec:": git.ModeExecutable, "link:": git.ModeSymlink} {
			if rest, ok := strings.CutPrefix(content, prefix); ok {
				mode, data = m, rest
			}
		}
		entry := git.Entry{Mode: mode, OID: s.overlay.PutBlob([]byte(data))}
		if content == "module:" {
			entry = git.Entry{Mode: git.ModeGitlink, OID: git.EmptyTree}
		}
		edits = append(edits, git.TreeEdit{Path: path, Entry: entry})
	}
	id, err := git.EditTree(t.Context(), s.overlay, git.EmptyTree, edits)
	require.NoError(t, err)
	require.NoError(t, s.repo.WritePack(t.Context(), s.overlay.Objects()))
	return id
}

func (s *poolSandbox) acquire(t testingT, pool *worktree.Pool, files map[string]string) *worktree.Lease {
	lease, err := pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: s.tree(t, files)})
	require.NoError(t, err)
	return lease
}

// requireHolds walks a leased worktree: exactly the files, nothing else, and git agrees.
func (s *poolSandbox) requireHolds(t require.TestingT, lease *worktree.Lease, files map[string]string) {
	found := map[string]string{}
	err := filepath.WalkDir(lease.Dir(), func(path string, entry fs.DirEntry, err error) error {
		require.NoError(t, err)
		name, err := filepath.Rel(lease.Dir(), path)
		require.NoError(t, err)
		if entry.IsDir() {
			inside, err := os.ReadDir(path)
			if len(inside) == 0 {
				found[name] = "module:"
			}
			return err
		}
		if name != ".git" {
			found[name] = describeFile(t, path, entry)
		}
		return nil
	})
	require.NoError(t, err)
	want := map[string]string{}
	maps.Copy(want, files)
	if len(files) == 0 {
		delete(found, ".")
	}
	require.Equal(t, want, found)
	// The index is compared with the tree and the files with the index; the latter reads no content, so it also shows
	// that what the index says of the files is right.
	require.Equal(t, string(lease.Tree()), s.gitIn(t, lease.Dir(), "write-tree"))
	require.Empty(t, s.gitIn(t, lease.Dir(), "diff-files", "--ignore-submodules"))
	require.Empty(t, s.gitIn(t, lease.Dir(), "ls-files", "--others", "--exclude-standard"))
}

func describeFile(t require.TestingT, path string, entry fs.DirEntry) string {
	if entry.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(path)
		require.NoError(t, err)
		return "link:" + target
	}
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	info, err := entry.Info()
	require.NoError(t, err)
	if info.Mode().Perm() == 0o755 {
		return "exec:" + string(data)
	}
	require.Equal(t, fs.FileMode(0o644), info.Mode())
	return string(data)
}

func someFiles() map[string]string {
	return map[string]string{
		"a": "1\r\n", "run": "exec:#!/bin/sh\n", "to": "link:a", "out": "link:/etc/passwd", "module": "module:", "empty": "",
		"d/e/e/p/x": "x", "d/y": "y", "d-e": "between", "d.e": "between",
	}
}

func TestALeasedWorktreeHoldsExactlyItsTree(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	s.git(t, "config", "core.autocrlf", "true")
	s.git(t, "config", "filter.bad.smudge", "false")
	s.git(t, "config", "core.sparseCheckout", "true")
	require.NoError(t, os.WriteFile(filepath.Join(s.dir, ".git/info/sparse-checkout"), []byte("/a\n"), 0o644))
	hook := filepath.Join(s.dir, ".git/hooks/post-checkout")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nexit 1\n"), 0o755))
	pool := s.pool(t, worktree.PoolOptions{Max: 1})
	first, second := someFiles(), someFiles()
	lease := s.acquire(t, pool, first)
	dir := lease.Dir()
	s.git(t, "config", "core.autocrlf", "false")
	s.requireHolds(t, lease, first)
	lease.Release()
	lease.Release()
	delete(second, "d/e/e/p/x")
	delete(second, "a")
	second["a/now/dir"], second["d/e"], second["run"], second["to"], second["module"], second["empty"] = "n", "file", "no longer", "file", "file", "module:"
	lease = s.acquire(t, pool, second)
	require.Equal(t, dir, lease.Dir(), "it is moved, not added")
	s.requireHolds(t, lease, second)
	lease.Release()
	lease = s.acquire(t, pool, map[string]string{})
	s.requireHolds(t, lease, nil)
	lease.Release()
	lease = s.acquire(t, pool, first)
	s.requireHolds(t, lease, first)
	lease.Release()
}

// poolDamages are things that a check may do; each gets the worktree and a directory outside.
func poolDamages() map[string]func(t require.TestingT, dir, outside string) {
	must := func(t require.TestingT, errs ...error) {
		for _, err := range errs {
			require.NoError(t, err)
		}
	}
	at := filepath.Join
	return map[string]func(t require.TestingT, dir, outside string){
		"edits":     func(t require.TestingT, d, _ string) { must(t, os.WriteFile(at(d, "d/y"), []byte("changed"), 0o644)) },
		"same size": func(t require.TestingT, d, _ string) { must(t, os.WriteFile(at(d, "d/y"), []byte("z"), 0o644)) },
		"old times": func(t require.TestingT, d, _ string) { keepTimes(t, at(d, "d/y"), "z") },
		"removes":   func(t require.TestingT, d, _ string) { must(t, os.Remove(at(d, "a")), os.RemoveAll(at(d, "d"))) },
		"adds": func(t require.TestingT, d, _ string) {
			must(t, os.MkdirAll(at(d, "d/new/deep"), 0o755), os.WriteFile(at(d, "d/new/f"), nil, 0o644))
		},
		"adds .git": func(t require.TestingT, d, _ string) {
			must(t, os.MkdirAll(at(d, "d/.git"), 0o755), os.WriteFile(at(d, "d/.git/HEAD"), nil, 0o644))
		},
		"file modes": func(t require.TestingT, d, _ string) { must(t, os.Chmod(at(d, "a"), 0o777), os.Chmod(at(d, "run"), 0)) },
		"dir modes":  func(t require.TestingT, d, _ string) { must(t, os.Chmod(at(d, "d/e"), 0), os.Chmod(at(d, "d"), 0o500)) },
		"closed new": func(t require.TestingT, d, _ string) {
			must(t, os.MkdirAll(at(d, "n/m"), 0o755), os.Chmod(at(d, "n/m"), 0), os.Chmod(at(d, "n"), 0))
		},
		"retypes": func(t require.TestingT, d, _ string) {
			must(t, os.Remove(at(d, "a")), os.Mkdir(at(d, "a"), 0o755), os.RemoveAll(at(d, "d")), os.WriteFile(at(d, "d"), nil, 0o644))
		},
		"link for a directory": func(t require.TestingT, d, outside string) {
			must(t, os.RemoveAll(at(d, "d")), os.Symlink(outside, at(d, "d")))
		},
		"link for a file": func(t require.TestingT, d, outside string) {
			must(t, os.Remove(at(d, "a")), os.Symlink(at(outside, "a"), at(d, "a")))
		},
		"hard link":        func(t require.TestingT, d, outside string) { must(t, os.Link(at(d, "a"), at(outside, "linked"))) },
		"fills the module": func(t require.TestingT, d, _ string) { must(t, os.WriteFile(at(d, "module/f"), nil, 0o644)) },
		"directory swapped": func(t require.TestingT, d, _ string) {
			must(t, os.Rename(at(d, "d"), at(d, "d2")), os.Mkdir(at(d, "d"), 0o755))
		},
		"fifo": func(t require.TestingT, d, _ string) { must(t, os.Remove(at(d, "a")), unix.Mkfifo(at(d, "a"), 0o644)) },
		"git pointer": func(t require.TestingT, d, _ string) {
			must(t, os.WriteFile(at(d, ".git"), []byte("gitdir: /nowhere\n"), 0o644))
		},
		"git pointer gone": func(t require.TestingT, d, _ string) {
			must(t, os.Remove(at(d, ".git")), os.Mkdir(at(d, ".git"), 0o755))
		},
		"whole directory": func(t require.TestingT, d, _ string) { must(t, os.Rename(d, d+".old"), os.Mkdir(d, 0o755)) },
		"git directory": func(t require.TestingT, d, _ string) {
			pointer, err := os.ReadFile(at(d, ".git"))
			require.NoError(t, err)
			admin := strings.TrimSpace(strings.TrimPrefix(string(pointer), "gitdir: "))
			must(t, os.WriteFile(at(admin, "index"), []byte("broken"), 0o644), os.WriteFile(at(admin, "HEAD"), []byte("ref: refs/heads/main\n"), 0o644),
				os.WriteFile(at(admin, "index.lock"), nil, 0o644), os.WriteFile(at(admin, "commondir"), []byte("/nowhere\n"), 0o644),
				os.WriteFile(at(admin, "config.worktree"), []byte("[core]\n bare = true\n"), 0o644))
		},
	}
}

// keepTimes overwrites a file of one byte in place and puts its modification time back.
func keepTimes(t require.TestingT, path, content string) {
	info, err := os.Stat(path)
	require.NoError(t, err)
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = file.WriteString(content)
	require.NoError(t, err)
	require.NoError(t, file.Close())
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
}

func TestWhateverACheckDidIsUndone(t *testing.T) {
	t.Parallel()
	for name, damage := range poolDamages() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newPoolSandbox(t)
			pool := s.pool(t, worktree.PoolOptions{Max: 1})
			outside := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(outside, "a"), []byte("mine"), 0o644))
			lease := s.acquire(t, pool, someFiles())
			damage(t, lease.Dir(), outside)
			lease.Release()
			lease = s.acquire(t, pool, someFiles())
			s.requireHolds(t, lease, someFiles())
			head := s.gitIn(t, lease.Dir(), "rev-parse", "HEAD")
			require.Equal(t, s.git(t, "rev-parse", "main"), head)
			moved := someFiles()
			moved["a"], moved["d/y"], moved["d/e/e/p/x"] = "moved", "moved", "moved"
			again := t.TempDir()
			damage(t, lease.Dir(), again)
			lease.Release()
			lease = s.acquire(t, pool, moved)
			s.requireHolds(t, lease, moved)
			lease.Release()
			mine, err := os.ReadFile(filepath.Join(outside, "a"))
			require.NoError(t, err)
			require.Equal(t, "mine", string(mine))
			require.NoDirExists(t, filepath.Join(outside, "e"), "nothing is written through a link")
			require.NoDirExists(t, filepath.Join(again, "e"), "nothing is written through a link")
		})
	}
}

func TestAnyTreeAfterAnyDamage(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	pool := s.pool(t, worktree.PoolOptions{Max: 1})
	names := []string{"a", "b", "a-b", "c"}
	contents := []string{"1", "2", "", "exec:1", "link:b", "module:"}
	rapid.Check(t, func(t *rapid.T) {
		files := map[string]string{}
		for range rapid.IntRange(0, 8).Draw(t, "files") {
			path := strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "path"), "/")
			if !poolCollides(files, path) {
				files[path] = rapid.SampledFrom(contents).Draw(t, "content")
			}
		}
		lease := s.acquire(t, pool, files)
		defer lease.Release()
		s.requireHolds(t, lease, files)
		for range rapid.IntRange(0, 4).Draw(t, "damages") {
			path := filepath.Join(lease.Dir(), strings.Join(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(t, "at"), "/"))
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				_ = os.RemoveAll(path)
			case 1:
				_ = os.WriteFile(path, []byte("2"), 0o644)
			case 2:
				_ = os.MkdirAll(path, 0o755)
			case 3:
				_ = os.Symlink("a", path)
			}
		}
	})
}

func poolCollides(files map[string]string, path string) bool {
	for other := range files {
		if strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/") {
			return true
		}
	}
	return false
}

func TestTheTreeAfterACheckIsThatOfTheTrackedFiles(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	pool := s.pool(t, worktree.PoolOptions{})
	files := someFiles()
	lease := s.acquire(t, pool, files)
	defer lease.Release()
	got, err := lease.TreeOf(t.Context(), s.overlay)
	require.NoError(t, err)
	require.Equal(t, lease.Tree(), got)
	dir := lease.Dir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "untracked"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("edited"), 0o755))
	require.NoError(t, os.Chmod(filepath.Join(dir, "a"), 0o755))
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "d")))
	require.NoError(t, os.Remove(filepath.Join(dir, "to")))
	require.NoError(t, os.Symlink("run", filepath.Join(dir, "to")))
	got, err = lease.TreeOf(t.Context(), s.overlay)
	require.NoError(t, err)
	files["a"], files["to"] = "exec:edited", "link:run"
	delete(files, "d/e/e/p/x")
	delete(files, "d/y")
	require.Equal(t, s.tree(t, files), got)
}

func TestNewObjectsAndCommitsNeedNotBeWrittenFirst(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	pool := s.pool(t, worktree.PoolOptions{Max: 1})
	overlay := git.NewOverlay(s.repo)
	tree, err := git.EditTree(t.Context(), overlay, git.EmptyTree, []git.TreeEdit{{Path: "only/here", Entry: git.Entry{Mode: git.ModeFile, OID: overlay.PutBlob([]byte("x"))}}})
	require.NoError(t, err)
	commit := overlay.PutCommit(git.Commit{Tree: tree, Message: "m\n"})
	lease, err := pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: tree, Commit: commit, Objects: overlay})
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(lease.Dir(), "only/here"))
	require.NotEqual(t, string(commit), s.gitIn(t, lease.Dir(), "rev-parse", "HEAD"))
	lease.Release()
	lease = s.acquire(t, pool, someFiles())
	s.requireHolds(t, lease, someFiles())
	lease.Release()
	require.NoError(t, s.repo.WritePack(t.Context(), overlay.Objects()))
	lease, err = pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: tree, Commit: commit})
	require.NoError(t, err)
	require.Equal(t, string(commit), s.gitIn(t, lease.Dir(), "rev-parse", "HEAD"))
	require.Empty(t, s.gitIn(t, lease.Dir(), "status", "--porcelain", "--ignored"))
	lease.Release()
	_, err = pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: git.OID(strings.Repeat("1", 40))})
	var missing *git.MissingError
	require.ErrorAs(t, err, &missing)
	lease = s.acquire(t, pool, someFiles())
	s.requireHolds(t, lease, someFiles())
	lease.Release()
}
