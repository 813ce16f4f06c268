package git

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// LockNewDir marks a directory that the caller just made as in use. The mark is locked before it has its name, so that whoever
// removes what killed processes left never finds it free: see TryLock.
func LockNewDir(dir, mark string) (*os.File, error) {
	path := filepath.Join(dir, mark)
	file, err := os.OpenFile(path+".new", os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600) //nolint:gosec // a path of our own
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// TryLock takes an advisory lock that the system releases when the process ends, however it ends. It fails at once where
// somebody holds it, or the file does not exist.
func TryLock(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0) //nolint:gosec // a path of our own
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func flock(file *os.File) error {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return &os.PathError{Op: "lock", Path: file.Name(), Err: err}
	}
	return nil
}
