package coordinator_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// The mode in which this test binary decides one patch in the environment that it was started in, and its arguments.
const decideMode = "test-decide"

// decideHere decides "DIR TARGET MANIFEST DIFF SCRATCH UMASK" and prints plan digest, decision digest, commit and tree.
func decideHere(t *testing.T, args []string) {
	t.Helper()
	syscall.Umask(int(args[5][0] - '0'))
	manifest, err := os.ReadFile(args[2])
	require.NoError(t, err)
	patch, err := os.ReadFile(args[3])
	require.NoError(t, err)
	s, err := coordinator.Admit(manifest, patch)
	require.NoError(t, err)
	repo, err := git.Open(t.Context(), args[0], git.Options{Scratch: args[4]})
	require.NoError(t, err)
	defer func() { require.NoError(t, repo.Close()) }()
	d, plan, err := coordinator.NewEngine(coordinator.EngineConfig{Repo: repo}).Decide(t.Context(), git.OID(args[1]), s, nil)
	require.NoError(t, err)
	answer := []string{string(d.PlanDigest), string(d.DecisionDigest), string(d.Outcome), strings.Join(codeNames(d), ",")}
	if d.Candidate != nil {
		objects, err := plan.Objects.Reachable(t.Context(), d.Candidate.Commit)
		require.NoError(t, err)
		require.NoError(t, repo.WritePack(t.Context(), objects))
		answer = append(answer, string(d.Candidate.Commit), string(d.Candidate.Tree))
	}
	require.NoError(t, os.WriteFile(filepath.Join(args[4], "answer"), []byte(strings.Join(answer, "\n")), 0o600))
}

func codeNames(d *coordinator.Decision) []string {
	var names []string
	for _, c := range d.Codes() {
		names = append(names, string(c))
	}
	return names
}

// TestDecideInAnotherProcess is no test: TestNothingLocalReachesADecision starts it.
func TestDecideInAnotherProcess(t *testing.T) { //nolint:paralleltest // it sets the umask of a process of its own
	args := os.Getenv(decideMode) //nolint:forbidigo // how the test tells its other process
	if args == "" {
		t.Skip("runs in a process of its own")
	}
	decideHere(t, strings.Split(args, "\n"))
}

// place is a clone and the environment in which a patch is decided there.
type place struct {
	dir   string
	env   []string
	umask string
	as    *syscall.Credential
}

// hostileCase is one patch with what plain git makes of it.
type hostileCase struct {
	*gittest.Repo
	base, target, patched string
	manifest, patch       string // files
}

// newHostileCase is a patch that shares a file with what landed, so that a merge is asked for. Two more files are what
// attributes, drivers and filters fasten on.
func newHostileCase(t *testing.T) hostileCase {
	t.Helper()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines, "src/g.go": "package g\n\nfunc G() int {\n\treturn 1\n}\n\nfunc H() int {\n\treturn 2\n}\n"})
	b.Git("checkout", "-q", "-b", "patched")
	patched := b.Commit("patched", gittest.Tree{"f": edited("two", "TWO\n"), "src/g.go": "package g\n\nfunc G() int {\n\treturn 11\n}\n\nfunc H() int {\n\treturn 2\n}\n"})
	patch := b.Diff(base, patched)
	b.Git("checkout", "-q", "main")
	target := b.Commit("landed", gittest.Tree{"f": edited("nine", "NINE\n"), "src/g.go": "package g\n\nfunc G() int {\n\treturn 1\n}\n\nfunc H() int {\n\treturn 22\n}\n"})
	c := hostileCase{Repo: b.Repo, base: base, target: target, patched: patched}
	dir, err := os.MkdirTemp("", "patchd-hostile-") //nolint:usetesting // another account reads it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	c.manifest, c.patch = filepath.Join(dir, "manifest.json"), filepath.Join(dir, "patch.diff")
	require.NoError(t, os.WriteFile(c.manifest, manifestOf(t, base, patch), 0o644))
	require.NoError(t, os.WriteFile(c.patch, patch, 0o644))
	return c
}

