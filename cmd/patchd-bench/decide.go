package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"time"

	"golang.org/x/sync/errgroup"

	"patchd/cmd/patchd-bench/internal/baseline"
	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/coordinator"
)

type decideCmd struct {
	Repo       string `arg:"" type:"existingdir" help:"The repository whose history gives the patches."`
	N          int    `name:"n" default:"50" help:"How many patches of each kind."`
	Parallel   int    `default:"8" help:"How many decisions at once in the second measurement."`
	MinEdits   int    `default:"3" help:"Patches have at least so many edits."`
	MaxEdits   int    `default:"6" help:"And at most so many."`
	Window     int    `default:"50" help:"How many commits before the target the base lies at most."`
	Back       int    `default:"1500" help:"The target lies so many commits before HEAD; patches are made of later commits. 0: each commit meets its own parent, so the target moves with every patch."`
	Scan       int    `default:"4000" help:"How many commits are looked at to find patches."`
	Scripts    int    `default:"1" help:"For how many batches of decisions at once the script is run too; it takes minutes on a large repository."`
	Trees      int    `default:"12" help:"How many worktrees are moved and added; 0 leaves that out."`
	NoBaseline bool   `help:"Leave the baseline and the worktrees out: for profiling."`
	CPUProfile string `name:"cpuprofile" type:"path" placeholder:"FILE" help:"Write a CPU profile of the decisions."`
}

// Help says what is measured.
func (*decideCmd) Help() string {
	return `The patches are real commits bound to an older base, so the tree that each must lead to is known. One kind has exactly one file
that changed since the base, the other none. Each is decided by the engine and by a script (git worktree add --detach, git apply --3way
--index, git commit, git worktree remove), turn about, so that the machine's moods meet both. "kept" adds what acceptance adds: the
candidate's objects written durably.`
}

// decideReport is what one kind of patches measured.
type decideReport struct {
	Kind      string          `json:"kind"`
	Patches   int             `json:"patches"`
	Outcomes  map[string]int  `json:"outcomes"`
	SameTree  int             `json:"same_tree"`  // candidates with the tree of the real commit
	OtherTree int             `json:"other_tree"` // must be 0
	Failed    int             `json:"baseline_failed"`
	Retries   int64           `json:"baseline_retries"`
	Cold      float64         `json:"cold_ms"`
	Warm      measure.Summary `json:"decision"`
	Kept      measure.Summary `json:"decision_kept"`
	Script    measure.Summary `json:"script"`
	Ratio     float64         `json:"ratio"`
	RatioKept float64         `json:"ratio_kept"`
	At        int             `json:"at_once"`
	WarmAt    measure.Summary `json:"decision_at_once"`
	ScriptAt  measure.Summary `json:"script_at_once"`
	RatioAt   float64         `json:"ratio_at_once"`
	WarmCPU   float64         `json:"decision_cpu_ms"` // processor time of the mean decision, helpers included
	ScriptCPU float64         `json:"script_cpu_ms"`
	RatioCPU  float64         `json:"ratio_cpu"`
	Processes float64         `json:"git_processes_per_decision"`
	MostProcs int64           `json:"git_processes_most"`
	StagesMS  stages          `json:"stages_ms"`
	Memory    measure.Memory  `json:"memory"`
	Children  measure.Memory  `json:"memory_of_children"`
}

// stages says where the mean decision spends its time, in milliseconds.
type stages struct {
	Whole    float64 `json:"whole"`
	Reads    float64 `json:"reads"`
	Ancestry float64 `json:"ancestry"`
	Merge    float64 `json:"git_merge"`
	Outlines float64 `json:"outlines"`
	Compute  float64 `json:"compute"`
	Pack     float64 `json:"pack"`

	ReadCalls    float64 `json:"read_calls"`
	OutlineCalls float64 `json:"outline_calls"`
	OutlineFiles float64 `json:"outline_files"`
	OutlineKiB   float64 `json:"outline_kib"`
}

// decideDocument is the whole answer.
type decideDocument struct {
	Repo      string          `json:"repo"`
	Files     int             `json:"files"`
	Git       string          `json:"git_version"`
	Kinds     []*decideReport `json:"kinds"`
	Worktrees *poolReport     `json:"worktrees,omitempty"`
}

