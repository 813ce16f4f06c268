package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in struct seccomp_data (seccomp(2)); the low half of an argument comes first on the architectures below.
const (
	seccompNumber = 0
	seccompArch   = 4
	seccompArg0   = 16
	x32Bit        = 0x40000000
)

// filter is a seccomp program being written, one refusal after another.
type filter []unix.SockFilter

func (f *filter) load(at uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at})
}

func (f *filter) jump(op uint16, k uint32, yes, no uint8) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_JMP | op | unix.BPF_K, Jt: yes, Jf: no, K: k})
}

func (f *filter) give(k uint32) {
	*f = append(*f, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: k})
}

// refuse makes a system call fail with errno.
func (f *filter) refuse(number uint32, errno unix.Errno) {
	f.load(seccompNumber)
	f.jump(unix.BPF_JEQ, number, 0, 1)
	f.give(unix.SECCOMP_RET_ERRNO | uint32(errno)) //nolint:gosec // errors are small numbers
}

// refuseFlag makes a system call fail with EPERM when its first argument has a flag.
func (f *filter) refuseFlag(number, flag uint32) {
	f.load(seccompNumber)
	f.jump(unix.BPF_JEQ, number, 0, 3)
	f.load(seccompArg0)
	f.jump(unix.BPF_JSET, flag, 0, 1)
	f.give(unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM))
}

// foreign refuses system calls by another architecture's numbers, to which the rest would not apply.
func (f *filter) foreign(arch uint32) {
	f.load(seccompArch)
	f.jump(unix.BPF_JEQ, arch, 1, 0)
	f.give(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	f.load(seccompNumber)
	f.jump(unix.BPF_JGE, x32Bit, 0, 1)
	f.give(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
}

// restrictCalls keeps the command from user namespaces, in which it would have capabilities again (enough to mount the control groups
// and freeze the daemon's), and from the kernel's keyrings, which no namespace separates. Without sockets, socket(2) and io_uring,
// which can make them too, are refused as well; pairs of connected sockets are not.
func restrictCalls(sockets bool) error {
	arch, ok := map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH]
	if !ok {
		return fmt.Errorf("filter system calls: not known how on %s", runtime.GOARCH)
	}
	var f filter
	f.foreign(arch)
	f.refuseFlag(unix.SYS_CLONE, unix.CLONE_NEWUSER)
	f.refuseFlag(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
	f.refuse(unix.SYS_CLONE3, unix.ENOSYS) // its flags are in memory; libraries fall back to clone
	for _, number := range []uint32{unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL} {
		f.refuse(number, unix.EPERM)
	}
	if !sockets {
		f.refuse(unix.SYS_SOCKET, unix.EACCES)
		f.refuse(unix.SYS_IO_URING_SETUP, unix.EACCES)
	}
	f.give(unix.SECCOMP_RET_ALLOW)
	return f.install()
}

// install puts the filter on the calling thread, which must be the one that executes the command.
func (f *filter) install() error {
	prog := unix.SockFprog{Len: uint16(len(*f)), Filter: &(*f)[0]} //nolint:gosec // a few dozen instructions
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))) //nolint:gosec // the kernel's interface
	runtime.KeepAlive(f)
	if errno != 0 {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}
