package worktree

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"patchd/worktree/git"
)

// maxCheckedBytes bounds what a changed file may have for its content to be read.
const maxCheckedBytes = 256 << 20

// damage is how a worktree differs from what was left in it.
type damage struct {
	dirty   []string // tracked files that are not as they were left
	unknown []string // what nobody put there: files or whole directories
}

// scanner compares a worktree with its records. A directory whose own state is unchanged has the same entries, so it is
// not listed again. A state is trusted only when it is older than the stamp: a change in the same tick of the file
// system's clock could hide behind it, so there the content decides.
type scanner struct {
	stamp  int64
	repair bool
	spare  chan struct{} // a token for each further directory that may be scanned meanwhile

	mu sync.Mutex
	damage
}

// scanners is how many directories are scanned at once.
const scanners = 4

// scan finds the damage. With repair, closed directories are opened up again and foreign attributes taken off them.
func (t *poolTree) scan(ctx context.Context, root dirHandle, repair bool) (damage, error) {
	s := scanner{stamp: t.stamp, repair: repair, spare: make(chan struct{}, scanners-1)}
	if t.root.state.ino == 0 {
		return damage{}, nil // nothing was ever put there
	}
	err := s.dir(ctx, root, t.root, "")
	return s.damage, err
}

func (s *scanner) dir(ctx context.Context, at dirHandle, dir *poolDir, path string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.list(at, dir, path); err != nil {
		return fmt.Errorf("scan worktree at %q: %w", path, err)
	}
	for name, file := range dir.files {
		if !s.same(at, name, file) {
			s.changed(poolJoin(path, name))
		}
	}
	if err := s.subs(ctx, at, dir, path); err != nil {
		return err
	}
	for _, sub := range dir.dirs {
		dir.stale = dir.stale || sub.stale
	}
	return nil
}

// subs scans the directories in one, some of them at the same time while there are tokens for it.
func (s *scanner) subs(ctx context.Context, at dirHandle, dir *poolDir, path string) error {
	group, ctx := errgroup.WithContext(ctx)
	var inline error
	for name, sub := range dir.dirs {
		select {
		case s.spare <- struct{}{}:
			group.Go(func() error {
				defer func() { <-s.spare }()
				return s.sub(ctx, at, sub, poolJoin(path, name), name)
			})
		default:
			inline = errors.Join(inline, s.sub(ctx, at, sub, poolJoin(path, name), name))
		}
	}
	return errors.Join(inline, group.Wait())
}

func (s *scanner) changed(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = append(s.dirty, path)
}

func (s *scanner) foreign(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unknown = append(s.unknown, path)
}

// list looks for entries that nobody put there, where the directory's state says that there may be any.
func (s *scanner) list(at dirHandle, dir *poolDir, path string) error {
	stat, err := at.statSelf()
	if err != nil {
		return err
	}
	state := stateOf(stat)
	if state == dir.state && state.ctime < s.stamp {
		return nil
	}
	dir.stale = true
	if s.repair {
		restoreDir(at, dir.state, state)
	}
	names, err := at.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		_, isFile := dir.files[name]
		_, isDir := dir.dirs[name]
		if !isFile && !isDir && poolJoin(path, name) != ".git" {
			s.foreign(poolJoin(path, name))
		}
	}
	return nil
}

// restoreDir gives a directory its mode and owner back and takes attributes and access lists off it. What the system
// does not let us undo it did not let a check of our own user do either.
func restoreDir(at dirHandle, want, got fileState) {
	if want.ino == got.ino && (want.uid != got.uid || want.gid != got.gid) {
		_ = unix.Fchown(int(at), int(want.uid), int(want.gid))
	}
	buffer := make([]byte, 4096)
	if n, err := unix.Flistxattr(int(at), buffer); err == nil && n > 0 {
		for _, name := range splitNames(buffer[:n]) {
			_ = unix.Fremovexattr(int(at), name)
		}
	}
	if got.mode&0o7777 != 0o755 {
		_ = unix.Fchmod(int(at), 0o755)
	}
}

func splitNames(list []byte) (names []string) {
	start := 0
	for i, c := range list {
		if c == 0 {
			names = append(names, string(list[start:i]))
			start = i + 1
		}
	}
	return names
}

