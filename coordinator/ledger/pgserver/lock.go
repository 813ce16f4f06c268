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
	file, err := lockFile(path)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, &LockedError{Path: path}
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	return &dirLock{dir: dir, file: file}, nil
}

// lockFile opens the file and locks it. A new one is locked before it has its name: whoever removes what killed processes left
// never finds it free.
func lockFile(path string) (*os.File, error) {
	made, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.Remove(made.Name()) }()
	if err := flock(made); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	if os.Link(made.Name(), path) == nil {
		return made, nil
	}
	_ = made.Close()
	// It is there already, or the file system has no links.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600) //nolint:gosec // the caller names the directory
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// flock locks a file, or fails at once with syscall.EWOULDBLOCK where somebody has it.
func flock(file *os.File) error {
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
}

func (l *dirLock) release() {
	if l != nil {
		_ = syscall.Flock(int(l.file.Fd()), syscall.LOCK_UN) // now: a process that is just being started has the file, too
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
