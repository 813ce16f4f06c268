// Package migrations owns the numbered SQL files that make the database schema, embedded in the program.
//
// It only reads and numbers them: applying them, and recording what was applied, is the ledger's work. A file
// that was released is never edited; a change of the schema is a new pair of files.
package migrations

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"sort"
	"strconv"
)

//go:embed *.sql
var files embed.FS

// Migration is one numbered step of the schema, with the SQL of both directions.
type Migration struct {
	// Version is the file's number, starting at 1 and without gaps.
	Version int
	// Name is the part of the file name between the number and ".up.sql".
	Name string
	// Up and Down are the SQL of the two directions, each run in one transaction.
	Up, Down string
}

// Checksum is the SHA-256 of both directions in lower-case hex: it is recorded when the migration is applied.
func (m Migration) Checksum() string {
	sum := sha256.Sum256([]byte(m.Up + "\x00" + m.Down))
	return hex.EncodeToString(sum[:])
}

// All gives the program's migrations in ascending order of version.
func All() ([]Migration, error) { return Read(files) }

// Read gives the migrations stored in the root of fsys as NNNN_name.up.sql and NNNN_name.down.sql, in ascending
// order. A missing half, a gap in the numbers, or another file name is an error.
func Read(fsys fs.FS) ([]Migration, error) {
	pattern := regexp.MustCompile(`^([0-9]{4})_([a-z0-9_]+)\.(up|down)\.sql$`)
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	byVersion := map[int]*Migration{}
	for _, name := range names {
		parts := pattern.FindStringSubmatch(name)
		if parts == nil {
			return nil, fmt.Errorf("read migrations: file name %q is not NNNN_name.(up|down).sql", name)
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, fmt.Errorf("read migration %q: %w", name, err)
		}
		version, err := strconv.Atoi(parts[1])
		if err != nil {
			return nil, fmt.Errorf("read migration %q: %w", name, err)
		}
		m := byVersion[version]
		if m == nil {
			m = &Migration{Version: version, Name: parts[2]}
			byVersion[version] = m
		}
		if m.Name != parts[2] {
			return nil, fmt.Errorf("read migrations: number %d is used by %q and %q", version, m.Name, parts[2])
		}
		if parts[3] == "up" {
			m.Up = string(text)
		} else {
			m.Down = string(text)
		}
	}
	return inOrder(byVersion)
}

func inOrder(byVersion map[int]*Migration) ([]Migration, error) {
	all := make([]Migration, 0, len(byVersion))
	for _, m := range byVersion {
		all = append(all, *m)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Version < all[j].Version })
	for i, m := range all {
		if m.Version != i+1 {
			return nil, fmt.Errorf("read migrations: number %d is missing", i+1)
		}
		if m.Up == "" || m.Down == "" {
			return nil, fmt.Errorf("read migration %d: one direction is missing or empty", m.Version)
		}
	}
	return all, nil
}
