package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"

	"patchd/coordinator/ledger"
	"patchd/coordinator/ledger/pgserver"
	"patchd/coordinator/repro"
	"patchd/coordinator/service"
	"patchd/ownership/symbols"
	"patchd/worktree/git"
)

type reproCmd struct {
	Repo     string `placeholder:"DIR" help:"The repository; default: that of the working directory. Nothing is written to it."`
	Target   string `short:"t" required:"" placeholder:"REF" help:"The branch that the patches are for."`
	Patches  string `required:"" type:"path" placeholder:"DIR" help:"Patches as DIR/*/manifest.json and DIR/*/patch.diff."`
	Orders   string `default:"all" placeholder:"all|N" help:"All orders, or N of them."`
	Seed     uint64 `help:"Repeat a sample: what is drawn follows from it. Zero: any."`
	Parallel int    `help:"Runs at once; default: one more than there are processors."`

	AllowUnsandboxedChecks bool `help:"Run checks unconfined where this machine offers no way to confine them."`
}

// mostOrders is how many orders "all" may come to.
const mostOrders = 8

// Help shows examples.
func (*reproCmd) Help() string {
	return `Feeds the patches to fresh coordinators, each with a database and a repository of its own, in different orders, with repeats,
withdrawals, decoys, other labels and agents, other worker counts, restarts and seals in between, and compares the published
states with each other and with the state worked out from scratch, the decisions, the rounds and the composed trees.
Exit status: 0 all agree, 4 they do not: the first difference is said.

Examples:
  patchd manifest --base main~1 --to topic --out /tmp/set/topic
  patchd repro --target main --patches /tmp/set
  patchd repro --target main --patches /tmp/set --orders 200 --seed 7 --json`
}

// Run tries the orders and says whether they agree.
func (r *reproCmd) Run(ctx context.Context, a *app) (err error) {
	patches, err := repro.ReadPatches(a.path(r.Patches))
	if err != nil {
		return err
	}
	orders, err := r.orders(len(patches))
	if err != nil {
		return err
	}
	repo, err := a.openRepository(ctx, r.Repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	scratch, err := os.MkdirTemp("", "patchd-repro-")
	if err != nil {
		return fmt.Errorf("make scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	server, err := pgserver.Start(ctx, pgserver.Options{DataDir: filepath.Join(scratch, "postgres"), Logger: a.log, Ephemeral: true, Unsafe: true, MaxConnections: 400})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	report, err := r.try(ctx, a, repo, server, patches, orders, scratch)
	if err != nil {
		return err
	}
	if err := a.emit(report, func(w io.Writer) { renderRepro(w, report) }); err != nil {
		return err
	}
	if !report.Agree {
		return &statusError{code: exitConflict}
	}
	return nil
}

func (r *reproCmd) orders(patches int) (int, error) {
	if r.Orders == "all" {
		if patches > mostOrders {
			return 0, usage(fmt.Errorf("%d patches have too many orders for all of them", patches), "give a number, such as --orders 200")
		}
		return 0, nil
	}
	n, err := strconv.Atoi(r.Orders)
	if err != nil || n < 1 {
		return 0, usage(fmt.Errorf("--orders %q is neither \"all\" nor a number above 0", r.Orders), "")
	}
	return n, nil
}

func (r *reproCmd) try(ctx context.Context, a *app, repo *git.Repo, server *pgserver.Server, patches []repro.Patch, orders int, scratch string) (report *repro.Report, err error) {
	const template = "repro"
	url, err := server.EnsureDatabase(ctx, template)
	if err != nil {
		return nil, err
	}
	if err := ledger.Migrate(ctx, url, ledger.Options{Clock: a.clock, Logger: a.log}); err != nil {
		return nil, err
	}
	outlines := symbols.NewPool(symbols.Options{Command: []string{a.self, modeOutline}})
	defer func() { err = errors.Join(err, outlines.Close()) }()
	ref := git.Ref(r.Target)
	if !ref.Valid() {
		ref = "refs/heads/" + ref
	}
	seed := r.Seed
	if seed == 0 {
		seed = rand.Uint64() >> 1 //nolint:gosec // what is drawn is said, and nobody must not guess it
	}
	return repro.Run(ctx, repro.Config{
		Server: server.DSN("postgres"), Template: template, Objects: filepath.Join(repo.CommonDir(), "objects"), Repo: repo, Target: ref, Patches: patches,
		Orders: orders, Seed: seed, Parallel: r.parallel(), Scratch: scratch, Progress: a.reproProgress(),
		Service: service.Config{
			Version: release, Logger: a.log, Clock: a.clock, Outlines: outlines, SandboxCommand: []string{a.self, modeSandbox},
			CheckMounts: a.checkMounts(), AllowUnsandboxed: r.AllowUnsandboxedChecks, CheckEnv: a.lookup,
		},
	})
}

func (r *reproCmd) parallel() int {
	if r.Parallel > 0 {
		return r.Parallel
	}
	return runtime.NumCPU() + 1
}

// reproProgress tells on stderr how far it is, about twenty times.
func (a *app) reproProgress() func(done, total int) {
	return func(done, total int) {
		if step := max(total/20, 1); done%step == 0 || done == total {
			a.say("%d of %d runs", done, total)
		}
	}
}

func renderRepro(w io.Writer, r *repro.Report) {
	if !r.Agree {
		_, _ = fmt.Fprintf(w, "They differ: %s\nRepeat it with --seed %d.\n", r.Difference, r.Seed)
		return
	}
	_, _ = fmt.Fprintf(w, "%d orders of %d patches agree (%d runs, seed %d).\nState digest  %s\n", r.Orders, r.Patches, r.Runs, r.Seed, r.StateDigest)
	for i, tree := range r.Landed {
		_, _ = fmt.Fprintf(w, "Round %d lands tree %s\n", i+1, tree)
	}
}
