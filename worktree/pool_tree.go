package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"patchd/worktree/git"
)

// poolTree is one worktree of a pool with all that is known of its files. One lease at a time uses it.
type poolTree struct {
	dir, admin string
	repo       *git.Repo
	tree       git.OID // what the files equal, as far as nobody changed them
	head       git.OID
	root       *poolDir
	dirty      []string          // tracked files that the last lease left changed
	pointer    []byte            // the content of the ".git" file
	links      map[string][]byte // the admin files that tie the worktree to its repository
	stamp      int64             // the file system's time when everything was in place
}

// poolDir is a directory as it was left.
type poolDir struct {
	tree  git.OID
	state fileState
	files map[string]poolFile
	dirs  map[string]*poolDir
	order []string // names in git's order, nil when it must be worked out again
	stale bool     // state must be read again, here or below
}

type poolFile struct {
	entry git.Entry
	state fileState
}

// fileState is what changes when a file does. The change time cannot be set by any user.
type fileState struct {
	dev, ino           uint64
	size, mtime, ctime int64
	mode, uid, gid     uint32
}

func stateOf(s unix.Stat_t) fileState {
	return fileState{
		dev: uint64(s.Dev), ino: s.Ino, size: s.Size, mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(), //nolint:unconvert // differs between systems
		mode: uint32(s.Mode), uid: s.Uid, gid: s.Gid, //nolint:unconvert // differs between systems
	}
}

func newPoolDir() *poolDir {
	return &poolDir{tree: git.EmptyTree, files: map[string]poolFile{}, dirs: map[string]*poolDir{}, stale: true}
}

func newPoolTree(dir, admin string, head git.OID, repo *git.Repo) (*poolTree, error) {
	t := &poolTree{dir: dir, admin: admin, repo: repo, tree: git.EmptyTree, head: head, root: newPoolDir(), links: map[string][]byte{}}
	var err error
	if t.pointer, err = os.ReadFile(filepath.Join(dir, ".git")); err != nil { //nolint:gosec // git just wrote it
		return nil, fmt.Errorf("read new worktree: %w", err)
	}
	for _, name := range []string{"commondir", "gitdir"} {
		if t.links[name], err = os.ReadFile(filepath.Join(admin, name)); err != nil { //nolint:gosec // git just wrote it
			return nil, fmt.Errorf("read new worktree: %w", err)
		}
	}
	return t, nil
}

func (t *poolTree) close() { t.root = nil }

// clean undoes what a lease did: what nobody put there goes at once, files that changed are written again by the next
// move.
func (t *poolTree) clean(ctx context.Context) error {
	root, err := t.openRoot()
	if err != nil {
		return err
	}
	defer root.close()
	found, err := t.scan(ctx, root, true)
	if err != nil {
		return err
	}
	for _, path := range found.unknown {
		if err := removePath(root, path); err != nil {
			return err
		}
	}
	t.dirty = found.dirty
	return nil
}

// move makes the files equal to the wanted tree and describes them to git.
func (t *poolTree) move(ctx context.Context, request LeaseRequest) error {
	root, err := t.openRoot()
	if err != nil {
		return err
	}
	defer root.close()
	w := &writer{tree: t, root: root, objects: request.Objects, batches: map[string]*batch{}}
	if err := w.plan(ctx, t.root, "", request.Tree); err != nil {
		return err
	}
	w.planDirty(t.dirty)
	if err := w.run(ctx); err != nil {
		return err
	}
	t.tree, t.dirty = request.Tree, nil
	if err := t.putPointer(root); err != nil {
		return err
	}
	if err := refreshStale(root, t.root); err != nil {
		return err
	}
	if err := t.describe(ctx, request.Commit); err != nil {
		return err
	}
	return t.takeStamp()
}

// openRoot refuses a directory that was put in the worktree's place.
func (t *poolTree) openRoot() (dirHandle, error) {
	root, err := openDir(t.dir)
	if err != nil {
		return root, fmt.Errorf("open worktree: %w", err)
	}
	stat, err := root.statSelf()
	state := stateOf(stat)
	if err == nil && t.root.state.ino != 0 && (state.ino != t.root.state.ino || state.dev != t.root.state.dev) {
		err = errors.New("the directory was replaced")
	}
	if err != nil {
		root.close()
		return root, fmt.Errorf("open worktree: %w", err)
	}
	return root, nil
}

// putPointer makes sure that the ".git" file is the one that git wrote.
func (t *poolTree) putPointer(root dirHandle) error {
	stat, err := root.stat(".git")
	if err == nil && stat.Mode&unix.S_IFMT == unix.S_IFREG && stat.Nlink == 1 && stat.Mode&0o7777 == 0o644 {
		data, err := root.read(".git", false, 1<<16)
		if err == nil && bytes.Equal(data, t.pointer) {
			return nil
		}
	}
	t.root.stale = true
	_, err = root.put(".git", git.ModeFile, t.pointer)
	return err
}

// takeStamp asks the file system for the time, by touching a file beside the worktree. A change from now on carries
// this time or a later one.
func (t *poolTree) takeStamp() error {
	path := t.dir + ".stamp"
	if err := os.WriteFile(path, []byte(t.tree), 0o600); err != nil {
		return fmt.Errorf("take time stamp: %w", err)
	}
	var stat unix.Stat_t
	if err := retry(func() error { return unix.Lstat(path, &stat) }); err != nil {
		return fmt.Errorf("take time stamp: %w", err)
	}
	t.stamp = stat.Ctim.Nano()
	return nil
}

// refreshStale reads the state of the directories that were written to.
func refreshStale(at dirHandle, dir *poolDir) error {
	for name, sub := range dir.dirs {
		if !sub.stale {
			continue
		}
		handle, err := at.sub(name)
		if errors.Is(err, unix.ENOENT) && sub.empty() {
			continue // an empty tree within a tree, which no checkout shows
		}
		if err != nil {
			return fmt.Errorf("read directory %q: %w", name, err)
		}
		err = refreshStale(handle, sub)
		handle.close()
		if err != nil {
			return err
		}
	}
	stat, err := at.statSelf()
	dir.state, dir.stale = stateOf(stat), false
	return err
}

func (d *poolDir) empty() bool {
	for _, sub := range d.dirs {
		if !sub.empty() {
			return false
		}
	}
	return len(d.files) == 0
}

func removePath(root dirHandle, path string) error {
	dir, name := poolSplit(path)
	handle, err := root.walk(dir, false)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	defer handle.close()
	return handle.remove(name)
}

func poolSplit(path string) (dir, name string) {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}

func poolJoin(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}

// find gives the directory at a path, marking it and all above it as written to when mark says so.
func (t *poolTree) find(path string, mark bool) *poolDir {
	at := t.root
	at.stale = at.stale || mark
	if path == "" {
		return at
	}
	for name := range strings.SplitSeq(path, "/") {
		next := at.dirs[name]
		if next == nil {
			return nil
		}
		next.stale = next.stale || mark
		at = next
	}
	return at
}

// names are the directory's entries in git's order: a directory sorts as if its name ended in "/".
func (d *poolDir) names() []string {
	if d.order != nil {
		return d.order
	}
	names := make([]string, 0, len(d.files)+len(d.dirs))
	for name := range d.files {
		names = append(names, name)
	}
	for name := range d.dirs {
		names = append(names, name+"/")
	}
	slices.Sort(names)
	d.order = names
	return names
}
