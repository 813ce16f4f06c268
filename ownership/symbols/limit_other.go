//go:build !linux

package symbols

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// limitMemory bounds the data segment where the system knows such a bound; elsewhere only time is limited.
func limitMemory(bytes uint64) error {
	if bytes == 0 {
		return nil
	}
	if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: bytes, Max: bytes}); err != nil {
		return fmt.Errorf("limit memory: %w", err)
	}
	return nil
}

// childAttributes puts a child into a group of its own. It ends when its input does.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
