package repro

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"golang.org/x/sync/errgroup"

	"patchd/coordinator"
	"patchd/coordinator/checker"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// Digest is the coordinator's.
type Digest = coordinator.Digest

// State is the coordinator's.
type State = coordinator.State

// Config says what is tried and where. Server is the URL of a PostgreSQL server on which databases may be made, Template the
// name of a migrated database on it to which nobody is connected, Objects the object directory of the repository. Service is
// the configuration of the coordinators but for database, repository and data directory.
type Config struct {
	Server   string
	Template string
	Objects  string
	Repo     *git.Repo
	Target   git.Ref
	Patches  []Patch
	Orders   int // zero: all
	Seed     uint64
	Parallel int
	Scratch  string
	Service  service.Config
	Open     Open                  // nil: Serve
	Progress func(done, total int) // nil: nobody looks
}

// Report is what came of it.
type Report struct {
	Agree       bool     `json:"agree"`
	Orders      int      `json:"orders"`
	Runs        int      `json:"runs"` // those with a seal between the admissions included
	Patches     int      `json:"patches"`
	StateDigest Digest   `json:"state_digest,omitempty"` // once everything is admitted
	Landed      []string `json:"landed"`                 // the trees that the target came to, round after round
	Difference  string   `json:"difference,omitempty"`
	Seed        uint64   `json:"seed"`
}

// barrierShare is how many orders there are for each one that is tried with a seal between the admissions too.
const barrierShare = 6

// run is one order of admissions.
type run struct {
	number  int
	order   []int
	barrier bool // with a seal between the admissions
	calm    bool // before that seal, nothing is running
	plain   bool
}

// experiment is one comparison.
type experiment struct {
	config  Config
	target  git.OID
	patches []Patch
	relabel bool
	free    chan lane
}

// Run tries the orders and compares what they come to. An error says that nothing could be compared; that two runs differ is in
// the report.
func Run(ctx context.Context, c Config) (report *Report, err error) {
	if c.Open == nil {
		c.Open = Serve
	}
	tip, found, err := c.Repo.Resolve(ctx, c.Target)
	if err != nil || !found {
		return nil, fmt.Errorf("read target %q: found %t: %w", c.Target, found, err)
	}
	x := &experiment{config: c, target: tip}
	if x.patches, err = admit(c.Patches); err != nil {
		return nil, err
	}
	x.relabel = !namesOthers(x.patches)
	if c := &x.config.Service; c.Runner == nil { // one look at this machine is enough for all
		c.Runner, err = checker.NewRunner(ctx, checker.RunnerConfig{
			Command: c.SandboxCommand, AllowUnsandboxed: c.AllowUnsandboxed, Mounts: c.CheckMounts, Clock: c.Clock, Lookup: c.CheckEnv,
		})
		if err != nil {
			return nil, fmt.Errorf("prepare checks: %w", err)
		}
	}
	r := rand.New(rand.NewPCG(c.Seed, 1)) //nolint:gosec // a seed makes a run repeatable
	list := orders(len(x.patches), c.Orders, r)
	runs := x.runs(list)
	report = &Report{Orders: len(list), Runs: len(runs), Patches: len(x.patches), Seed: c.Seed, Landed: []string{}}
	free, remove, err := x.lanes(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	x.free = free
	judge := &judge{patches: x.patches, report: report, reference: x.reference}
	if err := x.all(ctx, runs, judge); err != nil {
		return nil, err
	}
	report.Agree = report.Difference == ""
	return report, nil
}

// runs puts a plain run of each kind first: what the others are compared with.
func (x *experiment) runs(list [][]int) []run {
	var out []run
	for i, order := range list {
		out = append(out, run{number: len(out), order: order, plain: i == 0})
		if i%barrierShare == 0 && len(x.patches) > 1 {
			out = append(out, run{number: len(out), order: order, plain: i == 0, barrier: true, calm: i/barrierShare%2 == 1})
		}
	}
	return out
}

// all runs everything, several at once, until two differ.
func (x *experiment) all(ctx context.Context, runs []run, j *judge) error {
	var mu sync.Mutex
	done, differs := 0, false
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(x.config.Parallel, 1))
	for i, r := range runs {
		mu.Lock()
		stop := differs
		mu.Unlock()
		if stop || ctx.Err() != nil {
			break
		}
		perform := func() error {
			out, err := x.perform(ctx, r)
			if err != nil {
				return fmt.Errorf("order %d %v: %w", r.number, x.names(r.order), err)
			}
			mu.Lock()
			defer mu.Unlock()
			if err := j.compare(ctx, r, out); err != nil {
				return err
			}
			done++
			differs = j.report.Difference != ""
			if x.config.Progress != nil {
				x.config.Progress(done, len(runs))
			}
			return nil
		}
		if i < 2 && r.plain { // the first of each kind is what the others are compared with
			if err := perform(); err != nil {
				return err
			}
			continue
		}
		group.Go(perform)
	}
	return group.Wait()
}

func (x *experiment) names(order []int) []string {
	out := make([]string, len(order))
	for i, p := range order {
		out[i] = x.patches[p].Name
	}
	return out
}
