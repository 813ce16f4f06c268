package checks

import (
	"context"
	"errors"
	"fmt"
	"time"

	"patchd/checks/sandbox"
)

// Request is one run of one command on one tree.
type Request struct {
	Dir         string // a worktree whose files are the tree; it may be dirty afterwards
	Command     Command
	Environment Environment
	OutputLimit int // bytes kept; 0 is DefaultOutputBytes
	Limits      sandbox.Limits
	Mounts      []sandbox.Mount
	Git         sandbox.GitAccess
}

// Result is the evidence of one run.
type Result struct {
	Status      Status
	ExitCode    int    // -1 when there was none
	Signal      string // "SIGSEGV", … when a signal ended the command
	Detail      string // for people
	Duration    time.Duration
	Output      Output
	Sandbox     string            // the level
	Environment map[string]string // name to SHA-256 of the value
}

// Verdict reads the run by itself.
func (r Result) Verdict() Verdict { return r.Status.Verdict() }

// Runner runs commands in a sandbox. It is safe for concurrent use.
type Runner struct {
	box   *sandbox.Sandbox
	clock func() time.Time
}

// NewRunner makes a Runner; the clock only measures durations.
func NewRunner(box *sandbox.Sandbox, clock func() time.Time) *Runner {
	return &Runner{box: box, clock: clock}
}

// Level is how commands are confined.
func (r *Runner) Level() sandbox.Level { return r.box.Level() }

// Run runs a command once and returns when it and everything it started are gone. An error means that ctx ended or the request makes
// no sense; whatever else can go wrong is a Status.
func (r *Runner) Run(ctx context.Context, req Request) (Result, error) {
	if len(req.Command.Args) == 0 || req.Dir == "" {
		return Result{}, errors.New("run check: a directory and a command are needed")
	}
	out := newCollector(req.OutputLimit)
	start := r.clock()
	end, err := r.box.Run(ctx, sandbox.Spec{
		Dir: req.Dir, Args: req.Command.Args, Env: req.Environment,
		Mounts: req.Mounts, Git: req.Git, Limits: req.Limits,
	}, out)
	if err != nil {
		return Result{}, fmt.Errorf("run check %q: %w", req.Command.Line, err)
	}
	return Result{
		Status:      statusOf(end),
		ExitCode:    end.ExitCode,
		Signal:      end.Signal,
		Detail:      end.Detail,
		Duration:    r.clock().Sub(start),
		Output:      out.output(),
		Sandbox:     string(end.Level),
		Environment: req.Environment.Digests(),
	}, nil
}

func statusOf(end sandbox.Outcome) Status {
	switch end.Cause {
	case sandbox.Exited:
		switch {
		case end.ExitCode == 0:
			return StatusPassed
		case end.Signal == "SIGKILL":
			return StatusKilled
		}
		return StatusFailed
	case sandbox.NotExecutable:
		return StatusFailed
	case sandbox.TimedOut:
		return StatusTimeout
	case sandbox.OutOfMemory:
		return StatusKilledMemory
	case sandbox.OutOfDisk:
		return StatusKilledDisk
	case sandbox.TooMany:
		return StatusKilledTooMany
	case sandbox.Missing:
		return StatusCommandMissing
	case sandbox.SupervisorLost, sandbox.SetupFailed:
		return StatusSandboxFailed
	}
	return StatusSandboxFailed
}

// Fresh hands out a directory with the same tree as every time before, untouched by earlier runs, and what gives it back.
type Fresh func(ctx context.Context) (dir string, release func(), err error)

// Evaluation is the judgement of a command on a tree with the runs it rests on.
type Evaluation struct {
	Judgement Judgement
	Runs      []Result
}

// Evaluate runs a command on fresh copies of one tree until Judge asks for no more. req.Dir is ignored.
func (r *Runner) Evaluate(ctx context.Context, fresh Fresh, req Request, rules Rules) (Evaluation, error) {
	var eval Evaluation
	var seen []Status
	for {
		res, err := r.runFresh(ctx, fresh, req)
		if err != nil {
			return eval, err
		}
		eval.Runs = append(eval.Runs, res)
		seen = append(seen, res.Status)
		eval.Judgement = Judge(seen, rules)
		if !eval.Judgement.Again {
			return eval, nil
		}
	}
}

func (r *Runner) runFresh(ctx context.Context, fresh Fresh, req Request) (Result, error) {
	dir, release, err := fresh(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("take a fresh tree: %w", err)
	}
	defer release()
	req.Dir = dir
	return r.Run(ctx, req)
}
