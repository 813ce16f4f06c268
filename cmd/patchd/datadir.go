package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Files of the data directory.
const (
	lockFile   = "lock"
	tokenFile  = "token"
	daemonFile = "daemon.json"
	socketFile = "patchd.sock"
)

// maxSocketPath is what fits into a unix socket's address on Linux, without its final NUL.
const maxSocketPath = 107

// daemonInfo is how clients find a daemon: the file daemon.json of its data directory, written when it is ready.
type daemonInfo struct {
	PID       int       `json:"pid"`
	Socket    string    `json:"socket"`
	URL       string    `json:"url,omitempty"` // of the TCP listener, where there is one
	DataDir   string    `json:"data_dir"`
	Version   string    `json:"version"`
	StartedAt time.Time `json:"started_at"`
}

// defaultDataDir follows the XDG base directory specification.
func defaultDataDir(lookup func(string) (string, bool)) string {
	if dir, ok := lookup("XDG_STATE_HOME"); ok && filepath.IsAbs(dir) {
		return filepath.Join(dir, "patchd")
	}
	if home, ok := lookup("HOME"); ok && home != "" {
		return filepath.Join(home, ".local", "state", "patchd")
	}
	return ""
}

// needDataDir is the data directory as an absolute path.
func (a *app) needDataDir() (string, error) {
	if a.DataDir == "" {
		return "", usagef("give --data-dir DIR or set PATCHD_DATA_DIR", "no data directory: neither XDG_STATE_HOME nor HOME is set")
	}
	return a.path(a.DataDir), nil
}

// dataDir is a data directory that this process holds the lock of.
type dataDir struct {
	path string
	lock *os.File
}

// lockDataDir makes the directory, for its owner only, and takes its lock: one daemon at a time.
func lockDataDir(path string) (*dataDir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	if err := os.Chmod(path, 0o700); err != nil { //nolint:gosec // a directory needs the search bit
		return nil, fmt.Errorf("protect data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, lockFile), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // the user's own data directory
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = lock.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("the data directory %s is in use by another daemon%s; stop it, or give --data-dir another directory", path, holder(path))
		}
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	return &dataDir{path, lock}, nil
}

func holder(path string) string {
	info, err := readDaemonInfo(path)
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (pid %d)", info.PID)
}

// release forgets how the daemon was found and gives the lock back.
func (d *dataDir) release() error {
	err := os.Remove(d.file(daemonFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, d.lock.Close())
}

func (d *dataDir) file(name string) string { return filepath.Join(d.path, name) }

// writeFile replaces a file at once, readable for its owner only.
func writeFile(path string, data []byte) error {
	tmp := path + ".new"
	if err := os.WriteFile(tmp, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return fmt.Errorf("replace %s: %w", filepath.Base(path), err)
	}
	return nil
}

func (d *dataDir) announce(info daemonInfo) error {
	data, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return fmt.Errorf("marshal daemon file: %w", err)
	}
	return writeFile(d.file(daemonFile), append(data, '\n'))
}

func readDaemonInfo(dir string) (daemonInfo, error) {
	var info daemonInfo
	data, err := os.ReadFile(filepath.Join(dir, daemonFile)) //nolint:gosec // the user's own data directory
	if err != nil {
		return info, fmt.Errorf("read daemon file: %w", err)
	}
	if err := json.Unmarshal(data, &info); err != nil {
		return info, fmt.Errorf("read %s: %w", filepath.Join(dir, daemonFile), err)
	}
	return info, nil
}

func readToken(dir string) (string, error) {
	data, err := os.ReadFile(filepath.Join(dir, tokenFile)) //nolint:gosec // the user's own data directory
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}
