package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Descriptors of the supervisor beyond the standard three.
const (
	controlFD = 3 // the plan, then silence; its end means that the daemon is gone or the run cancelled
	statusFD  = 4 // the report
	dataFD    = 5 // first of bubblewrap's data descriptors
)

// patience is how long the supervisor may take over the limits themselves before it is given up on.
const patience = 30 * time.Second

// Run runs one command and returns when it and everything it started are gone. What it prints, both streams as one, goes to output,
// which must not block for long. An error means that ctx ended or spec makes no sense; failures of the confinement are Causes.
func (s *Sandbox) Run(ctx context.Context, spec Spec, output io.Writer) (Outcome, error) {
	spec, err := spec.checked()
	if err != nil {
		return Outcome{}, fmt.Errorf("run confined: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return Outcome{}, fmt.Errorf("run confined: %w", err)
	}
	rep, err := s.run(ctx, spec, output)
	if err != nil {
		return Outcome{Cause: SetupFailed, ExitCode: -1, Detail: err.Error(), Level: s.level}, nil //nolint:nilerr // reported as the cause
	}
	if rep.Cause == cancelled || (ctx.Err() != nil && rep.Cause == SupervisorLost) {
		return Outcome{}, fmt.Errorf("run confined: %w", context.Cause(ctx))
	}
	return Outcome{Cause: rep.Cause, ExitCode: rep.ExitCode, Signal: rep.Signal, Detail: rep.Detail, Level: s.level}, nil
}

func (s *Sandbox) run(ctx context.Context, spec Spec, output io.Writer) (report, error) {
	spec.Limits = spec.Limits.withDefaults(machineMemory())
	private, err := s.privateDir(spec)
	if err != nil {
		return report{}, err
	}
	defer private.remove()
	job, err := s.prepare(spec, private)
	if err != nil {
		return report{}, err
	}
	pipes, err := openPipes(job.data)
	if err != nil {
		return report{}, err
	}
	defer pipes.close()
	return supervised(ctx, job, pipes, output)
}

// job is a supervisor about to be started.
type job struct {
	plan plan
	argv []string
	data []string // for descriptors from dataFD on
	attr *syscall.SysProcAttr
}

// prepare decides, by level, how the supervisor is started and what it is told.
func (s *Sandbox) prepare(spec Spec, private *privateDir) (job, error) {
	p := plan{
		Level: s.level, Self: s.opt.Self, Dir: spec.Dir, Args: spec.Args, Env: spec.Env, Limits: spec.Limits,
		Disks: []string{spec.Dir},
	}
	j := job{argv: append(append([]string{}, s.opt.Self...), stageSupervise), attr: &syscall.SysProcAttr{Setsid: true}}
	switch s.level {
	case Bubblewrap, Namespaces:
		if private.user != 0 {
			spec.Dir, spec.Git = private.tree, GitHidden
			p.User = private.user
		}
		ops, err := view(spec, s.opt.Self[0], spec.Limits)
		if err != nil {
			return job{}, err
		}
		p.Self = append([]string{insideSelf}, s.opt.Self[1:]...)
		p.Dir, p.PIDSpace, p.Memory = Checkout, true, memoryPlaces()
		p.Disks = []string{Checkout}
		if s.level == Bubblewrap {
			s.throughBubblewrap(&j, ops, p.Self)
		} else {
			p.View = ops
			j.attr = namespaceAttr(private.user == 0)
		}
	case Landlock:
		private.adapt(&p, spec)
	case Unconfined:
		private.adapt(&p, spec)
		p.User = 0
	}
	j.plan = p
	return j, nil
}

// throughBubblewrap starts the supervisor as process 1 of a sandbox that bubblewrap builds.
func (s *Sandbox) throughBubblewrap(j *job, ops []viewOp, self []string) {
	args := []string{
		s.opt.Bubblewrap, "--unshare-user", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
		"--uid", strconv.Itoa(insideUID), "--gid", strconv.Itoa(insideUID), "--hostname", "check", "--as-pid-1",
	}
	built, data := bwrapArgs(ops, dataFD)
	args = append(args, built...)
	args = append(append(args, "--chdir", "/", "--"), self...)
	j.argv, j.data = append(args, stageSupervise), data
}

// namespaceAttr starts the supervisor as process 1 of its own namespaces. With a user namespace it keeps, for building the view, the
// capabilities it has there; without one the caller is root and the command becomes another user.
func namespaceAttr(user bool) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Setsid: true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS |
			unix.CLONE_NEWCGROUP,
	}
	if user {
		attr.Cloneflags |= unix.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: insideUID, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: insideUID, HostID: os.Getegid(), Size: 1}}
		attr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
	}
	return attr
}

