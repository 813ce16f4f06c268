package sandbox

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// installFilter puts a seccomp filter on the calling thread, which must be the one that executes the command (seccomp(2)).
func installFilter(filter []unix.SockFilter) error {
	prog := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]} //nolint:gosec // a handful of instructions
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0,
		uintptr(unsafe.Pointer(&prog))) //nolint:gosec // the kernel's interface
	runtime.KeepAlive(filter)
	if errno != 0 {
		return fmt.Errorf("install system call filter: %w", errno)
	}
	return nil
}
