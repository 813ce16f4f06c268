package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"patchd/checks/sandbox"
	"patchd/coordinator"
	"patchd/coordinator/checker"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
)

type decideCmd struct {
	Repo       string `placeholder:"DIR" help:"The repository; default: that of the working directory."`
	Target     string `short:"t" required:"" placeholder:"REF|COMMIT" help:"Decide against this branch's tip or this commit."`
	Manifest   string `required:"" type:"path" placeholder:"FILE" help:"The manifest."`
	Diff       string `required:"" type:"path" placeholder:"FILE" help:"The diff that the manifest names."`
	SkipChecks bool   `help:"Run nothing: the record stays as the applicability stage leaves it."`
	InWorktree bool   `help:"Have git do the rebase once more, in a linked worktree: slow and simple. Where both do not agree, that is an error."`
	Write      bool   `help:"Keep the candidate: write its objects and refs/patchd/candidates/…."`

	AllowUnsandboxedChecks bool `help:"Run checks unconfined where this machine offers no way to confine them."`
}

// Help shows examples.
func (*decideCmd) Help() string {
	return `The same inputs give the same digests and the same candidate commit on every machine; the daemon's must equal them.
Exit status: 0 candidate, 3 rejected or waiting, 4 conflict.

Examples:
  patchd manifest --base main~3 --to feature --out /tmp/p
  patchd decide --target main --manifest /tmp/p/manifest.json --diff /tmp/p/patch.diff
  patchd decide --repo ~/src/app --target main --manifest m.json --diff p.diff --skip-checks --json`
}

// Run decides one patch and prints its record.
func (d *decideCmd) Run(ctx context.Context, a *app) error {
	manifest, diff, _, err := readFiles(a.path(d.Manifest), a.path(d.Diff))
	if err != nil {
		return err
	}
	submission, err := coordinator.Admit(manifest, diff)
	var refusal *coordinator.Refusal
	if errors.As(err, &refusal) {
		return d.show(a, coordinator.AttemptRefused(refusal, coordinator.StageOf(refusal.Code)))
	}
	if err != nil {
		return err
	}
	repo, err := a.openRepository(ctx, d.Repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	target, err := resolveTarget(ctx, repo, repo.Dir(), d.Target)
	if err != nil {
		return err
	}
	record, err := d.decide(ctx, a, repo, target, submission)
	if err != nil {
		return err
	}
	return d.show(a, record)
}

func (d *decideCmd) show(a *app, record *coordinator.Decision) error {
	if err := a.emit(record, func(w io.Writer) { renderDecision(w, record) }); err != nil {
		return err
	}
	return outcomeStatus(record.Outcome)
}

// decide wires the pure core to this machine and lets go of everything again.
func (d *decideCmd) decide(ctx context.Context, a *app, repo *git.Repo, target git.OID, s *coordinator.Submission) (record *coordinator.Decision, err error) {
	scratch, err := os.MkdirTemp("", "patchd-decide-")
	if err != nil {
		return nil, fmt.Errorf("make scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	outlines := symbols.NewPool(symbols.Options{Command: []string{a.self, modeOutline}})
	defer func() { err = errors.Join(err, outlines.Close()) }()
	engine := coordinator.NewEngine(coordinator.EngineConfig{Repo: repo, Outlines: outlines})

	var ask coordinator.Checker
	if !d.SkipChecks {
		runner, err := d.checker(ctx, a, repo, filepath.Join(scratch, "worktrees"))
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, runner.Close(context.WithoutCancel(ctx))) }()
		ask = told{runner, a}
	}
	start := a.clock()
	record, plan, err := engine.Decide(ctx, target, s, ask)
	if err != nil {
		return nil, err
	}
	d.observe(ctx, record, a, repo, s, start)
	if d.InWorktree {
		if err := compareInWorktree(ctx, repo, record, s); err != nil {
			return nil, err
		}
	}
	if d.Write && record.Outcome == coordinator.OutcomeCandidate {
		return record, keep(ctx, repo, record, plan)
	}
	return record, nil
}

func (d *decideCmd) checker(ctx context.Context, a *app, repo *git.Repo, dir string) (*checker.Checker, error) {
	runner, err := checker.NewRunner(ctx, checker.RunnerConfig{
		Command: []string{a.self, modeSandbox}, AllowUnsandboxed: d.AllowUnsandboxedChecks, Mounts: a.checkMounts(), Clock: a.clock, Lookup: a.lookup,
	})
	if err != nil {
		return nil, err
	}
	return checker.New(ctx, runner, repo, dir)
}

// checkMounts are the toolchains and package caches of this user's home: checks see them and cannot change them.
func (a *app) checkMounts() []sandbox.Mount {
	home, ok := a.lookup("HOME")
	if !ok || home == "" {
		return nil
	}
	return sandbox.HomeCaches(home)
}

// told says on stderr which check is being run.
type told struct {
	checker *checker.Checker
	app     *app
}

// Ask implements coordinator.Checker.
func (t told) Ask(ctx context.Context, p *coordinator.Plan, q coordinator.Question) (coordinator.Verdict, []coordinator.CheckEvidence, error) {
	t.app.say("running %q on tree %s", q.Command, short(q.Tree))
	return t.checker.Ask(ctx, p, q)
}

// observe adds what is operational: it is in no digest.
func (d *decideCmd) observe(ctx context.Context, record *coordinator.Decision, a *app, repo *git.Repo, s *coordinator.Submission, start time.Time) {
	if record.Operational == nil {
		record.Operational = &coordinator.Operational{}
	}
	o, now := record.Operational, a.clock()
	o.PatchIDs, o.GitVersion, o.DecidedAt = []string{string(s.Manifest.PatchID)}, repo.Version(), now.UTC()
	o.DurationsMS = map[string]int64{"decide": now.Sub(start).Milliseconds()}
	if host, err := os.Hostname(); err == nil {
		o.Host = host
	}
	a.log.DebugContext(ctx, "decided", slog.Int64("git_processes", repo.Processes()))
}

// keep writes the candidate's objects and its reference, by compare-and-swap.
func keep(ctx context.Context, repo *git.Repo, record *coordinator.Decision, plan *coordinator.Plan) error {
	objects, err := plan.Objects.Reachable(ctx, record.Candidate.Commit)
	if err != nil {
		return fmt.Errorf("collect candidate: %w", err)
	}
	if err := repo.WritePack(ctx, objects); err != nil {
		return fmt.Errorf("write candidate: %w", err)
	}
	const digits = 20
	ref := git.Ref("refs/patchd/candidates/" + string(record.Patch.Identity[:digits]))
	old, found, err := repo.Resolve(ctx, ref)
	if err != nil {
		return err
	}
	if !found {
		old = git.ZeroOID
	}
	if err := repo.UpdateRefs(ctx, []git.RefUpdate{{Ref: ref, Old: old, New: record.Candidate.Commit}}); err != nil {
		return fmt.Errorf("keep candidate: %w", err)
	}
	return nil
}
