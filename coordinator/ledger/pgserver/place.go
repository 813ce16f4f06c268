package pgserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

const (
	// farAreas is where root's servers live whose account cannot reach the data directory.
	farAreas = "/var/lib/patchd-postgres"
	// maxSocketDir is what sun_path (108 bytes with its NUL) leaves beside "/.s.PGSQL.5432".
	maxSocketDir = 107 - len("/.s.PGSQL.5432")
)

// place is where a server's files are.
type place struct {
	pointer string // the file that names a far area; empty when the area is in the data directory
	area    string
	socket  string
}

func (p place) cluster() string { return filepath.Join(p.area, "cluster") }
func (p place) logFile() string { return filepath.Join(p.area, "log", "server.log") }

// settle finds or makes the server's directories for a locked data directory.
func settle(dataDir string, who account) (place, error) {
	p, err := settleArea(dataDir, who)
	if err != nil {
		return place{}, fmt.Errorf("make the server's directory: %w", err)
	}
	if err := who.own(filepath.Join(p.area, "log")); err != nil {
		return p, fmt.Errorf("make log directory: %w", err)
	}
	p.socket, err = socketDir(p.area, who)
	if err != nil {
		return p, fmt.Errorf("make socket directory: %w", err)
	}
	return p, nil
}

func settleArea(dataDir string, who account) (place, error) {
	near := place{area: filepath.Join(dataDir, "server")}
	if who.canEnter(dataDir) {
		return near, who.own(near.area)
	}
	far := place{pointer: filepath.Join(dataDir, "location")}
	recorded, err := os.ReadFile(far.pointer)
	if err == nil {
		far.area = strings.TrimSpace(string(recorded))
		if filepath.Dir(far.area) != farAreas {
			return place{}, fmt.Errorf("%q names %q, which is not below %q", far.pointer, far.area, farAreas)
		}
		return far, who.own(far.area)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return place{}, err
	}
	if err := os.MkdirAll(farAreas, 0o711); err != nil { //nolint:gosec // the server's account passes through
		return place{}, err
	}
	if far.area, err = os.MkdirTemp(farAreas, "server-"); err != nil {
		return place{}, err
	}
	if err := who.own(far.area); err != nil {
		return place{}, err
	}
	return far, os.WriteFile(far.pointer, []byte(far.area+"\n"), 0o600) //nolint:gosec // in the data directory
}

// socketDir is "run" in the area, or a short private directory under the temporary one when that path is too
// long for a socket; "run-dir" in the area then names it.
func socketDir(area string, who account) (string, error) {
	near := filepath.Join(area, "run")
	if len(near) <= maxSocketDir {
		return near, who.own(near)
	}
	pointer := filepath.Join(area, "run-dir")
	if recorded, err := os.ReadFile(pointer); err == nil { //nolint:gosec // the server's own directory
		dir := strings.TrimSpace(string(recorded))
		if who.own(dir) == nil {
			return dir, nil
		}
	}
	parent := os.TempDir()
	if len(parent)+len("/patchd-0123456789") > maxSocketDir {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "patchd-")
	if err != nil {
		return "", err
	}
	if err := who.own(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(pointer, []byte(dir+"\n"), 0o600)
}

// remove deletes the server's files.
func (p place) remove() {
	for _, path := range []string{p.socket, p.area, p.pointer} {
		if path != "" {
			_ = os.RemoveAll(path) // nothing can be done about what stays
		}
	}
}
