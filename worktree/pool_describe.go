package worktree

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"

	"patchd/worktree/git"
)

// describe makes HEAD and the index of the worktree say what its files are, so that git commands in a check find a clean
// worktree. Whatever else a check put into the worktree's git directory goes.
func (t *poolTree) describe(ctx context.Context, commit git.OID) error {
	if commit != "" && commit != t.head {
		has, err := t.repo.Has(ctx, commit)
		if err != nil {
			return err
		}
		if has {
			t.head = commit
		}
	}
	if err := t.cleanAdmin(); err != nil {
		return fmt.Errorf("describe worktree: %w", err)
	}
	files := map[string][]byte{"HEAD": []byte(string(t.head) + "\n")}
	maps.Copy(files, t.links)
	for name, content := range files {
		path := filepath.Join(t.admin, name)
		if present, err := os.ReadFile(path); err == nil && bytes.Equal(present, content) { //nolint:gosec // our own worktree's
			continue
		}
		if err := replaceFile(path, content); err != nil {
			return fmt.Errorf("describe worktree: %w", err)
		}
	}
	index, err := git.EncodeIndex(t.indexEntries())
	if err != nil {
		return fmt.Errorf("describe worktree: %w", err)
	}
	if err := replaceFile(filepath.Join(t.admin, "index"), index); err != nil {
		return fmt.Errorf("describe worktree: %w", err)
	}
	return nil
}

// cleanAdmin removes everything but the files that are about to be checked and the log of HEAD.
func (t *poolTree) cleanAdmin() error {
	entries, err := os.ReadDir(t.admin)
	if err != nil {
		return err
	}
	keep := map[string]bool{"HEAD": true, "index": true, "commondir": true, "gitdir": true, "logs": true}
	for _, entry := range entries {
		path := filepath.Join(t.admin, entry.Name())
		if keep[entry.Name()] && (entry.Type().IsRegular() || entry.Name() == "logs" && entry.IsDir()) {
			continue
		}
		if err := git.RemoveTree(path); err != nil {
			return err
		}
	}
	return nil
}

func replaceFile(path string, content []byte) error {
	temp := path + ".new"
	if err := os.WriteFile(temp, content, 0o644); err != nil { //nolint:gosec // as git writes them
		return err
	}
	return os.Rename(temp, path)
}

func (t *poolTree) indexEntries() []git.IndexEntry {
	entries := make([]git.IndexEntry, 0, 1024)
	return t.root.appendIndex(entries, "")
}

func (d *poolDir) appendIndex(entries []git.IndexEntry, path string) []git.IndexEntry {
	for _, name := range d.names() {
		if sub, ok := d.dirs[name[:len(name)-1]]; ok && name[len(name)-1] == '/' {
			entries = sub.appendIndex(entries, poolJoin(path, name[:len(name)-1]))
			continue
		}
		file := d.files[name]
		entry := git.IndexEntry{PathEntry: git.PathEntry{Path: poolJoin(path, name), Entry: file.entry}}
		if file.entry.Mode != git.ModeGitlink {
			entry.Stat = file.state.index()
		}
		entries = append(entries, entry)
	}
	return entries
}

// index is the state as an index holds it, in which git keeps 32 bits of each number.
func (s fileState) index() git.IndexStat {
	return git.IndexStat{
		Ctime: s.ctime, Mtime: s.mtime, UID: s.uid, GID: s.gid,
		Dev: uint32(s.dev), Ino: uint32(s.ino), Size: uint32(s.size), //nolint:gosec // see above
	}
}
