package pgserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// dirLock is a held lock on a data directory. The kernel gives it back when the process ends, however it ends.
type dirLock struct {
	dir  string // absolute, without symbolic links
	file *os.File
}

// lockDir makes the directory and locks it, or says who is in the way.
func lockDir(dir string, who account) (*dirLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	dir, err := resolved(dir)
	if err != nil {
		return nil, err
	}
	if who.drop { // the server's account passes through; it lists nothing
		if err := os.Chmod(dir, 0o711); err != nil { //nolint:gosec // the only way to a directory below
			return nil, fmt.Errorf("open data directory to the server's account: %w", err)
		}
	}
	path := filepath.Join(dir, "lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller names the directory
	if err != nil {
		return nil, fmt.Errorf("open lock file: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &LockedError{Path: path}
		}
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	return &dirLock{dir: dir, file: file}, nil
}

func (l *dirLock) release() {
	if l != nil {
		_ = l.file.Close()
	}
}

func resolved(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("resolve data directory: %w", err)
	}
	return dir, nil
}
