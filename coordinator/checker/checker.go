// Package checker runs the commands that decisions ask about: on a pooled worktree that holds exactly the tree in question,
// confined, in an environment that the target's policy enumerates. It records nothing and decides nothing; both the daemon
// and `patchd decide` use it.
package checker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"patchd/checks"
	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/worktree"
	"patchd/worktree/git"
)

// RunnerConfig wires a runner. Lookup gives the values of environment variables that a policy passes through.
type RunnerConfig struct {
	Command          []string // this program's hidden mode that confines a check
	AllowUnsandboxed bool
	Mounts           []sandbox.Mount // caches and toolchains shown to every check
	Clock            func() time.Time
	Lookup           func(name string) (string, bool)
}

// Runner is the machine's way of running checks, shared by all repositories. It is safe for concurrent use.
type Runner struct {
	config  RunnerConfig
	runner  *checks.Runner
	refused error // why this host runs no checks; each then ends without a verdict, saying so
}

// NewRunner probes what this host allows. A host that cannot confine checks is no error here: commands then end without a
// verdict and say why.
func NewRunner(ctx context.Context, c RunnerConfig) (*Runner, error) {
	r := &Runner{config: c}
	box, err := sandbox.New(ctx, sandbox.Options{Self: c.Command, AllowUnconfined: c.AllowUnsandboxed})
	var refused *sandbox.RefusedError
	switch {
	case errors.As(err, &refused) || errors.Is(err, sandbox.ErrUnsupported):
		r.refused = err
	case err != nil:
		return nil, fmt.Errorf("prepare sandbox: %w", err)
	default:
		r.runner = checks.NewRunner(box, c.Clock)
	}
	return r, nil
}

// Level names how checks are confined; empty where they are refused.
func (r *Runner) Level() string {
	if r.runner == nil {
		return ""
	}
	return string(r.runner.Level())
}

// Checker runs the checks of one repository. It is safe for concurrent use.
type Checker struct {
	runner *Runner
	pool   *worktree.Pool
}

// New makes a checker whose worktrees live in dir, outside every checkout.
func New(ctx context.Context, r *Runner, repo *git.Repo, dir string) (*Checker, error) {
	pool, err := worktree.NewPool(ctx, repo, dir, worktree.PoolOptions{})
	if err != nil {
		return nil, fmt.Errorf("prepare worktrees: %w", err)
	}
	return &Checker{runner: r, pool: pool}, nil
}

// Close removes the worktrees.
func (c *Checker) Close(ctx context.Context) error { return c.pool.Close(ctx) }

// Key is what a verdict is reused by, beside the tree.
type Key struct {
	Args        coordinator.Digest
	Environment coordinator.Digest
}

// Key digests a question's arguments and the environment that the policy gives it on this machine.
func (c *Checker) Key(policy *coordinator.Policy, q coordinator.Question) (Key, error) {
	cmd, err := checks.ParseCommand(q.Command)
	if err != nil {
		return Key{}, err
	}
	args, err := coordinator.DigestOf(cmd.Args)
	if err != nil {
		return Key{}, err
	}
	env, err := c.environment(policy)
	if err != nil {
		return Key{}, err
	}
	digest, err := env.Key()
	return Key{Args: args, Environment: coordinator.Digest(digest)}, err
}

func (c *Checker) environment(policy *coordinator.Policy) (checks.Environment, error) {
	return checks.NewEnvironment(policy.Checks.Env, c.runner.config.Lookup)
}

// Run runs a question's command once on a worktree that holds exactly its tree. objects reads what the repository may not
// hold yet.
func (c *Checker) Run(ctx context.Context, p *coordinator.Plan, q coordinator.Question) (checks.Result, error) {
	cmd, err := checks.ParseCommand(q.Command)
	if err != nil {
		return checks.Result{}, err
	}
	env, err := c.environment(p.Policy)
	if err != nil {
		return checks.Result{}, err
	}
	if c.runner.runner == nil {
		return checks.Result{Status: checks.StatusSandboxFailed, ExitCode: -1, Detail: c.runner.refused.Error(), Environment: env.Digests()}, nil
	}
	lease, err := c.pool.Acquire(ctx, worktree.LeaseRequest{Tree: q.Tree, Commit: p.Decision.Target.Commit, Objects: p.Objects})
	if err != nil {
		return checks.Result{}, fmt.Errorf("check out tree %s: %w", q.Tree, err)
	}
	defer lease.Release() //nolint:contextcheck // a lease is given back also when ctx has ended
	return c.runner.runner.Run(ctx, checks.Request{
		Dir: lease.Dir(), Command: cmd, Environment: env, Limits: sandbox.Limits{Timeout: time.Duration(p.Policy.Checks.Timeout)}, Mounts: c.runner.config.Mounts,
	})
}

// Ask implements coordinator.Checker without a memory: every question is run as often as its verdict needs.
func (c *Checker) Ask(ctx context.Context, p *coordinator.Plan, q coordinator.Question) (coordinator.Verdict, []coordinator.CheckEvidence, error) {
	var seen []checks.Status
	var evidence []coordinator.CheckEvidence
	for {
		run, err := c.Run(ctx, p, q)
		if err != nil {
			return "", nil, err
		}
		seen = append(seen, run.Status)
		evidence = append(evidence, Evidence(q, run))
		if j := checks.Judge(seen, p.Policy.CheckRules()); !j.Again {
			return j.Verdict, evidence, nil
		}
	}
}

// ExcerptBytes is how much of an output a record shows.
const ExcerptBytes = 2000

// Evidence is how one run went, for a record.
func Evidence(q coordinator.Question, run checks.Result) coordinator.CheckEvidence {
	e := coordinator.CheckEvidence{
		Command: q.Command, Tree: q.Tree, ExitCode: run.ExitCode, Why: run.Detail, OutputSHA256: coordinator.Digest(run.Output.SHA256),
		OutputBytes: run.Output.Bytes, Excerpt: checks.Excerpt(run.Output.Kept, ExcerptBytes), Sandbox: run.Sandbox,
	}
	if e.Why == "" && run.Status != checks.StatusPassed && run.Status != checks.StatusFailed {
		e.Why = string(run.Status)
	}
	return e
}
