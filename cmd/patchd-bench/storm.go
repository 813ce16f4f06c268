package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"time"

	"patchd/cmd/patchd-bench/internal/program"
	"patchd/coordinator"
	"patchd/coordinator/ledger/pgserver"
)

type stormCmd struct {
	Repo        string        `arg:"" type:"existingdir" help:"The repository whose history gives the patches."`
	Patchd      string        `required:"" type:"existingfile" placeholder:"FILE" help:"The patchd program."`
	Submissions int           `default:"200" help:"How many submissions; a third of them are repeats under the same request key."`
	Processes   int           `default:"8" help:"How many processes submit at once."`
	Kills       int           `default:"5" help:"How often the daemon is killed with SIGKILL meanwhile."`
	Restarts    int           `default:"2" help:"How often PostgreSQL is restarted at once (immediate shutdown) meanwhile."`
	Seed        uint64        `default:"1" help:"Seed of the order of submissions."`
	Back        int           `default:"1500" help:"The target lies so many commits before HEAD; patches are made of later commits."`
	Patience    time.Duration `default:"5m" help:"How long everything may take to be decided in the end."`
}

// Help says what is done.
func (*stormCmd) Help() string {
	return `Each submission is a "patchd submit" process of its own; one that fails is run again, as a person would. Kills and restarts are
spread evenly over the acknowledgements. In the end everything acknowledged must be there and decided, nothing decided twice, the ledger
sound, git fsck no worse than before, and no worktree or lock file left.`
}

// stormDocument is the whole answer. Faults must be empty.
type stormDocument struct {
	Repo         string         `json:"repo"`
	Submissions  int            `json:"submissions"`
	Patches      int            `json:"patches"`
	Acknowledged int            `json:"acknowledged"`
	Repeated     int            `json:"deduplicated"`
	Reruns       int            `json:"reruns"` // submit processes that failed and were run again
	Kills        int            `json:"kills"`
	Restarts     int            `json:"restarts"`
	Decisions    int            `json:"decisions"`
	Outcomes     map[string]int `json:"outcomes"`
	Seconds      float64        `json:"seconds"`
	Faults       []string       `json:"faults"`
}

// job is one submission to make.
type job struct {
	identity       coordinator.Identity
	manifest, diff string // files
}

// ack is what a submit process printed.
type ack struct {
	SubmissionID string               `json:"submission_id"`
	Identity     coordinator.Identity `json:"identity"`
	Deduplicated bool                 `json:"deduplicated"`
	job          job
}

// storm is one run.
type storm struct {
	*bench
	*stormCmd
	stand   *stand
	patchd  program.Program
	server  *pgserver.Server
	url     string
	dataDir string
	daemon  *program.Daemon
	doc     *stormDocument
	before  string // what git fsck said

	mu      sync.Mutex
	acks    []ack
	counted chan int // how many acknowledgements there are, after each
}

// Run raises the storm and looks at what is left.
func (c *stormCmd) Run(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, c.Repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	x := &storm{
		bench: b, stormCmd: c, stand: s, patchd: program.At(c.Patchd, b.searchPath), dataDir: filepath.Join(b.scratch, "data"),
		doc:     &stormDocument{Repo: s.Name, Submissions: c.Submissions, Outcomes: map[string]int{}, Faults: []string{}},
		counted: make(chan int, c.Submissions),
	}
	jobs, err := x.jobs(ctx)
	if err != nil {
		return err
	}
	if x.before, err = x.fsck(ctx); err != nil {
		return err
	}
	if x.server, err = pgserver.Start(ctx, pgserver.Options{DataDir: filepath.Join(b.scratch, "postgres"), Ephemeral: true}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.server.Stop(context.WithoutCancel(ctx))) }()
	if x.url, err = x.server.EnsureDatabase(ctx, "patchd"); err != nil {
		return err
	}
	start := b.clock()
	if err := x.blow(ctx, jobs); err != nil {
		return errors.Join(err, x.end())
	}
	if err := x.inspect(ctx); err != nil {
		return errors.Join(err, x.end())
	}
	x.doc.Seconds = b.clock().Sub(start).Seconds()
	if err := b.emit(x.doc, x.doc.render); err != nil {
		return err
	}
	if n := len(x.doc.Faults); n > 0 {
		return fmt.Errorf("%d faults", n)
	}
	return nil
}

// end kills the daemon, whatever it does.
func (x *storm) end() error {
	if x.daemon == nil {
		return nil
	}
	return x.daemon.Kill()
}

// jobs writes the patches to files and lists the submissions in a shuffled order: each patch once, and a third of all repeated.
func (x *storm) jobs(ctx context.Context) ([]job, error) {
	patches := x.Submissions - x.Submissions/3
	trials, err := x.stream(ctx, x.stand, patches, x.Back)
	if err != nil {
		return nil, err
	}
	x.doc.Patches = len(trials)
	var out []job
	for i := range trials {
		t := &trials[i]
		label := "storm-" + string(t.Commit[:12])
		raw, err := manifest(t.Base, t.Paths, t.Diff, label, label)
		if err != nil {
			return nil, err
		}
		submission, err := coordinator.Admit(raw, t.Diff)
		if err != nil {
			return nil, err
		}
		j := job{submission.Identity, filepath.Join(x.scratch, label+".json"), filepath.Join(x.scratch, label+".diff")}
		if err := errors.Join(os.WriteFile(j.manifest, raw, 0o600), os.WriteFile(j.diff, t.Diff, 0o600)); err != nil {
			return nil, fmt.Errorf("write patch: %w", err)
		}
		out = append(out, j)
	}
	r := rand.New(rand.NewPCG(x.Seed, 0)) //nolint:gosec // a choice that can be repeated
	for _, i := range r.Perm(len(out))[:x.Submissions-len(out)] {
		out = append(out, out[i])
	}
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out, nil
}

func (doc *stormDocument) fault(format string, args ...any) {
	doc.Faults = append(doc.Faults, fmt.Sprintf(format, args...))
}

func (doc *stormDocument) render(w io.Writer) {
	line(w, "%s: %d submissions of %d patches, %d acknowledged (%d as repeats), %d runs repeated, in %.0f s", doc.Repo, doc.Submissions, doc.Patches, doc.Acknowledged, doc.Repeated, doc.Reruns, doc.Seconds)
	line(w, "daemon killed %d times, PostgreSQL restarted %d times", doc.Kills, doc.Restarts)
	line(w, "%d decisions in the ledger; outcomes %s", doc.Decisions, counts(doc.Outcomes))
	if len(doc.Faults) == 0 {
		line(w, "nothing lost, nothing decided twice, ledger verified, git fsck as before, no worktree or lock left")
	}
	for _, f := range doc.Faults {
		line(w, "FAULT %s", f)
	}
}