func (s *scanner) sub(ctx context.Context, at dirHandle, dir *poolDir, path, name string) error {
	handle, err := at.sub(name)
	if err == nil {
		defer handle.close()
		stat, err := handle.statSelf()
		if err != nil {
			return fmt.Errorf("scan worktree at %q: %w", path, err)
		}
		if state := stateOf(stat); state.ino == dir.state.ino && state.dev == dir.state.dev {
			return s.dir(ctx, handle, dir, path)
		}
		s.foreign(path) // another directory in its place
		s.lost(dir, path)
		return nil
	}
	if !errors.Is(err, unix.ENOENT) && !errors.Is(err, unix.ENOTDIR) && !errors.Is(err, unix.ELOOP) {
		return fmt.Errorf("scan worktree at %q: %w", path, err)
	}
	if !errors.Is(err, unix.ENOENT) {
		s.foreign(path)
	}
	s.lost(dir, path)
	return nil
}

// lost reports every file below a directory that is gone.
func (s *scanner) lost(dir *poolDir, path string) {
	dir.stale = true
	for name := range dir.files {
		s.changed(poolJoin(path, name))
	}
	for name, sub := range dir.dirs {
		s.lost(sub, poolJoin(path, name))
	}
}

func (s *scanner) same(at dirHandle, name string, file poolFile) bool {
	stat, err := at.stat(name)
	if err != nil || stateOf(stat) != file.state {
		return false
	}
	if file.state.ctime < s.stamp {
		return true
	}
	if file.entry.Mode == git.ModeGitlink {
		return emptyDir(at, name)
	}
	data, err := at.read(name, file.entry.Mode == git.ModeSymlink, maxCheckedBytes)
	return err == nil && git.HashObject(git.TypeBlob, data) == file.entry.OID
}

func emptyDir(at dirHandle, name string) bool {
	sub, err := at.sub(name)
	if err != nil {
		return false
	}
	defer sub.close()
	names, err := sub.names()
	return err == nil && len(names) == 0
}

// present works out the tree that the tracked files form now.
func (t *poolTree) present(ctx context.Context, o *git.Overlay) (git.OID, error) {
	root, err := t.openRoot()
	if err != nil {
		return "", err
	}
	defer root.close()
	found, err := t.scan(ctx, root, false)
	if err != nil {
		return "", err
	}
	edits := make([]git.TreeEdit, 0, len(found.dirty))
	for _, path := range found.dirty {
		parent, name := poolSplit(path)
		entry, err := presentEntry(root, path, t.find(parent, false).files[name].entry, o)
		if err != nil {
			return "", err
		}
		edits = append(edits, git.TreeEdit{Path: path, Entry: entry})
	}
	return git.EditTree(ctx, o, t.tree, edits)
}

// presentEntry is what stands now where old stood. A directory is as good as nothing unless old is a submodule; so is a
// device or a socket.
func presentEntry(root dirHandle, path string, old git.Entry, o *git.Overlay) (git.Entry, error) {
	dir, name := poolSplit(path)
	handle, err := root.walk(dir, false)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) {
		return git.Entry{}, nil
	}
	if err != nil {
		return git.Entry{}, err
	}
	defer handle.close()
	stat, err := handle.stat(name)
	if errors.Is(err, unix.ENOENT) {
		return git.Entry{}, nil
	}
	if err != nil {
		return git.Entry{}, err
	}
	mode := git.ModeFile
	switch {
	case stat.Mode&unix.S_IFMT == unix.S_IFLNK:
		mode = git.ModeSymlink
	case stat.Mode&unix.S_IFMT == unix.S_IFDIR && old.Mode == git.ModeGitlink:
		return old, nil
	case stat.Mode&unix.S_IFMT != unix.S_IFREG:
		return git.Entry{}, nil
	case stat.Mode&0o100 != 0:
		mode = git.ModeExecutable
	}
	data, err := handle.read(name, mode == git.ModeSymlink, maxCheckedBytes)
	if err != nil {
		return git.Entry{}, err
	}
	return git.Entry{Mode: mode, OID: o.PutBlob(data)}, nil
}