// supervised starts the supervisor, feeds and drains its pipes and waits for it. The goroutine that starts a process stays on its
// thread until the process ends: with --die-with-parent the kernel takes the end of that thread for the end of the daemon.
func supervised(ctx context.Context, j job, pipes *pipes, output io.Writer) (report, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	cmd := &exec.Cmd{
		Path: j.argv[0], Args: j.argv, Env: []string{}, Dir: "/", SysProcAttr: j.attr,
		Stdout: pipes.outW, Stderr: pipes.outW, ExtraFiles: pipes.childFiles(),
	}
	if err := cmd.Start(); err != nil {
		return report{}, fmt.Errorf("start supervisor: %w", err)
	}
	pipes.closeChildEnds()

	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(output, pipes.outR) // ends at the last writer's end, or when the pipe is closed below
	}()
	reported := make(chan report, 1)
	go func() { reported <- pipes.readReport() }()

	rep := pipes.converse(ctx, j.plan, reported, cmd.Process)
	_ = cmd.Wait() // the report is the answer; the supervisor's own status adds nothing
	if rep.Cause == SupervisorLost {
		sweepHolders(pipes.outR)
		if rep.Detail == "" {
			rep.Detail = "the supervisor ended with " + cmd.ProcessState.String()
		}
	}
	pipes.drain(copied)
	return rep, nil
}

// converse tells the plan, waits for the report, and cuts the lifeline when ctx ends or patience does.
func (p *pipes) converse(ctx context.Context, pl plan, reported <-chan report, proc *os.Process) report {
	sent := make(chan error, 1)
	go func() { sent <- json.NewEncoder(p.controlW).Encode(pl) }()
	defer func() { <-sent }()

	deadline := time.NewTimer(pl.Limits.Timeout + pl.Limits.Grace + patience)
	defer deadline.Stop()
	select {
	case rep := <-reported:
		return rep
	case <-ctx.Done():
	case <-deadline.C:
	}
	_ = p.controlW.Close()
	last := time.NewTimer(pl.Limits.Grace + patience)
	defer last.Stop()
	select {
	case rep := <-reported:
		return rep
	case <-last.C:
	}
	_ = proc.Kill()
	return <-reported
}

// pipes are the three ways between daemon and supervisor, and the data that bubblewrap reads.
type pipes struct {
	controlR, controlW, statusR, statusW, outR, outW *os.File
	data                                             []*os.File
}

func openPipes(data []string) (*pipes, error) {
	p := &pipes{}
	var errs [3]error
	p.controlR, p.controlW, errs[0] = os.Pipe()
	p.statusR, p.statusW, errs[1] = os.Pipe()
	p.outR, p.outW, errs[2] = os.Pipe()
	if err := errors.Join(errs[:]...); err != nil {
		p.close()
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	for _, text := range data {
		f, err := dataFile(text)
		if err != nil {
			p.close()
			return nil, err
		}
		p.data = append(p.data, f)
	}
	return p, nil
}

// dataFile is a file without a name that reads as text from its beginning.
func dataFile(text string) (*os.File, error) {
	fd, err := unix.MemfdCreate("patchd-data", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("create data file: %w", err)
	}
	f := os.NewFile(uintptr(fd), "patchd-data")
	if _, err := f.WriteAt([]byte(text), 0); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("write data file: %w", err)
	}
	return f, nil
}

func (p *pipes) childFiles() []*os.File {
	return append([]*os.File{p.controlR, p.statusW}, p.data...)
}

func (p *pipes) closeChildEnds() {
	for _, f := range append(p.childFiles(), p.outW) {
		_ = f.Close()
	}
}

func (p *pipes) close() {
	for _, f := range append([]*os.File{p.controlR, p.controlW, p.statusR, p.statusW, p.outR, p.outW}, p.data...) {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *pipes) readReport() report {
	const most = 64 << 10
	var rep report
	if err := json.NewDecoder(io.LimitReader(p.statusR, most)).Decode(&rep); err != nil {
		return report{Cause: SupervisorLost, ExitCode: -1}
	}
	return rep
}

// drain waits for the output's end. Every writer is dead by now where the level has a pid namespace; elsewhere one that hid itself
// does not get to hold us up.
func (p *pipes) drain(copied <-chan struct{}) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C:
		_ = p.outR.Close()
		<-copied
	}
}

func machineMemory() int64 {
	var info unix.Sysinfo_t
	if err := unix.Sysinfo(&info); err != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit) //nolint:gosec // memory fits
}

// traversable reports whether a user without rights of its own can reach dir.
func traversable(dir string) bool {
	for ; ; dir = filepath.Dir(dir) {
		st, err := os.Stat(dir)
		if err != nil || st.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
	}
}
