// Package gittest gives tests real git repositories whose commits have the same ids on every machine and in every run. It
// runs the git binary in an environment of its own, so that no configuration of the host takes part, unless a test plants
// some on purpose.
package gittest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec" //nolint:depguard // tests run real git
	"path/filepath"
	"sort"
	"strings"
)

// TB is the part of testing.TB that is needed here.
type TB interface {
	Helper()
	TempDir() string
	Context() context.Context
	Fatalf(format string, args ...any)
}

// epoch is the committer date of the first commit; each later one is a minute after the one before.
const epoch = 1_700_000_000

// Repo is a repository with a checkout.
type Repo struct {
	t   TB
	dir string
	n   int
	env []string
}

// Tree is what a commit changes: contents by path. A content of Deleted removes the path; one that begins with Link makes a
// symbolic link to the rest.
type Tree map[string]string

// Contents with a meaning.
const (
	Deleted = "\x00deleted"
	Link    = "\x00link:"
	Script  = "\x00exec:" // an executable file
)

// New makes an empty repository on branch main.
func New(t TB) *Repo {
	t.Helper()
	r := &Repo{t: t, dir: filepath.Join(t.TempDir(), "repo")}
	r.env = []string{
		"PATH=" + os.Getenv("PATH"), //nolint:forbidigo // where git is
		"HOME=" + t.TempDir(), "LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "TZ=UTC",
		"GIT_AUTHOR_NAME=A U Thor", "GIT_AUTHOR_EMAIL=author@example.com", "GIT_COMMITTER_NAME=C O Mitter", "GIT_COMMITTER_EMAIL=committer@example.com",
	}
	if err := os.MkdirAll(r.dir, 0o755); err != nil { //nolint:gosec // a checkout is readable
		t.Fatalf("make repository: %v", err)
	}
	r.Git("init", "-q", "-b", "main")
	r.Git("config", "core.autocrlf", "false")
	return r
}

// Dir is the checkout.
func (r *Repo) Dir() string { return r.dir }

// Git runs git in the checkout and gives its output without the final newline; a failure ends the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	out, err := r.Try(nil, args...)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Try runs git with more environment and gives what it printed, exactly.
func (r *Repo) Try(env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(r.t.Context(), "git", args...) //nolint:gosec // of a test
	cmd.Dir = r.dir
	date := fmt.Sprintf("%d +0000", epoch+60*r.n)
	cmd.Env = append(append(append([]string{}, r.env...), "GIT_AUTHOR_DATE="+date, "GIT_COMMITTER_DATE="+date), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.Bytes(), fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, stderr.String())
	}
	return stdout.Bytes(), nil
}

// Write changes the checkout without committing.
func (r *Repo) Write(files Tree) {
	r.t.Helper()
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	for _, path := range paths {
		if err := write(filepath.Join(r.dir, path), files[path]); err != nil {
			r.t.Fatalf("write %q: %v", path, err)
		}
	}
}

func write(path, content string) error {
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	if content == Deleted {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // a checkout is readable
		return err
	}
	if to, ok := strings.CutPrefix(content, Link); ok {
		return os.Symlink(to, path)
	}
	mode := os.FileMode(0o644)
	body, script := strings.CutPrefix(content, Script)
	if script {
		mode = 0o755
	}
	return os.WriteFile(path, []byte(body), mode)
}

// Commit changes files on top of HEAD and commits; the message's first line is its title.
func (r *Repo) Commit(message string, files Tree) string {
	r.t.Helper()
	r.Write(files)
	r.Git("add", "-A")
	r.n++
	r.Git("commit", "-q", "--allow-empty", "-m", message)
	return r.Git("rev-parse", "HEAD")
}

// Checkout goes to a commit without a branch, or to a branch.
func (r *Repo) Checkout(to string) {
	r.t.Helper()
	if strings.HasPrefix(r.Git("rev-parse", "--symbolic-full-name", to), "refs/heads/") {
		r.Git("checkout", "-q", "-f", to)
		return
	}
	r.Git("checkout", "-q", "-f", "--detach", to)
}

// Diff is the binary-safe difference of two commits, as a patch is handed in.
func (r *Repo) Diff(from, to string, options ...string) []byte {
	r.t.Helper()
	args := append([]string{"diff", "--binary", "--full-index", "-M"}, options...)
	out, err := r.Try(nil, append(args, from, to, "--")...)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	return out
}

// Change gives the diff that the files make on top of base, and leaves the branch and the checkout as they were.
func (r *Repo) Change(base string, files Tree) []byte {
	r.t.Helper()
	branch := r.Git("rev-parse", "--abbrev-ref", "HEAD")
	r.Checkout(base)
	at := r.Commit("change", files)
	out := r.Diff(base, at)
	r.Checkout(branch)
	return out
}
