package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// worktreeStage is where git's record of a worktree is built and taken apart, beside the records in use: a git command that
// lists the worktrees meanwhile, in anybody's checkout, dies of one that is half there. What a killed process left is
// removed by the next one.
const worktreeStage = "patchd-worktree"

// recordPath is the file of a record that says where its worktree is.
const recordPath = "gitdir"

// AddWorktree adds a linked worktree at dir, an absolute path that must not exist yet, detached at a commit and without
// any file. It gives the worktree's git directory. Unlike "git worktree add" it shows the worktree to others only when it
// is complete.
func (r *Repo) AddWorktree(ctx context.Context, dir string, commit OID) (adminDir string, err error) {
	unlock, err := r.lockWorktrees(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if adminDir, err = r.addWorktree(dir, commit); err != nil {
		return "", fmt.Errorf("add worktree: %w", err)
	}
	return adminDir, nil
}

func (r *Repo) addWorktree(dir string, commit OID) (string, error) {
	records := filepath.Join(r.commonDir, "worktrees")
	admin := freeName(filepath.Join(records, filepath.Base(dir)))
	stage, err := r.emptyStage()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(records, 0o777); err != nil { //nolint:gosec // as git makes it: the umask decides
		return "", err
	}
	for _, made := range []string{stage, dir} {
		if err := os.Mkdir(made, 0o777); err != nil { //nolint:gosec // as above
			return "", err
		}
	}
	pointer := filepath.Join(dir, ".git")
	for path, text := range map[string]string{
		filepath.Join(stage, "HEAD"):      string(commit),
		filepath.Join(stage, "commondir"): "../..",
		filepath.Join(stage, recordPath):  pointer,
		pointer:                           "gitdir: " + admin,
	} {
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil { //nolint:gosec // as git writes them
			return "", err
		}
	}
	return admin, os.Rename(stage, admin)
}

// emptyStage removes what a killed process left where records are built. The lock on the worktrees must be held.
func (r *Repo) emptyStage() (string, error) {
	stage := filepath.Join(r.commonDir, worktreeStage)
	return stage, RemoveTree(stage)
}

// freeName is the path, or the path with the first number that makes it new.
func freeName(path string) string {
	name := path
	for n := 1; exists(name); n++ {
		name = path + strconv.Itoa(n)
	}
	return name
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
	if admin != "" { // git passes over a record without this file; who read it just before still finds the rest for a while
		if err := os.Remove(filepath.Join(admin, recordPath)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove worktree: %w", err)
		}
	}
	if err := RemoveTree(dir); err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	if admin != "" {
		if err := r.removeRecord(admin); err != nil {
			return fmt.Errorf("remove worktree: %w", err)
		}
		_ = os.Remove(filepath.Dir(admin)) // git, too, removes the last worktree's parent; not empty is no error
	}
	return nil
}

// removeRecord takes a record out of sight at once, and then apart.
func (r *Repo) removeRecord(admin string) error {
	stage, err := r.emptyStage()
	if err != nil {
		return err
	}
	if err := os.Rename(admin, stage); err != nil {
		return err
	}
	_, err = r.emptyStage()
	return err
}

// adminDirOf finds git's record of the worktree at dir, not trusting the ".git" file that stands there. A removal that was
// cut short is known by the record's name.
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
		text, err := os.ReadFile(filepath.Join(admin, recordPath)) //nolint:gosec // git's own record
		cut := errors.Is(err, fs.ErrNotExist) && entry.Name() == filepath.Base(dir)
		if cut || err == nil && strings.TrimRight(string(text), "\r\n") == want {
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
