package git_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"patchd/worktree/git"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// sandbox is a real repository for one test, and git as a user without configuration would run it there.
type sandbox struct {
	t   *testing.T
	dir string
	env []string
}

func newSandbox(t *testing.T, initArgs ...string) *sandbox {
	t.Helper()
	s := &sandbox{t: t, dir: filepath.Join(t.TempDir(), "repo")}
	s.env = []string{
		searchPath(), "HOME=" + t.TempDir(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_AUTHOR_DATE=1700000000 +0200",
		"GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.com", "GIT_COMMITTER_DATE=1700000001 -0330",
	}
	require.NoError(t, os.MkdirAll(s.dir, 0o755))
	s.git(append([]string{"init", "-q", "-b", "main"}, initArgs...)...)
	return s
}

// searchPath is where git is, and the system's own programs.
func searchPath() string {
	binary, err := exec.LookPath("git")
	if err != nil {
		return "PATH=/usr/bin:/bin"
	}
	return "PATH=" + filepath.Dir(binary) + ":/usr/local/bin:/usr/bin:/bin"
}

// in gives the same sandbox for another directory.
func (s *sandbox) in(dir string, env ...string) *sandbox {
	return &sandbox{t: s.t, dir: dir, env: append(append([]string{}, s.env...), env...)}
}

func (s *sandbox) git(args ...string) string {
	s.t.Helper()
	return s.gitIn("", args...)
}

func (s *sandbox) gitIn(stdin string, args ...string) string {
	s.t.Helper()
	out, err := s.try(stdin, args...)
	require.NoError(s.t, err, "git %v: %s", args, out)
	return strings.TrimSuffix(out, "\n")
}

func (s *sandbox) try(stdin string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.dir, s.env, strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return string(out) + stderr.String(), err
	}
	return string(out), nil
}

func (s *sandbox) write(path, content string) {
	s.t.Helper()
	full := filepath.Join(s.dir, path)
	require.NoError(s.t, os.MkdirAll(filepath.Dir(full), 0o755))
	require.NoError(s.t, os.WriteFile(full, []byte(content), 0o644))
}

// commit writes files ("" removes one) and commits everything.
func (s *sandbox) commit(files map[string]string) git.OID {
	s.t.Helper()
	for path, content := range files {
		if content == "" {
			require.NoError(s.t, os.Remove(filepath.Join(s.dir, path)))
			continue
		}
		s.write(path, content)
	}
	s.git("add", "-A")
	s.git("commit", "-q", "--allow-empty", "-m", "change")
	return s.oid("HEAD")
}

func (s *sandbox) oid(rev string) git.OID {
	s.t.Helper()
	return git.OID(s.git("rev-parse", "--verify", rev))
}

func (s *sandbox) tree(files map[string]string) git.OID {
	s.t.Helper()
	index := s.in(s.dir, "GIT_INDEX_FILE="+filepath.Join(s.t.TempDir(), "index"))
	for path, content := range files {
		blob := index.gitIn(content, "hash-object", "-w", "--stdin")
		index.git("update-index", "--add", "--cacheinfo", "100644,"+blob+","+path)
	}
	return git.OID(index.git("write-tree"))
}

func (s *sandbox) open() *git.Repo {
	s.t.Helper()
	return openAt(s.t, s.dir, git.Options{})
}

func openAt(t *testing.T, dir string, opt git.Options) *git.Repo {
	t.Helper()
	if opt.Scratch == "" {
		opt.Scratch = t.TempDir()
	}
	r, err := git.Open(t.Context(), dir, opt)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}
