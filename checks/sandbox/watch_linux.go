package sandbox

import (
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// diskReserve is what a run may never take from a disk, whatever its limit.
const diskReserve = 64 << 20

// watch samples memory, disks and the number of processes until stop, and reports the first limit that is passed. Limits are
// sampled, not enforced by the kernel: a command that is over one for an instant may not be seen, and one that is seen is killed
// without a verdict, so that a limit never decides.
func (v *supervisor) watch(stop <-chan struct{}, breaches chan<- report) {
	interval := 50 * time.Millisecond
	if !v.plan.PIDSpace {
		interval *= 4 // the whole host's process table is read each time
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	before := freeSpace(v.plan.Disks)
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		if cause, detail := v.breach(before); cause != "" {
			breaches <- report{Cause: cause, ExitCode: -1, Detail: detail}
			return
		}
	}
}

// breach returns the limit that is passed now, or "".
func (v *supervisor) breach(before []diskSpace) (Cause, string) {
	limits := v.plan.Limits
	all := v.processes()
	if len(all) > limits.Processes {
		return TooMany, fmt.Sprintf("%d processes, %d are allowed", len(all), limits.Processes)
	}
	if used := v.memory(all); used > limits.MemoryBytes {
		return OutOfMemory, fmt.Sprintf("%d bytes of memory, %d are allowed", used, limits.MemoryBytes)
	}
	for i, now := range freeSpace(v.plan.Disks) {
		was := before[i]
		switch {
		case was.bytes-now.bytes > limits.DiskBytes:
			return OutOfDisk, fmt.Sprintf("the disk lost %d bytes, %d are allowed", was.bytes-now.bytes, limits.DiskBytes)
		case was.bytes > diskReserve && now.bytes < diskReserve:
			return OutOfDisk, "the disk is full"
		case was.files > was.filesReserve && now.files < was.filesReserve:
			return OutOfDisk, "the disk has no room for more files"
		}
	}
	return "", ""
}

// processes lists what the command started, and itself.
func (v *supervisor) processes() []int {
	if !v.plan.PIDSpace {
		return descendants(os.Getpid())
	}
	return slices.DeleteFunc(pids(), func(pid int) bool { return pid == os.Getpid() })
}

// memory is what the processes and the file systems in memory use. The exact figure is costly and read only when the quick one,
// which counts shared memory once for each process, is over the limit.
func (v *supervisor) memory(all []int) int64 {
	files := usedMemory(v.plan.Memory)
	sum := files
	for _, pid := range all {
		sum += residentBytes(pid)
	}
	if sum <= v.plan.Limits.MemoryBytes {
		return sum
	}
	sum = files
	for _, pid := range all {
		sum += shareBytes(pid)
	}
	return sum
}

func usedMemory(places []string) int64 {
	var sum int64
	for _, place := range places {
		var st unix.Statfs_t
		if unix.Statfs(place, &st) == nil {
			sum += int64(st.Blocks-st.Bfree) * int64(st.Bsize) //nolint:gosec,unconvert // sizes differ between architectures; a disk fits
		}
	}
	return sum
}

// diskSpace is what is free on a disk.
type diskSpace struct{ bytes, files, filesReserve int64 }

func freeSpace(dirs []string) []diskSpace {
	out := make([]diskSpace, len(dirs))
	for i, dir := range dirs {
		var st unix.Statfs_t
		if unix.Statfs(dir, &st) == nil {
			out[i] = diskSpace{
				bytes: int64(st.Bavail) * int64(st.Bsize),                   //nolint:gosec,unconvert // as above
				files: int64(st.Ffree), filesReserve: int64(st.Files / 100), //nolint:gosec // as above
			}
		}
	}
	return out
}
