package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// AddWorktree adds a linked worktree at dir, which must not exist yet, detached at a commit and without any file. It
// gives the worktree's git directory. Additions to one repository are made one after another, across processes too:
// git's own lose races.
func (r *Repo) AddWorktree(ctx context.Context, dir string, commit OID) (adminDir string, err error) {
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	args := append(writePins(), "worktree", "add", "--quiet", "--detach", "--no-checkout", "--end-of-options", dir, string(commit))
	if _, err := r.run(ctx, command{args: args, dir: r.commonDir, env: with(r.env, "GIT_DIR="+r.commonDir)}); err != nil {
		return "", fmt.Errorf("add worktree: %w", err)
	}
	return readGitFile(filepath.Join(dir, ".git"))
}

// RemoveWorktree removes a linked worktree with everything in it, whatever state it is in, and git's record of it. The
// main worktree is refused; one that is gone already is no error.
func (r *Repo) RemoveWorktree(ctx context.Context, dir string) error {
	if abs, err := filepath.Abs(dir); err != nil || abs == r.dir || strings.HasPrefix(r.commonDir+"/", abs+"/") {
		return fmt.Errorf("remove worktree %q: it holds the repository itself", dir)
	}
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	admin, err := r.adminDirOf(dir)
	if err != nil {
		return err
	}
	if err := RemoveTree(dir); err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	if admin != "" {
		if err := os.RemoveAll(admin); err != nil {
			return fmt.Errorf("remove worktree: %w", err)
		}
		_ = os.Remove(filepath.Dir(admin)) // git, too, removes the last worktree's parent; not empty is no error
	}
	return nil
}

// adminDirOf finds git's record of the worktree at dir, not trusting the ".git" file that stands there.
func (r *Repo) adminDirOf(dir string) (string, error) {
	entries, err := os.ReadDir(filepath.Join(r.commonDir, "worktrees"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("list worktrees: %w", err)
	}
	want := filepath.Join(dir, ".git")
	for _, entry := range entries {
		admin := filepath.Join(r.commonDir, "worktrees", entry.Name())
		text, err := os.ReadFile(filepath.Join(admin, "gitdir")) //nolint:gosec // git's own record
		if err == nil && strings.TrimRight(string(text), "\r\n") == want {
			return admin, nil
		}
	}
	return "", nil
}

// lockWorktrees holds an advisory lock on the git directory itself: it leaves no file, and ends with the process.
func (r *Repo) lockWorktrees(ctx context.Context) (unlock func(), err error) {
	select {
	case r.worktreeTurn <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("lock worktrees: %w", ctx.Err())
	}
	handle, err := os.Open(r.commonDir)
	if err == nil {
		err = flockRetrying(handle)
	}
	if err != nil {
		<-r.worktreeTurn
		return nil, fmt.Errorf("lock worktrees: %w", err)
	}
	return func() {
		_ = handle.Close()
		<-r.worktreeTurn
	}, nil
}

func flockRetrying(handle *os.File) error {
	for {
		err := syscall.Flock(int(handle.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// RemoveTree removes a directory with all below it, also where permissions were taken from directories in it.
func RemoveTree(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	// WalkDir visits a directory before it reads it, so each is opened up in time.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) //nolint:gosec // a directory that is about to be removed
		}
		return nil
	})
	return os.RemoveAll(dir)
}
