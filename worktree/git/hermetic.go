package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

const hermeticPrefix = "patchd-git-"

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
	if h.lock, err = tryLock(filepath.Join(h.dir, "in-use"), true); err != nil {
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
		lock, err := tryLock(filepath.Join(dir, "in-use"), false)
		if err != nil {
			continue
		}
		_ = os.RemoveAll(dir)
		_ = lock.Close()
	}
}

var errHeld = errors.New("lock is held by a living process")

// tryLock takes an advisory lock that the system releases when the process ends, however it ends.
func tryLock(path string, create bool) (*os.File, error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	file, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // a path of our own
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, errHeld
	}
	return file, nil
}
