package pgserver

import (
	"os"
	"path/filepath"
)

// ephemeralPrefix begins the names of directories made for ephemeral servers.
const ephemeralPrefix = "patchd-pg-"

// EphemeralDir makes a directory for an ephemeral server below parent (empty stands for the usual temporary
// directory), and deletes those there that a killed process has left.
func EphemeralDir(parent string) (string, error) {
	if parent == "" {
		parent = os.TempDir()
	}
	removeAbandoned(parent)
	return os.MkdirTemp(parent, ephemeralPrefix)
}

// removeAbandoned deletes directories of ephemeral servers whose lock nobody holds and whose server is gone. A
// directory without a lock file may be one that is just being made.
func removeAbandoned(parent string) {
	dirs, err := filepath.Glob(filepath.Join(parent, ephemeralPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range dirs {
		lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0) //nolint:gosec // names that this package gave
		if err != nil {
			continue
		}
		if flock(lock) == nil {
			file, err := readPIDFile(filepath.Join(dir, "server", "cluster"))
			if err != nil || !alive(file.pid) {
				_ = os.RemoveAll(dir) // another account's stays
			}
		}
		_ = lock.Close()
	}
}
