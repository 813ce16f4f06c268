package sandbox

import (
	"fmt"
	"os"
	"runtime"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// restrictFiles lets the command write in the worktree and its private directory, read system directories, and touch nothing else.
// Where the kernel can, it may not signal processes outside either (Landlock 6).
func restrictFiles(p plan) error {
	rules := []landlock.Rule{
		landlock.RWFiles(devNull, "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty").IgnoreIfMissing(),
		landlock.RODirs("/proc"),
	}
	for _, path := range p.ReadOnly {
		if st, err := os.Stat(path); err == nil && st.IsDir() {
			rules = append(rules, landlock.RODirs(path))
		} else if err == nil {
			rules = append(rules, landlock.ROFiles(path))
		}
	}
	for _, path := range p.ReadWrite {
		rules = append(rules, landlock.RWDirs(path).WithRefer())
	}
	if err := landlock.V6.BestEffort().Restrict(rules...); err != nil {
		return fmt.Errorf("restrict files: %w", err)
	}
	return nil
}

// forbidSockets makes socket(2) and io_uring fail with EACCES. Without a network namespace nothing less keeps a command from the
// daemon's socket and the database's: a filter cannot see where connect(2) goes. Pairs of connected sockets are allowed.
func forbidSockets() error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("forbid sockets: no filter for %s", runtime.GOARCH)
	}
	const (
		numberAt = 0 // struct seccomp_data
		archAt   = 4
		x32      = 0x40000000
	)
	load := func(at uint32) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
	}
	jump := func(op uint16, k uint32, yes, no uint8) unix.SockFilter {
		return unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k}
	}
	give := func(k uint32) unix.SockFilter { return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k} }
	filter := []unix.SockFilter{
		load(archAt),
		jump(unix.BPF_JEQ, arch, 0, 4), // another architecture's numbers: refuse
		load(numberAt),
		jump(unix.BPF_JGE, x32, 2, 0),
		jump(unix.BPF_JEQ, unix.SYS_SOCKET, 2, 0),
		jump(unix.BPF_JEQ, unix.SYS_IO_URING_SETUP, 1, 2),
		give(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)),
		give(unix.SECCOMP_RET_ERRNO | uint32(unix.EACCES)),
		give(unix.SECCOMP_RET_ALLOW),
	}
	return installFilter(filter)
}