// clone copies the repository into a new directory, as readable as as needs.
func (c hostileCase) clone(t *testing.T, name string) *place {
	t.Helper()
	root, err := os.MkdirTemp("", "patchd-hostile-") //nolint:usetesting // another account works in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(root)) })
	require.NoError(t, os.Chmod(root, 0o755))
	p := &place{dir: filepath.Join(root, name), umask: "2"}
	c.Git("clone", "-q", "--no-hardlinks", c.Dir(), p.dir)
	p.git(t, "branch", "-q", "patched", "origin/patched")
	home := filepath.Join(root, "home")
	require.NoError(t, os.MkdirAll(filepath.Join(root, "scratch"), 0o755))
	require.NoError(t, os.MkdirAll(home, 0o755))
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + os.TempDir()} //nolint:forbidigo // for a process of the test
	return p
}

func (p *place) root() string { return filepath.Dir(p.dir) }

func (p *place) write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o755))
}

// git runs plain git in the clone, with whatever the place's environment does to it.
func (p *place) git(t *testing.T, args ...string) string {
	t.Helper()
	out, err := p.plain(t, args...)
	require.NoError(t, err, out)
	return strings.TrimSpace(out)
}

func (p *place) plain(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = p.dir
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e", //nolint:forbidigo // for git
	}, p.env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// merges is the tree that plain `git merge` makes of the patch there, or "conflict".
func (p *place) merges(t *testing.T, c hostileCase) string {
	t.Helper()
	p.git(t, "checkout", "-q", "-f", "--detach", c.target)
	if out, err := p.plain(t, "merge", "-q", "--no-edit", c.patched); err != nil {
		require.Contains(t, out, "CONFLICT", out)
		p.git(t, "merge", "--abort")
		return "conflict"
	}
	return p.git(t, "rev-parse", "HEAD^{tree}")
}

// decides is what patchd decides there, in a process of its own.
func (p *place) decides(t *testing.T, c hostileCase) []string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	scratch := filepath.Join(p.root(), "scratch")
	if p.as != nil { // the test binary's own directory is closed to others
		copied := filepath.Join(p.root(), "test") // by another process: a descriptor of ours could be inherited, and keep it busy
		require.NoError(t, exec.CommandContext(t.Context(), "install", "-m", "755", self, copied).Run())
		self = copied
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestDecideInAnotherProcess$")
	cmd.Env = append([]string{decideMode + "=" + strings.Join([]string{p.dir, c.target, c.manifest, c.patch, scratch, p.umask}, "\n")}, p.env...)
	cmd.Dir = p.root()
	if p.as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: p.as}
	}
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	answer, err := os.ReadFile(filepath.Join(scratch, "answer"))
	require.NoError(t, err, string(out))
	return strings.Split(string(answer), "\n")
}

// another gives the place to an account that is not the test's; false where the test may not.
func (p *place) another(t *testing.T) bool {
	t.Helper()
	nobody, err := user.Lookup("nobody")
	if err != nil || os.Getuid() != 0 {
		return false
	}
	uid, gid := number(nobody.Uid), number(nobody.Gid)
	p.as = &syscall.Credential{Uid: uid, Gid: gid}
	require.NoError(t, filepath.WalkDir(p.root(), func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, int(uid), int(gid))
	}))
	return true
}

func number(s string) (n uint32) {
	for _, c := range s {
		n = 10*n + uint32(c-'0')
	}
	return n
}

