package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisor is the process between daemon and command: it lives outside the command's rights and as long as anything it started.
type supervisor struct {
	plan  plan
	gone  chan struct{}           // closed when the daemon is gone or gives up
	ended chan syscall.WaitStatus // the command's end
	empty chan struct{}           // closed when no descendant is left
}

// serveSupervise reads the plan, runs it and reports.
func serveSupervise(control, status *os.File) int {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals) // received and dropped: a command may send us anything
	// The command runs as the same user at some levels; it must not read our memory or descriptors.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return answer(status, setupFailed(fmt.Errorf("protect supervisor: %w", err)))
	}
	dec := json.NewDecoder(control)
	v := &supervisor{
		gone:  make(chan struct{}),
		ended: make(chan syscall.WaitStatus, 1),
		empty: make(chan struct{}),
	}
	if err := dec.Decode(&v.plan); err != nil {
		return answer(status, setupFailed(fmt.Errorf("read plan: %w", err)))
	}
	go func() { // lasts until the daemon closes its end or this process ends
		_, _ = io.Copy(io.Discard, io.MultiReader(dec.Buffered(), control))
		close(v.gone)
	}()
	return answer(status, v.serve())
}

func answer(status *os.File, rep report) int {
	if err := json.NewEncoder(status).Encode(rep); err != nil {
		return 1
	}
	return 0
}

func setupFailed(err error) report {
	return report{Cause: SetupFailed, ExitCode: -1, Detail: err.Error()}
}

// serve builds the view, runs the command and leaves nothing behind.
func (v *supervisor) serve() report {
	if err := v.settle(); err != nil {
		return setupFailed(err)
	}
	oomBefore := oomKills()
	main, complaints, err := startLauncher(v.plan)
	if err != nil {
		return setupFailed(err)
	}
	go v.reap(main)
	rep := v.oversee()
	v.killAll()
	if v.plan.Private != "" && rep.Cause == cancelled {
		(&privateDir{root: v.plan.Private}).remove() // a killed daemon cannot
	}
	if failed := readComplaint(complaints); failed != nil && rep.Cause == Exited {
		return *failed
	}
	if rep.Cause == Exited && rep.ExitCode != 0 && oomKills() > oomBefore {
		rep.Cause, rep.Detail = OutOfMemory, "the kernel's out-of-memory killer acted meanwhile"
	}
	return rep
}

// settle makes this process fit to supervise.
func (v *supervisor) settle() error {
	if !v.plan.PIDSpace {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("become subreaper: %w", err)
		}
	}
	if len(v.plan.View) == 0 {
		return nil
	}
	if err := buildView(v.plan.View, v.plan.User); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte("check")); err != nil {
		return fmt.Errorf("set host name: %w", err)
	}
	return raiseLoopback()
}

// raiseLoopback makes 127.0.0.1 usable inside the own network namespace.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("raise loopback: %w", err)
	}
	defer unix.Close(fd) //nolint:errcheck // a socket that carried nothing
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("raise loopback: %w", err)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("raise loopback: %w", err)
	}
	return nil
}

// startLauncher starts the process that becomes the command. The second result yields its complaint, or ends at once when the
// command began.
func startLauncher(p plan) (int, *os.File, error) {
	null, err := os.Open(devNull)
	if err != nil {
		return 0, nil, fmt.Errorf("start launcher: %w", err)
	}
	defer null.Close() //nolint:errcheck // only read
	planR, planW, err := os.Pipe()
	if err != nil {
		return 0, nil, fmt.Errorf("start launcher: %w", err)
	}
	defer planR.Close() //nolint:errcheck // the child has its own
	defer planW.Close() //nolint:errcheck // written in full below
	failR, failW, err := os.Pipe()
	if err != nil {
		return 0, nil, fmt.Errorf("start launcher: %w", err)
	}
	defer failW.Close() //nolint:errcheck // the child has its own

	argv := append(append([]string{}, p.Self...), stageLaunch)
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{ //nolint:gosec // our own program
		Env: []string{}, Files: []uintptr{null.Fd(), 1, 2, planR.Fd(), failW.Fd()}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return 0, nil, fmt.Errorf("start launcher: %w", errors.Join(err, failR.Close()))
	}
	p.View = nil
	// A launcher that dies early ends the pipe; its end is then seen by waiting, not here.
	_ = json.NewEncoder(planW).Encode(p)
	return pid, failR, nil
}

// readComplaint returns why the launcher could not become the command, or nil. It is called when the launcher is gone.
func readComplaint(from *os.File) *report {
	defer from.Close() //nolint:errcheck // only read
	var rep report
	if json.NewDecoder(from).Decode(&rep) != nil {
		return nil
	}
	return &rep
}

// reap collects every descendant that ends, orphans too, until there is none.
func (v *supervisor) reap(main int) {
	defer close(v.empty)
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return
		case pid == main:
			v.ended <- ws
		}
	}
}

// oversee waits for the command's end, a limit, or the daemon's end.
func (v *supervisor) oversee() report {
	limit, cancel := context.WithTimeout(context.Background(), v.plan.Limits.Timeout)
	defer cancel()
	stop, breaches, watched := make(chan struct{}), make(chan report, 1), make(chan struct{})
	go func() {
		defer close(watched)
		v.watch(stop, breaches)
	}()
	defer func() { close(stop); <-watched }()

	var rep report
	select {
	case ws := <-v.ended:
		return exited(ws)
	case rep = <-breaches:
		return rep
	case <-limit.Done():
		rep = report{Cause: TimedOut, ExitCode: -1, Detail: fmt.Sprintf("still running after %v", v.plan.Limits.Timeout)}
	case <-v.gone:
		rep = report{Cause: cancelled, ExitCode: -1}
	}
	select {
	case ws := <-v.ended: // both at once: the command was in time
		return exited(ws)
	default:
	}
	v.signalAll(syscall.SIGTERM)
	grace := time.NewTimer(v.plan.Limits.Grace)
	defer grace.Stop()
	select {
	case <-v.empty:
	case <-grace.C:
	}
	return rep
}

func exited(ws syscall.WaitStatus) report {
	if ws.Signaled() {
		return report{Cause: Exited, ExitCode: -1, Signal: unix.SignalName(ws.Signal())}
	}
	return report{Cause: Exited, ExitCode: ws.ExitStatus()}
}

// killAll ends every descendant, however it tries to stay, and returns when the last has been reaped.
func (v *supervisor) killAll() {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		v.signalAll(syscall.SIGKILL)
		select {
		case <-v.empty:
			return
		case <-tick.C:
		}
	}
}

func (v *supervisor) signalAll(sig syscall.Signal) {
	if v.plan.PIDSpace {
		_ = syscall.Kill(-1, sig) // fails only when nobody is left
		return
	}
	all := descendants(os.Getpid())
	if sig == syscall.SIGKILL {
		for _, pid := range all { // a stopped process starts no other one while we go through the list
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
		all = descendants(os.Getpid())
	}
	for _, pid := range all {
		_ = syscall.Kill(pid, sig)
	}
}