// Run measures both kinds.
func (d *decideCmd) Run(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, d.Repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	doc := &decideDocument{Repo: s.Name, Git: s.repo.Version()}
	if doc.Files, err = s.Files(ctx, s.Head); err != nil {
		return err
	}
	other := 0
	for _, shared := range []bool{true, false} {
		r, err := d.kind(ctx, b, s, shared)
		if err != nil {
			return err
		}
		doc.Kinds = append(doc.Kinds, r)
		other += r.OtherTree
	}
	if !d.NoBaseline && d.Trees > 0 {
		if doc.Worktrees, err = d.worktrees(ctx, b, s); err != nil {
			return err
		}
	}
	if err := b.emit(doc, doc.render); err != nil {
		return err
	}
	if other > 0 {
		return fmt.Errorf("%d candidates have another tree than git makes", other)
	}
	return nil
}

// trial is one patch ready to be decided.
type trial struct {
	history.Pick
	manifest []byte
}

func (d *decideCmd) trials(ctx context.Context, s *stand, shared bool) ([]trial, error) {
	picks, err := history.Picks(ctx, s.Scratch, s.repo, history.PickOptions{
		N: d.N + warmUps, MinEdits: d.MinEdits, MaxEdits: d.MaxEdits, Window: d.Window, Scan: max(d.Scan, d.Back+1), Back: d.Back, Shared: shared,
	})
	if err != nil {
		return nil, err
	}
	return ready(picks)
}

// ready writes the manifests.
func ready(picks []history.Pick) ([]trial, error) {
	var out []trial
	for _, p := range picks {
		raw, err := manifest(p.Base, p.Paths, p.Diff, "commit-"+string(p.Commit[:12]), "")
		if err != nil {
			return nil, err
		}
		out = append(out, trial{p, raw})
	}
	return out, nil
}

// warmUps is how many patches are decided before the measurement begins.
const warmUps = 3

func (d *decideCmd) kind(ctx context.Context, b *bench, s *stand, shared bool) (*decideReport, error) {
	r := &decideReport{Kind: "apart", Outcomes: map[string]int{}, At: d.Parallel}
	if shared {
		r.Kind = "one shared path"
	}
	b.say("%s: looking for patches (%s)", s.Name, r.Kind)
	trials, err := d.trials(ctx, s, shared)
	if err != nil {
		return nil, err
	}
	if len(trials) <= warmUps {
		return nil, fmt.Errorf("found %d patches with %d to %d edits: look at more commits (--scan) or allow other sizes", len(trials), d.MinEdits, d.MaxEdits)
	}
	if err := s.renew(ctx, b); err != nil {
		return nil, err
	}
	m := &measurement{bench: b, stand: s, report: r, first: trials[:warmUps]}
	if m.script, err = baseline.New(s.Git, filepath.Join(b.scratch, "baseline")); err != nil {
		return nil, err
	}
	b.say("%s: %d patches (%s)", s.Name, len(trials)-warmUps, r.Kind)
	if r.Cold, err = m.warm(ctx); err != nil {
		return nil, err
	}
	trials = trials[warmUps:]
	scripts := d.Scripts
	if d.NoBaseline {
		scripts = 0
	}
	r.Patches = len(trials)
	stop, err := profile(d.CPUProfile, r.Kind)
	if err != nil {
		return nil, err
	}
	err = m.oneByOne(ctx, trials, !d.NoBaseline)
	stop()
	if err != nil {
		return nil, err
	}
	return r, m.atOnce(ctx, trials, d.Parallel, scripts)
}

// profile begins a CPU profile where one is wanted.
func profile(file, kind string) (stop func(), err error) {
	if file == "" {
		return func() {}, nil
	}
	if kind == "apart" {
		file += ".apart"
	}
	f, err := os.Create(file) //nolint:gosec // the file that the user named
	if err != nil {
		return nil, fmt.Errorf("make profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("start profile: %w", err), f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

// decide is what is timed: the manifest and the diff come in, the record goes out.
func (s *stand) decideTrial(ctx context.Context, t *trial) (*coordinator.Decision, *coordinator.Plan, error) {
	submission, err := coordinator.Admit(t.manifest, t.Diff)
	if err != nil {
		return nil, nil, err
	}
	return s.engine.Decide(ctx, t.Target, submission, nil)
}

// inBatches runs f for each trial, n at once, batch after batch.
func inBatches(ctx context.Context, trials []trial, n int, f func(ctx context.Context, t *trial) (time.Duration, error)) (measure.Sample, error) {
	var out measure.Sample
	for start := 0; start+n <= len(trials); start += n {
		took := make(measure.Sample, n)
		group, ctx := errgroup.WithContext(ctx)
		for i := range n {
			group.Go(func() (err error) {
				took[i], err = f(ctx, &trials[start+i])
				return err
			})
		}
		if err := group.Wait(); err != nil {
			return nil, err
		}
		out = append(out, took...)
	}
	return out, nil
}
