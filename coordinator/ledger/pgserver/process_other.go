//go:build !linux

package pgserver

import "syscall"

// dieWithParent does nothing: only Linux ties a child's life to its parent's.
func dieWithParent(*syscall.SysProcAttr) {}

func zombie(int) bool { return false }

// isServer reports whether the process is a PostgreSQL server; the answer is true where it cannot be known.
func isServer(int) bool { return true }
