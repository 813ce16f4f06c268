package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// serveLaunch sheds rights and becomes the command. It returns only to complain.
func serveLaunch(control, complaints *os.File) int {
	runtime.LockOSThread() // credentials belong to the thread that executes
	var p plan
	if err := json.NewDecoder(control).Decode(&p); err != nil {
		return complain(complaints, SetupFailed, fmt.Errorf("read plan: %w", err))
	}
	_ = control.Close()
	if err := shed(p); err != nil {
		return complain(complaints, SetupFailed, err)
	}
	env := envPairs(p.Env)
	path, cause, err := lookUp(p.Args[0], p.Env["PATH"])
	if err != nil {
		return complain(complaints, cause, err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)                // what we catch, the command gets with its default action, also if we were started to ignore it
	err = syscall.Exec(path, p.Args, env) //nolint:gosec // running it is the purpose
	return complain(complaints, execCause(path, p.Args[0], err), fmt.Errorf("start %q: %w", p.Args[0], err))
}

func complain(to *os.File, cause Cause, err error) int {
	_ = json.NewEncoder(to).Encode(report{Cause: cause, ExitCode: -1, Detail: err.Error()})
	return 1
}

// shed goes into the worktree, sets limits that hold for the command, and gives up what this level gives up.
func shed(p plan) error {
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core files: %w", err)
	}
	if err := limitProcesses(p.Limits.Processes); err != nil {
		return err
	}
	// The kernel takes us before it takes the daemon. Refusal leaves only the choice of its victim.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	syscall.Umask(0o022)
	if err := os.Chdir(p.Dir); err != nil {
		return fmt.Errorf("enter worktree: %w", err)
	}
	if p.Level == Unconfined {
		return nil
	}
	if err := dropCapabilities(p.User); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	if p.Level == Landlock {
		if err := restrictFiles(p); err != nil {
			return err
		}
	}
	return restrictCalls(p.Level != Landlock)
}

// limitProcesses is the kernel's own bound behind the watched one. It counts threads and what else the user runs, so it is wide.
func limitProcesses(processes int) error {
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NPROC, &lim); err != nil {
		return fmt.Errorf("read process limit: %w", err)
	}
	want := uint64(max(processes, 1)) * 8
	lim.Max = min(lim.Max, want)
	lim.Cur = min(lim.Cur, lim.Max)
	if err := unix.Setrlimit(unix.RLIMIT_NPROC, &lim); err != nil {
		return fmt.Errorf("limit processes: %w", err)
	}
	return nil
}

// dropCapabilities empties every capability set and becomes user, if one is given.
func dropCapabilities(user int) error {
	for c := uintptr(0); c <= 63; c++ {
		if unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0) != nil {
			break // the first that the kernel does not know, or no right to drop and so none to use
		}
	}
	if user != 0 {
		if err := becomeUser(user); err != nil {
			return err
		}
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("clear ambient capabilities: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

func becomeUser(user int) error {
	if err := syscall.Setgroups(nil); err != nil {
		return fmt.Errorf("leave groups: %w", err)
	}
	if err := syscall.Setresgid(user, user, user); err != nil {
		return fmt.Errorf("become group %d: %w", user, err)
	}
	if err := syscall.Setresuid(user, user, user); err != nil {
		return fmt.Errorf("become user %d: %w", user, err)
	}
	return nil
}

// lookUp finds the program. A name without a slash is searched for on PATH, in absolute directories only; its absence is this
// machine's, while a path that the tree does not have is the tree's.
func lookUp(name, searchPath string) (string, Cause, error) {
	if strings.Contains(name, "/") {
		return name, "", nil
	}
	for _, dir := range filepath.SplitList(searchPath) {
		path := filepath.Join(dir, name)
		if !filepath.IsAbs(dir) || unix.Access(path, unix.X_OK) != nil {
			continue
		}
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() {
			return path, "", nil
		}
	}
	return "", Missing, fmt.Errorf("program %q is not on PATH %s", name, strconv.Quote(searchPath))
}

// execCause tells a program that the tree lacks from one that this machine lacks: the interpreter of a script, an absolute path.
func execCause(path, name string, err error) Cause {
	_, statErr := os.Stat(path)
	switch {
	case errors.Is(err, unix.E2BIG) || errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EAGAIN):
		return SetupFailed
	case filepath.IsAbs(name) || !strings.Contains(name, "/"):
		return Missing
	case errors.Is(err, fs.ErrNotExist) && statErr == nil:
		return Missing
	}
	return NotExecutable
}
