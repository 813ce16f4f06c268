package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"patchd/worktree/git"
)

const (
	poolPrefix = "patchd-pool-"
	poolMarker = "in-use"
)

// poolHome is the directory of one pool. Its marker names the repository and is locked for as long as the process
// lives, so that another process can tell what a crash left behind from what is in use.
type poolHome struct {
	dir    string
	marker *os.File
}

func newPoolHome(ctx context.Context, repo *git.Repo, parent string, log *slog.Logger) (*poolHome, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil { //nolint:gosec // checks of another user must reach their worktree
		return nil, err
	}
	parent, err := filepath.Abs(parent)
	if err == nil {
		parent, err = filepath.EvalSymlinks(parent)
	}
	if err != nil {
		return nil, err
	}
	if within(parent, repo.CommonDir()) || !repo.Bare() && within(parent, repo.Dir()) {
		return nil, fmt.Errorf("%q lies in the repository at %q: choose a directory outside", parent, repo.Dir())
	}
	removeLeftovers(ctx, repo, parent, log)
	dir, err := os.MkdirTemp(parent, poolPrefix)
	if err != nil {
		return nil, err
	}
	home := &poolHome{dir: dir}
	if home.marker, err = git.LockNewDir(dir, poolMarker); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	if _, err = home.marker.WriteString(repo.CommonDir()); err == nil {
		err = os.Chmod(dir, 0o755) //nolint:gosec // as above
	}
	if err != nil {
		return nil, errors.Join(err, home.remove())
	}
	return home, nil
}

func (h *poolHome) remove() error {
	return errors.Join(git.RemoveTree(h.dir), h.marker.Close())
}

// removeLeftovers removes the pools of this repository whose process is gone. Pools of others, and directories without
// our marker, are left alone.
func removeLeftovers(ctx context.Context, repo *git.Repo, parent string, log *slog.Logger) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	for _, entry := range entries {
		if !entry.IsDir() || !strings.HasPrefix(entry.Name(), poolPrefix) {
			continue
		}
		dir := filepath.Join(parent, entry.Name())
		marker, err := git.TryLock(filepath.Join(dir, poolMarker))
		if err != nil {
			continue
		}
		if err := removeLeftover(ctx, repo, dir, marker.Name()); err != nil {
			log.WarnContext(ctx, "left-over worktrees could not be removed", "dir", dir, "error", err)
		}
		_ = marker.Close()
	}
}

func removeLeftover(ctx context.Context, repo *git.Repo, dir, marker string) error {
	owner, err := os.ReadFile(marker) //nolint:gosec // a file of our own
	if err != nil {
		return err
	}
	if string(owner) != repo.CommonDir() {
		if _, err := os.Stat(string(owner)); len(owner) == 0 || !errors.Is(err, fs.ErrNotExist) { //nolint:gosec // only asked whether it exists
			return nil
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		if err := repo.RemoveWorktree(ctx, filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	return git.RemoveTree(dir)
}

func unixEpoch() time.Time { return time.Unix(0, 0).UTC() }
