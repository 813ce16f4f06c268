package pgserver

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// pollEvery is how often a state is looked at that nothing announces: a server coming up, or one that is not our
// child going down.
const pollEvery = 5 * time.Millisecond

// process is a running server, our child or not. done is closed when it has ended.
type process struct {
	pid  int
	done chan struct{}
	// forget stops watching a process that is not our child.
	forget context.CancelFunc
}

func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// spawn starts cmd and waits for it in a goroutine, which ends with the process. With bound, the process dies
// with this one: the kernel ties that to the starting thread, which therefore stays until the process has ended.
func spawn(cmd *exec.Cmd, bound bool) (*process, error) {
	p := &process{done: make(chan struct{}), forget: func() {}}
	started := make(chan error, 1)
	go func() {
		defer close(p.done)
		if bound {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			dieWithParent(cmd.SysProcAttr)
		}
		err := cmd.Start()
		if err == nil {
			p.pid = cmd.Process.Pid
		}
		started <- err
		if err == nil {
			_ = cmd.Wait() // the exit status says nothing that the log does not
		}
	}()
	if err := <-started; err != nil {
		<-p.done
		return nil, err
	}
	return p, nil
}

// watch gives a process that somebody else started; a goroutine looks whether it still lives until it does not,
// or until forget is called.
func watch(ctx context.Context, pid int) *process {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{pid: pid, done: make(chan struct{}), forget: cancel}
	go func() {
		defer close(p.done)
		tick := time.NewTicker(pollEvery)
		defer tick.Stop()
		for alive(pid) {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return p
}

// signal sends sig; a process that is gone is no error.
func (p *process) signal(sig syscall.Signal) error {
	if p.exited() {
		return nil
	}
	if err := syscall.Kill(p.pid, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return nil
}

// alive reports whether the process exists and is more than an entry that waits to be reaped.
func alive(pid int) bool {
	err := syscall.Kill(pid, 0)
	return (err == nil || errors.Is(err, syscall.EPERM)) && !zombie(pid)
}
