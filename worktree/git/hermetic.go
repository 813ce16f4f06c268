package git

import (
	"fmt"
	"os"
	"path/filepath"
)

const (
	hermeticPrefix = "patchd-git-"
	hermeticMark   = "in-use"
)

// hermeticDir is a bare git directory of our own: an empty configuration, no attributes, an unborn HEAD, no references.
// It is held by a lock that dies with the process, so that one left behind by a crash is known for what it is.
type hermeticDir struct {
	dir  string
	lock *os.File
}

func newHermeticDir(scratch string) (*hermeticDir, error) {
	if scratch == "" {
		scratch = os.TempDir()
	}
	if err := os.MkdirAll(scratch, 0o700); err != nil {
		return nil, fmt.Errorf("make scratch directory: %w", err)
	}
	removeStale(scratch)
	dir, err := os.MkdirTemp(scratch, hermeticPrefix)
	if err != nil {
		return nil, fmt.Errorf("make scratch directory: %w", err)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, fmt.Errorf("make scratch directory: %w", err)
	}
	h := &hermeticDir{dir: dir}
	if err := h.fill(); err != nil {
		h.remove()
		return nil, fmt.Errorf("make hermetic git directory: %w", err)
	}
	return h, nil
}

func (h *hermeticDir) fill() (err error) {
	if h.lock, err = LockNewDir(h.dir, hermeticMark); err != nil {
		return err
	}
	for _, sub := range []string{"objects/info", "objects/pack", "refs", "merges"} {
		if err := os.MkdirAll(filepath.Join(h.dir, sub), 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = true\n"
	if err := os.WriteFile(filepath.Join(h.dir, "config"), []byte(config), 0o600); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.dir, "HEAD"), []byte("ref: refs/heads/none\n"), 0o600)
}

func (h *hermeticDir) remove() {
	_ = os.RemoveAll(h.dir)
	if h.lock != nil {
		_ = h.lock.Close()
	}
}

// removeStale removes the directories of processes that were killed. A directory without a lock file may be one that
// another process is just making: it stays.
func removeStale(scratch string) {
	dirs, err := filepath.Glob(filepath.Join(globQuote(scratch), hermeticPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		lock, err := TryLock(filepath.Join(dir, hermeticMark))
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}
