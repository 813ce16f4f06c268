package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// opKind is one step in building the view of the file system.
type opKind string

const (
	opBindRO  opKind = "bind_ro" // Source at Target, read-only with everything below
	opBindRW  opKind = "bind_rw" // Source at Target
	opTmpfs   opKind = "tmpfs"   // an empty file system in memory of Size bytes
	opDir     opKind = "dir"     // a directory
	opSymlink opKind = "symlink" // Target points to Source
	opProc    opKind = "proc"    // the process table of the own pid namespace
	opDev     opKind = "dev"     // null, zero, full, random, urandom, tty, pts
	opData    opKind = "data"    // a file with Data
	opFreeze  opKind = "freeze"  // Target itself read-only, not what is mounted below
	devNull          = "/dev/null"
	smallSize        = 16 << 20
)

// viewOp is one step. Parents of targets are made as needed.
type viewOp struct {
	Kind   opKind `json:"kind"`
	Source string `json:"source,omitempty"`
	Target string `json:"target"`
	Data   string `json:"data,omitempty"`
	Size   int64  `json:"size,omitempty"`
}

// Files that say the same on every machine: who the command is, and that git trusts what it sees.
const (
	passwdFile = //nolint:gosec // no password
	"root:x:0:0:root:/root:/bin/sh\ncheck:x:1000:1000:check:/home/check:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n"
	groupFile = "root:x:0:\ncheck:x:1000:\nnogroup:x:65534:\n"
	gitConfig = "[safe]\n\tdirectory = *\n[user]\n\tname = check\n\temail = check@localhost\n"
)

// memoryPlaces are the file systems in memory of every view.
func memoryPlaces() []string { return []string{"/tmp", "/var/tmp", Home, "/dev/shm"} }

// view lists the steps that build what a command sees. Only what is named here exists inside: the daemon's data directory, homes,
// sockets in /run and /tmp are absent rather than hidden.
func view(spec Spec, self string, limits Limits) ([]viewOp, error) {
	ops := systemOps()
	ops = append(ops, privateMasks()...)
	ops = append(ops,
		viewOp{Kind: opProc, Target: "/proc"},
	)
	ops = append(ops, steeringOps()...)
	ops = append(ops,
		viewOp{Kind: opDev, Target: "/dev"},
		viewOp{Kind: opDir, Target: "/run"},
		viewOp{Kind: opSymlink, Source: "../run", Target: "/var/run"},
	)
	for _, place := range memoryPlaces() {
		ops = append(ops, viewOp{Kind: opTmpfs, Target: place, Size: limits.ScratchBytes})
	}
	ops = append(ops,
		viewOp{Kind: opData, Target: "/etc/passwd", Data: passwdFile},
		viewOp{Kind: opData, Target: "/etc/group", Data: groupFile},
		viewOp{Kind: opData, Target: Home + "/.gitconfig", Data: gitConfig},
		viewOp{Kind: opBindRW, Source: spec.Dir, Target: Checkout},
	)
	git, err := gitOps(spec)
	if err != nil {
		return nil, err
	}
	ops = append(ops, git...)
	for _, m := range spec.Mounts {
		kind := opBindRO
		if m.Writable {
			kind = opBindRW
		}
		ops = append(ops, viewOp{Kind: kind, Source: m.Source, Target: m.Target})
	}
	return append(ops,
		viewOp{Kind: opBindRO, Source: self, Target: insideSelf},
		viewOp{Kind: opFreeze, Target: "/dev"},
		viewOp{Kind: opFreeze, Target: "/"},
	), nil
}

// systemDirs are where programs, libraries and their configuration live.
func systemDirs() []string {
	return []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu"}
}

func systemOps() []viewOp {
	var ops []viewOp
	for _, dir := range systemDirs() {
		st, err := os.Lstat(dir)
		switch {
		case err != nil:
		case st.Mode()&fs.ModeSymlink != 0:
			if to, err := os.Readlink(dir); err == nil {
				ops = append(ops, viewOp{Kind: opSymlink, Source: to, Target: dir})
			}
		case st.IsDir():
			ops = append(ops, viewOp{Kind: opBindRO, Source: dir, Target: dir})
		}
	}
	return ops
}

// steeringOps makes read-only what in /proc steers the host. The kernel asks there for root's user id and not for a capability, and a
// command of a daemon that is root has that id, under another name.
func steeringOps() []viewOp {
	var ops []viewOp
	for _, name := range []string{"sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "asound", "scsi"} {
		path := "/proc/" + name
		if _, err := os.Stat(path); err == nil {
			ops = append(ops, viewOp{Kind: opBindRO, Source: path, Target: path})
		}
	}
	return ops
}

// privateMasks covers what stands in /etc for this user's eyes and not for everybody's (keys, shadow files), and git's system
// configuration, which differs from host to host. It looks afresh for each run: a file that has gone cannot be covered.
func privateMasks() []viewOp {
	var ops []viewOp
	mask := func(path string, dir bool) {
		if dir {
			ops = append(ops, viewOp{Kind: opTmpfs, Target: path, Size: smallSize}, viewOp{Kind: opFreeze, Target: path})
			return
		}
		ops = append(ops, viewOp{Kind: opBindRO, Source: devNull, Target: path})
	}
	_ = filepath.WalkDir("/etc", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return nil //nolint:nilerr // what cannot be read here cannot be read inside either
		}
		info, err := d.Info()
		if err != nil || unix.Access(path, unix.R_OK) != nil {
			return nil //nolint:nilerr // as above
		}
		switch {
		case d.IsDir() && info.Mode().Perm()&0o005 != 0o005:
			mask(path, true)
			return fs.SkipDir
		case !d.IsDir() && (info.Mode().Perm()&0o004 == 0 || path == "/etc/gitconfig"):
			mask(path, false)
		}
		return nil
	})
	return ops
}

// bwrapArgs translates the steps for bubblewrap. Data is passed through descriptors numbered from first on; the second result is
// their contents in order.
func bwrapArgs(ops []viewOp, first int) (args, data []string) {
	for _, op := range ops {
		switch op.Kind {
		case opBindRO:
			verb := "--ro-bind"
			if op.Source == devNull { // a device can be opened only where devices are allowed
				verb = "--dev-bind"
			}
			args = append(args, verb, op.Source, op.Target)
		case opBindRW:
			args = append(args, "--bind", op.Source, op.Target)
		case opTmpfs:
			args = append(args, "--size", strconv.FormatInt(op.Size, 10), "--tmpfs", op.Target)
		case opDir:
			args = append(args, "--dir", op.Target)
		case opSymlink:
			args = append(args, "--symlink", op.Source, op.Target)
		case opProc:
			args = append(args, "--proc", op.Target)
		case opDev:
			args = append(args, "--dev", op.Target)
		case opData:
			verb := "--ro-bind-data"
			if strings.HasPrefix(op.Target, Home+"/") {
				verb = "--file"
			}
			args = append(args, verb, strconv.Itoa(first+len(data)), op.Target)
			data = append(data, op.Data)
		case opFreeze:
			args = append(args, "--remount-ro", op.Target)
		}
	}
	return args, data
}
