package pgserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// dieWithParent makes the kernel shut the server down at once (SIGQUIT) when the starting thread ends.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGQUIT }

// zombie reports whether the process has ended and only waits to be reaped.
func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, found := bytes.Cut(stat[bytes.LastIndexByte(stat, ')')+1:], []byte(" "))
	return found && len(rest) > 0 && rest[0] == 'Z'
}

// isServer reports whether the process is a PostgreSQL server; the answer is true where it cannot be known.
func isServer(pid int) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err == nil {
		return strings.HasPrefix(filepath.Base(exe), "postgres")
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return err != nil || strings.HasPrefix(string(name), "postgres")
}
