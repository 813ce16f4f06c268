package sandbox

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// pids lists the process ids in /proc.
func pids() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close() //nolint:errcheck // only read
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// descendants lists all processes below root, which must be a subreaper so that none can leave.
func descendants(root int) []int {
	children := map[int][]int{}
	for _, pid := range pids() {
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	var out []int
	for todo := []int{root}; len(todo) > 0; todo = todo[1:] {
		out = append(out, children[todo[0]]...)
		todo = append(todo, children[todo[0]]...)
	}
	return out
}

// parentOf reads field 4 of proc_pid_stat(5); the name in field 2 may hold anything, so the last parenthesis counts.
func parentOf(pid int) (int, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return parent, err == nil
}

// residentBytes is a quick upper bound of a process's memory: everything mapped and present, shared or not.
func residentBytes(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/statm")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// shareBytes is a process's share of anonymous and shared memory: what processes have in common is divided among them.
func shareBytes(pid int) int64 {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return residentBytes(pid)
	}
	var sum int64
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "Pss_Anon" && name != "Pss_Shmem" {
			continue
		}
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		sum += kib << 10
	}
	return sum
}

// oomKills is how often this machine's kernel has killed for lack of memory; 0 when it does not say.
func oomKills() int64 {
	text, err := os.ReadFile("/proc/vmstat")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			return n
		}
	}
	return 0
}

// sweepHolders kills every process that holds the other end of a pipe of ours: the last resort when a supervisor is gone without a
// report and its level has no pid namespace that would have ended with it.
func sweepHolders(pipe *os.File) {
	var st unix.Stat_t
	if unix.Fstat(int(pipe.Fd()), &st) != nil {
		return
	}
	want := "pipe:[" + strconv.FormatUint(st.Ino, 10) + "]"
	syscall.ForkLock.RLock() // no child of ours that still holds copies of all our descriptors
	defer syscall.ForkLock.RUnlock()
	for _, pid := range pids() {
		if pid != os.Getpid() && holds(pid, want) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func holds(pid int, want string) bool {
	dir := "/proc/" + strconv.Itoa(pid) + "/fd/"
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if to, err := os.Readlink(dir + e.Name()); err == nil && to == want {
			return true
		}
	}
	return false
}
