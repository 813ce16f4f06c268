package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// The places used while the view is built, below a file system in memory that is the root for that time.
const (
	stageDir = "/tmp"
	oldRoot  = "/oldroot"
	newRoot  = "/newroot"
)

// builder builds a view in the process's own mount namespace.
type builder struct {
	user int // who owns writable file systems in memory; 0 is the process itself
	data int
}

// buildView makes the steps the whole file system of this process.
func buildView(ops []viewOp, user int) error {
	b := &builder{user: user}
	if err := b.enter(); err != nil {
		return fmt.Errorf("enter mount namespace: %w", err)
	}
	for _, op := range ops {
		if err := b.apply(op); err != nil {
			return fmt.Errorf("build view: %s %q: %w", op.Kind, op.Target, err)
		}
	}
	if err := b.leave(); err != nil {
		return fmt.Errorf("enter view: %w", err)
	}
	return nil
}

// enter makes a file system in memory the root, with the host's root at oldRoot.
func (b *builder) enter() error {
	if err := unix.Mount("", "/", "", unix.MS_SLAVE|unix.MS_REC, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", stageDir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755"); err != nil {
		return err
	}
	for _, dir := range []string{oldRoot, newRoot} {
		if err := os.Mkdir(stageDir+dir, 0o755); err != nil { //nolint:gosec // a root directory is for everybody
			return err
		}
	}
	if err := unix.PivotRoot(stageDir, stageDir+oldRoot); err != nil {
		return err
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	return unix.Mount("tmpfs", newRoot, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=0755,size="+strconv.Itoa(smallSize))
}

// leave makes newRoot the root and lets go of everything else.
func (b *builder) leave() error {
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return err
	}
	if err := os.Chdir(newRoot); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return err
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return err
	}
	return os.Chdir("/")
}

func (b *builder) apply(op viewOp) error {
	target := filepath.Join(newRoot, op.Target)
	switch op.Kind {
	case opBindRO, opBindRW:
		return b.bind(oldRoot+op.Source, target, op.Kind == opBindRO, op.Source == devNull)
	case opTmpfs:
		return b.tmpfs(target, op.Size)
	case opDir:
		return os.MkdirAll(target, 0o755) //nolint:gosec // a system directory is for everybody
	case opSymlink:
		if err := makeParents(target); err != nil {
			return err
		}
		return os.Symlink(op.Source, target)
	case opProc:
		return b.proc(target)
	case opDev:
		return b.dev(target)
	case opData:
		return b.file(target, op)
	case opFreeze:
		return setAttr(target, 0, unix.MOUNT_ATTR_RDONLY)
	}
	return errors.New("unknown step")
}

// bind shows source, a path below oldRoot, at target.
func (b *builder) bind(source, target string, readOnly, device bool) error {
	st, err := os.Stat(source)
	if err != nil {
		return err
	}
	if err := makePoint(target, st.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return err
	}
	attrs := uint64(unix.MOUNT_ATTR_NOSUID)
	if !device {
		attrs |= unix.MOUNT_ATTR_NODEV
	}
	if readOnly {
		attrs |= unix.MOUNT_ATTR_RDONLY
	}
	return setAttr(target, unix.AT_RECURSIVE, attrs)
}

func setAttr(target string, flags uint, attrs uint64) error {
	return unix.MountSetattr(unix.AT_FDCWD, target, flags, &unix.MountAttr{Attr_set: attrs})
}

func (b *builder) tmpfs(target string, size int64) error {
	if err := makePoint(target, true); err != nil {
		return err
	}
	options := fmt.Sprintf("mode=0755,size=%d", size)
	if b.user != 0 {
		options += fmt.Sprintf(",uid=%d,gid=%d", b.user, b.user)
	}
	return unix.Mount("tmpfs", target, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
}

// proc mounts the own process table.
func (b *builder) proc(target string) error {
	if err := makePoint(target, true); err != nil {
		return err
	}
	return unix.Mount("proc", target, "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
}

// dev makes the few devices that programs expect.
func (b *builder) dev(target string) error {
	if err := b.tmpfs(target, smallSize); err != nil {
		return err
	}
	for _, name := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := b.bind(filepath.Join(oldRoot, "dev", name), filepath.Join(target, name), false, true); err != nil {
			return err
		}
	}
	links := map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(target, name)); err != nil {
			return err
		}
	}
	pts := filepath.Join(target, "pts")
	if err := makePoint(pts, true); err != nil {
		return err
	}
	return unix.Mount("devpts", pts, "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620")
}

// file puts text at target: a plain file in the private home, elsewhere a read-only one over what is there.
func (b *builder) file(target string, op viewOp) error {
	if filepath.Dir(op.Target) == Home {
		if err := os.WriteFile(target, []byte(op.Data), 0o644); err != nil { //nolint:gosec // no secret
			return err
		}
		if b.user != 0 {
			return os.Lchown(target, b.user, b.user)
		}
		return nil
	}
	b.data++
	source := fmt.Sprintf("/data-%d", b.data)
	if err := os.WriteFile(source, []byte(op.Data), 0o444); err != nil { //nolint:gosec // no secret
		return err
	}
	return b.bind(source, target, true, false)
}

func makeParents(target string) error {
	return os.MkdirAll(filepath.Dir(target), 0o755) //nolint:gosec // system directories are for everybody
}

// makePoint makes sure that something of the right kind is at target to mount on.
func makePoint(target string, dir bool) error {
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	if dir {
		return os.MkdirAll(target, 0o755) //nolint:gosec // as above
	}
	if err := makeParents(target); err != nil {
		return err
	}
	return os.WriteFile(target, nil, 0o444) //nolint:gosec // an empty file to mount on
}