func TestNothingLocalReachesADecision(t *testing.T) {
	t.Parallel()
	c := newHostileCase(t)
	plain := c.clone(t, "plain")
	want, tree := plain.decides(t, c), plain.merges(t, c)
	require.Equal(t, "candidate", want[2])
	require.Equal(t, tree, want[5], "git's own merge of undisturbed content")
	for name, h := range map[string]struct {
		plant  func(*testing.T, *place)
		upsets bool // plain git merges otherwise there
	}{
		"another account, time zone, locale and umask": {func(t *testing.T, p *place) {
			t.Helper()
			p.umask = "7"
			p.env = append(p.env, "TZ=Pacific/Kiritimati", "LC_ALL=de_DE.UTF-8", "LANG=tr_TR.UTF-8", "USER=somebody", "LOGNAME=somebody", "EMAIL=x@example.com")
			if !p.another(t) {
				t.Log("not root: the account stays the same")
			}
		}, false},
		"a hostile ~/.gitconfig": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.root(), "home", ".gitattributes"), "* -merge\n")
			p.write(t, filepath.Join(p.root(), "home", ".gitconfig"), "[user]\n name = x\n[core]\n attributesFile = ~/.gitattributes\n autocrlf = true\n[merge]\n renames = false\n conflictStyle = diff3\n[diff]\n algorithm = patience\n[commit]\n gpgSign = true\n[i18n]\n commitEncoding = latin1\n")
		}, true},
		"GIT_ variables": {func(_ *testing.T, p *place) {
			p.env = append(p.env, "GIT_DIR=/nowhere", "GIT_INDEX_FILE=/nowhere", "GIT_OBJECT_DIRECTORY=/nowhere", "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=merge.default", "GIT_CONFIG_VALUE_0=union", "GIT_EXTERNAL_DIFF=/bin/false", "GIT_AUTHOR_DATE=1", "GIT_COMMITTER_NAME=zz")
		}, false},
		".git/info/attributes": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.dir, ".git/info/attributes"), "* -merge\n")
		}, true},
		"an untracked .gitattributes": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.dir, ".gitattributes"), "* -merge\n")
		}, true},
		"merge.default": {func(t *testing.T, p *place) {
			t.Helper()
			p.git(t, "config", "merge.default", "binary")
		}, true},
		"core.attributesFile": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.root(), "attributes"), "f merge=binary\n")
			p.git(t, "config", "core.attributesFile", filepath.Join(p.root(), "attributes"))
		}, true},
		"a merge driver": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.dir, ".git/info/attributes"), "* merge=evil\n")
			p.git(t, "config", "merge.evil.driver", "echo evil >%A")
		}, true},
		"filters": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.dir, ".git/info/attributes"), "* filter=evil\n")
			p.git(t, "config", "filter.evil.clean", "tr a-z A-Z")
			p.git(t, "config", "filter.evil.smudge", "tr a-z A-Z")
			p.git(t, "config", "filter.evil.required", "true")
		}, false},
		"hooks": {func(t *testing.T, p *place) {
			t.Helper()
			for _, hook := range []string{"reference-transaction", "post-index-change", "pre-commit", "post-checkout", "pre-merge-commit"} {
				p.write(t, filepath.Join(p.root(), "hooks", hook), "#!/bin/sh\necho ran >>"+filepath.Join(p.root(), "ran")+"\nexit 1\n")
			}
			p.git(t, "config", "core.hooksPath", filepath.Join(p.root(), "hooks"))
		}, false},
		"a replace ref": {func(t *testing.T, p *place) {
			t.Helper()
			other := p.git(t, "commit-tree", "-m", "other", c.base+"^{tree}")
			p.git(t, "replace", c.target, other)
		}, false},
		"a graft": {func(t *testing.T, p *place) {
			t.Helper()
			p.write(t, filepath.Join(p.dir, ".git/info/grafts"), c.target+"\n")
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := c.clone(t, "a directory of another name")
			h.plant(t, p)
			require.Equal(t, want, p.decides(t, c))
			require.NoFileExists(t, filepath.Join(p.root(), "ran"))
			if h.upsets {
				require.NotEqual(t, tree, p.merges(t, c), "plain git is changed by it, so the case says something")
			}
		})
	}
}

// manifestOf is a manifest for a diff, without anything optional.
func manifestOf(t *testing.T, base string, patch []byte) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{
		"patch_id": "p", "base_commit": base, "paths": pathsOf(patch), "owned_hunks": []any{}, "required_checks": []any{}, "diff_sha256": coordinator.SHA256(patch),
	})
	require.NoError(t, err)
	return raw
}
