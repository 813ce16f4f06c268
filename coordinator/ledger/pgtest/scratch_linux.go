package pgtest

import (
	"syscall"

	"patchd/coordinator/ledger/pgserver"
)

const (
	memoryDir   = "/dev/shm"
	memoryBytes = 2 << 30 // what a run of tests may need, with room to spare
)

// scratch is a directory for a server whose data need not last: in memory where there is room, else empty, which
// stands for the usual temporary directory.
func scratch() string {
	var fs syscall.Statfs_t
	if err := syscall.Statfs(memoryDir, &fs); err != nil {
		return ""
	}
	if fs.Bavail*uint64(max(fs.Bsize, 0)) < memoryBytes {
		return ""
	}
	dir, err := pgserver.EphemeralDir(memoryDir)
	if err != nil {
		return ""
	}
	return dir
}
