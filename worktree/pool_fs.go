package worktree

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"patchd/worktree/git"
)

// dirHandle is an open directory. Everything below a worktree is reached from one, name by name and never through a
// symbolic link, so that what a check planted cannot lead a write elsewhere.
type dirHandle int

const openDirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

func openDir(path string) (dirHandle, error) {
	fd, err := retryOpen(unix.AT_FDCWD, path, openDirFlags, 0)
	return dirHandle(fd), err
}

func (d dirHandle) close() { _ = unix.Close(int(d)) }

// sub opens a directory in this one. One that was closed to us is opened up first: it is ours.
func (d dirHandle) sub(name string) (dirHandle, error) {
	fd, err := retryOpen(int(d), name, openDirFlags, 0)
	if errors.Is(err, unix.EACCES) {
		if stat, statErr := d.stat(name); statErr == nil && stat.Mode&unix.S_IFMT == unix.S_IFDIR {
			_ = unix.Fchmodat(int(d), name, 0o755, 0)
			fd, err = retryOpen(int(d), name, openDirFlags, 0)
		}
	}
	return dirHandle(fd), err
}

// walk opens a directory below this one, making what is missing on the way when create says so.
func (d dirHandle) walk(path string, create bool) (dirHandle, error) {
	fd, err := unix.FcntlInt(uintptr(d), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil || path == "" {
		return dirHandle(fd), err
	}
	at := dirHandle(fd)
	for name := range strings.SplitSeq(path, "/") {
		next, err := at.sub(name)
		if create && errors.Is(err, unix.ENOENT) {
			next, err = at.makeSub(name)
		}
		at.close()
		if err != nil {
			return -1, fmt.Errorf("open directory %q: %w", path, err)
		}
		at = next
	}
	return at, nil
}

func (d dirHandle) makeSub(name string) (dirHandle, error) {
	if err := unix.Mkdirat(int(d), name, 0o755); err != nil && !errors.Is(err, unix.EEXIST) {
		return -1, err
	}
	sub, err := d.sub(name)
	if err != nil {
		return -1, err
	}
	return sub, unix.Fchmod(int(sub), 0o755)
}

func (d dirHandle) stat(name string) (stat unix.Stat_t, err error) {
	err = retry(func() error { return unix.Fstatat(int(d), name, &stat, unix.AT_SYMLINK_NOFOLLOW) })
	return stat, err
}

func (d dirHandle) statSelf() (stat unix.Stat_t, err error) {
	err = retry(func() error { return unix.Fstat(int(d), &stat) })
	return stat, err
}

// names lists the directory.
func (d dirHandle) names() ([]string, error) {
	fd, err := retryOpen(int(d), ".", openDirFlags, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), "directory")
	names, err := file.Readdirnames(-1)
	return names, errors.Join(err, file.Close())
}

// remove removes whatever stands at a name; nothing there is no error.
func (d dirHandle) remove(name string) error {
	err := unix.Unlinkat(int(d), name, 0)
	if err == nil || errors.Is(err, unix.ENOENT) {
		return nil
	}
	stat, statErr := d.stat(name)
	if statErr != nil || stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	sub, err := d.sub(name)
	if err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	defer sub.close()
	_ = unix.Fchmod(int(sub), 0o755)
	inside, err := sub.names()
	if err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	for _, child := range inside {
		if err := sub.remove(child); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(int(d), name, unix.AT_REMOVEDIR); err != nil {
		return fmt.Errorf("remove %q: %w", name, err)
	}
	return nil
}

// put writes a new file, link or empty directory in place of whatever stands there, and gives its state.
func (d dirHandle) put(name string, mode git.Mode, data []byte) (stat unix.Stat_t, err error) {
	if err := d.remove(name); err != nil {
		return stat, err
	}
	switch mode {
	case git.ModeSymlink:
		err = unix.Symlinkat(string(data), int(d), name)
	case git.ModeGitlink, git.ModeTree:
		err = unix.Mkdirat(int(d), name, 0o755)
	case git.ModeFile:
		return d.putFile(name, 0o644, data)
	case git.ModeExecutable:
		return d.putFile(name, 0o755, data)
	}
	if err != nil {
		return stat, fmt.Errorf("write %q: %w", name, err)
	}
	return d.stat(name)
}

func (d dirHandle) putFile(name string, mode uint32, data []byte) (stat unix.Stat_t, err error) {
	fd, err := retryOpen(int(d), name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return stat, fmt.Errorf("write %q: %w", name, err)
	}
	handle := dirHandle(fd)
	defer handle.close()
	for rest := data; len(rest) > 0; {
		n, err := unix.Write(fd, rest)
		if err != nil && !errors.Is(err, unix.EINTR) {
			return stat, fmt.Errorf("write %q: %w", name, err)
		}
		rest = rest[max(n, 0):]
	}
	if stat, err = handle.statSelf(); err != nil || stat.Mode&0o7777 == mode {
		return stat, err
	}
	if err := unix.Fchmod(fd, mode); err != nil { // the umask took something away
		return stat, fmt.Errorf("write %q: %w", name, err)
	}
	return handle.statSelf()
}

// read gives a file's content or a link's target, at most limit bytes of it.
func (d dirHandle) read(name string, link bool, limit int64) ([]byte, error) {
	if link {
		target := make([]byte, unix.PathMax)
		n, err := unix.Readlinkat(int(d), name, target)
		return target[:max(n, 0)], err
	}
	fd, err := retryOpen(int(d), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	file := os.NewFile(uintptr(fd), name)
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err = errors.Join(err, file.Close()); err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("read %q: more than %d bytes", name, limit)
	}
	return data, err
}

func retryOpen(dir int, name string, flags int, mode uint32) (fd int, err error) {
	err = retry(func() error {
		fd, err = unix.Openat(dir, name, flags, mode)
		return err
	})
	return fd, err
}

func retry(call func() error) error {
	for {
		if err := call(); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
