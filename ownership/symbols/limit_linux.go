package symbols

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitMemory bounds what this process may allocate (0: no bound) and keeps it from writing core files. The
// address space is not limited: Go reserves far more of it than it uses.
func limitMemory(bytes uint64) error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("limit core files: %w", err)
	}
	if bytes == 0 {
		return nil
	}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}

// childAttributes puts a child into a group of its own and lets it die with the thread that started it; a child
// that this hits while the pool lives is started again.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
