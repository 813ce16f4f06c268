package git

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is one worktree of the repository, the main one first. Branch is empty when HEAD is detached.
type Worktree struct {
	Path             string
	Head             OID
	Branch           Ref
	Bare             bool
	Locked, Prunable bool
}

// Worktrees lists the repository's worktrees as git knows them.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	args := append(writePins(), "worktree", "list", "--porcelain", "-z")
	out, err := r.run(ctx, command{args: args, dir: r.commonDir, env: with(r.env, "GIT_DIR="+r.commonDir)})
	if err != nil {
		return nil, fmt.Errorf("list worktrees: %w", err)
	}
	var all []Worktree
	for field := range strings.SplitSeq(string(out), "\x00") {
		key, value, _ := strings.Cut(field, " ")
		if key == "worktree" {
			all = append(all, Worktree{Path: value})
		}
		if len(all) > 0 {
			all[len(all)-1].set(key, value)
		}
	}
	return all, nil
}

func (w *Worktree) set(key, value string) {
	switch key {
	case "HEAD":
		w.Head = OID(value)
	case "branch":
		w.Branch = Ref(value)
	case "bare":
		w.Bare = true
	case "locked":
		w.Locked = true
	case "prunable":
		w.Prunable = true
	}
}

// HeadInfo is where a worktree stands. Commit is empty on a branch without commits, Branch when HEAD is detached.
type HeadInfo struct {
	Commit OID
	Branch Ref
}

// Head reads HEAD of the worktree that dir is in, which may be another one than was opened.
func (r *Repo) Head(ctx context.Context, dir string) (HeadInfo, error) {
	where, err := discover(dir)
	if err != nil {
		return HeadInfo{}, err
	}
	at := &Repo{location: where}
	value, err := at.readLooseRef("HEAD")
	if err != nil {
		return HeadInfo{}, err
	}
	info := HeadInfo{}
	if branch, symbolic := strings.CutPrefix(value, "ref: "); symbolic {
		info.Branch = Ref(branch)
	}
	info.Commit, _, err = at.Resolve(ctx, "HEAD")
	return info, err
}

// WorktreeTree is the tree of a worktree's present state: what "git add --all" would record, tracked and untracked
// files that are not ignored, with the user's own attributes, filters and line-end settings. It uses a temporary index
// and leaves the user's alone; new objects go into the repository's store. base is the commit or tree to start from
// where the worktree has no index yet.
func (r *Repo) WorktreeTree(ctx context.Context, worktreeDir string, base OID) (OID, error) {
	where, err := discover(worktreeDir)
	if err != nil {
		return "", err
	}
	if where.bare {
		return "", &UnsupportedError{What: "reading the worktree of a bare repository", Hint: "name a commit instead"}
	}
	temp, err := os.MkdirTemp(r.hermetic.dir, "index-")
	if err != nil {
		return "", fmt.Errorf("read worktree: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()
	index := filepath.Join(temp, "index")
	run := func(args ...string) ([]byte, error) {
		args = append(pins("core.fsmonitor=false", "core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false", "core.safecrlf=false"), args...)
		env := with(r.userEnv(), "GIT_INDEX_FILE="+index)
		return r.run(ctx, command{args: args, dir: where.dir, env: env})
	}
	if err := copyIndex(filepath.Join(where.gitDir, "index"), index); err != nil {
		return "", err
	}
	if !exists(index) && base != "" {
		if _, err := run("read-tree", string(base)); err != nil {
			return "", fmt.Errorf("read worktree: %w", err)
		}
	}
	if _, err := run("add", "--all", "--", "."); err != nil {
		return "", fmt.Errorf("read worktree: %w", err)
	}
	out, err := run("write-tree")
	if err != nil {
		return "", fmt.Errorf("read worktree: %w", err)
	}
	return ParseOID(strings.TrimSpace(string(out)))
}

// userEnv is the environment in which the user's own settings apply.
func (r *Repo) userEnv() []string {
	if len(r.opt.UserEnv) == 0 {
		return r.env
	}
	return userEnv(r.opt.UserEnv)
}

// copyIndex copies an index with its time: git compares the content of files that are no older than the index that knows them,
// since an edit within the same second may leave size and time as they were.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	data, err := os.ReadFile(from) //nolint:gosec // the worktree's own index
	if err != nil {
		return fmt.Errorf("read index: %w", err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil { //nolint:gosec // a path in our own directory
		return fmt.Errorf("copy index: %w", err)
	}
	if err := os.Chtimes(to, info.ModTime(), info.ModTime()); err != nil {
		return fmt.Errorf("copy index: %w", err)
	}
	return nil
}

// DiffBytes is the difference between two trees in git's format: binary content included, full object ids, renames at
// 50 %, no external programs, no colours, nothing configurable.
func (r *Repo) DiffBytes(ctx context.Context, from, to OID) ([]byte, error) {
	args := append(mergePins(), "diff-tree", "-r", "-p", "--binary", "--full-index", "--find-renames=50%", "-l1000",
		"--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "--diff-algorithm=histogram", "--unified=3",
		"--inter-hunk-context=0", "--src-prefix=a/", "--dst-prefix=b/", "--ignore-submodules=none", "--submodule=short",
		"--end-of-options", string(from), string(to))
	env := with(r.env, "GIT_DIR="+r.hermetic.dir, "GIT_OBJECT_DIRECTORY="+r.objectDir)
	out, err := r.run(ctx, command{args: args, dir: r.hermetic.dir, env: env})
	if err != nil {
		return nil, fmt.Errorf("diff trees: %w", err)
	}
	return out, nil
}
