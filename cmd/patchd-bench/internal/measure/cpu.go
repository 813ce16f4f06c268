package measure

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// CPU is the processor time that this process and all it started have used so far: user and system, of processes that ended and
// of those that run. Other work on the machine lengthens elapsed times; it hardly changes this.
func CPU() time.Duration {
	sum := usage(syscall.RUSAGE_SELF) + usage(syscall.RUSAGE_CHILDREN)
	for _, child := range descendants(os.Getpid()) {
		sum += cpuOf(child)
	}
	return sum
}

func usage(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0 // only for a who that the system does not know
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// tick is the unit of times in proc(5): USER_HZ is 100 on all Linux machines that Go runs on.
const tick = 10 * time.Millisecond

// cpuOf reads utime, stime, cutime and cstime, the 14th to 17th field of proc_pid_stat(5); the command in parentheses is the second.
func cpuOf(pid int) time.Duration {
	data, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return 0 // it ended meanwhile, and is counted among the children
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	const first, last = 11, 14
	if len(fields) <= last {
		return 0
	}
	var sum time.Duration
	for _, f := range fields[first : last+1] {
		if n, err := strconv.ParseInt(string(f), 10, 64); err == nil {
			sum += time.Duration(n) * tick
		}
	}
	return sum
}
