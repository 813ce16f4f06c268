package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/cmd/patchd-bench/internal/noop"
	"patchd/cmd/patchd-bench/internal/program"
	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
	"patchd/coordinator/ledger/pgserver"
)

type latencyCmd struct {
	Repo   string `arg:"" type:"existingdir" help:"The repository whose history gives the patches."`
	Patchd string `required:"" type:"existingfile" placeholder:"FILE" help:"The patchd program."`
	N      int    `name:"n" default:"60" help:"How many submissions."`
	Back   int    `default:"1500" help:"The target lies so many commits before HEAD; patches are made of later commits."`
}

// Help says what is measured.
func (*latencyCmd) Help() string {
	return `A daemon serves a scratch repository on a private PostgreSQL. Turn about: a no-op River job is inserted and waited for; a patch is
submitted over the daemon's socket and its decision waited for; the same patch is decided by an engine in this process.`
}

// latencyDocument is the whole answer.
type latencyDocument struct {
	Repo     string          `json:"repo"`
	Noop     measure.Summary `json:"noop_job"`
	Receipt  measure.Summary `json:"submit_acknowledged"`
	Answer   measure.Summary `json:"submit_to_answer"`
	Engine   measure.Summary `json:"engine_alone"`
	AddedMS  float64         `json:"added_to_noop_ms"` // median answer less median no-op
	BeyondMS float64         `json:"added_beyond_engine_ms"`
	Outcomes map[string]int  `json:"outcomes"`
	Memory   measure.Memory  `json:"daemon_memory"`
}

// Run measures.
func (l *latencyCmd) Run(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, l.Repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	trials, err := b.stream(ctx, s, l.N+warmUps, l.Back)
	if err != nil {
		return err
	}
	server, err := pgserver.Start(ctx, pgserver.Options{DataDir: filepath.Join(b.scratch, "postgres"), Ephemeral: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	queue, err := b.noopQueue(ctx, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, queue.Close(context.WithoutCancel(ctx))) }()
	url, err := server.EnsureDatabase(ctx, "patchd")
	if err != nil {
		return err
	}
	daemon, err := program.At(l.Patchd, b.searchPath).Serve(ctx, filepath.Join(b.scratch, "data"), s.Dir, url)
	if err != nil {
		return err
	}
	doc, err := l.measure(ctx, b, s, queue, daemon, trials)
	if err != nil {
		return errors.Join(fmt.Errorf("%w; the daemon's log ends: %s", err, daemon.Log()), daemon.Kill())
	}
	if err := daemon.Stop(); err != nil {
		return err
	}
	return b.emit(doc, doc.render)
}

func (b *bench) noopQueue(ctx context.Context, server *pgserver.Server) (*noop.Queue, error) {
	url, err := server.EnsureDatabase(ctx, "noop")
	if err != nil {
		return nil, err
	}
	return noop.Start(ctx, url)
}

// stream gives patches for one target, and puts the scratch repository's branch there.
func (b *bench) stream(ctx context.Context, s *stand, n, back int) ([]trial, error) {
	const maxEdits, window, scan = 40, 50, 4000
	b.say("%s: looking for patches", s.Name)
	var picks []history.Pick
	for _, shared := range []bool{true, false} {
		found, err := history.Picks(ctx, s.Scratch, s.repo, history.PickOptions{
			N: n, MinEdits: 1, MaxEdits: maxEdits, Window: window, Scan: scan, Back: back, Shared: shared,
		})
		if err != nil {
			return nil, err
		}
		picks = append(picks, found...)
	}
	if len(picks) < n {
		return nil, fmt.Errorf("the history gives %d patches, %d are wanted: ask for fewer", len(picks), n)
	}
	spare := len(picks) - n
	picks = picks[spare/2 : spare/2+n] // the last with a shared path, the first without
	if err := s.Git.Run(ctx, "update-ref", string(history.Branch), string(picks[0].Target)); err != nil {
		return nil, fmt.Errorf("set target: %w", err)
	}
	return ready(picks)
}

func (l *latencyCmd) measure(ctx context.Context, b *bench, s *stand, queue *noop.Queue, d *program.Daemon, trials []trial) (*latencyDocument, error) {
	c, err := d.Client()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	doc := &latencyDocument{Repo: s.Name, Outcomes: map[string]int{}}
	var noops, receipts, answers, engine measure.Sample
	b.say("%s: %d submissions", s.Name, len(trials)-warmUps)
	for i := range trials {
		start := b.clock()
		if err := queue.Run(ctx); err != nil {
			return nil, err
		}
		idle := b.clock().Sub(start)
		receipt, answer, outcome, err := b.submit(ctx, c, &trials[i])
		if err != nil {
			return nil, err
		}
		start = b.clock()
		if _, _, err := s.decideTrial(ctx, &trials[i]); err != nil {
			return nil, err
		}
		alone := b.clock().Sub(start)
		if i < warmUps {
			continue
		}
		doc.Outcomes[outcome]++
		noops, receipts, answers, engine = append(noops, idle), append(receipts, receipt), append(answers, answer), append(engine, alone)
	}
	doc.Noop, doc.Receipt, doc.Answer, doc.Engine = noops.Summary(), receipts.Summary(), answers.Summary(), engine.Summary()
	doc.AddedMS = doc.Answer.MedianMS - doc.Noop.MedianMS
	doc.BeyondMS = doc.AddedMS - doc.Engine.MedianMS
	doc.Memory, err = measure.MemoryOf(d.PID())
	return doc, err
}

// submit hands a patch in and waits for its decision.
func (b *bench) submit(ctx context.Context, c *client.Client, t *trial) (receipt, answer time.Duration, outcome string, err error) {
	text, err := json.Marshal(string(t.manifest))
	if err != nil {
		return 0, 0, "", fmt.Errorf("write manifest: %w", err)
	}
	start := b.clock()
	r, err := c.Submit(ctx, api.SubmitBody{Manifest: text, Diff: t.Diff, Tool: "bench"}, false)
	if err != nil {
		return 0, 0, "", err
	}
	receipt = b.clock().Sub(start)
	if r.Refused != nil {
		return 0, 0, "", fmt.Errorf("commit %s was refused: %s", t.Commit, r.Refused.Message.Text)
	}
	p, err := c.Wait(ctx, client.Place{Repo: r.Repo, Target: r.Target}, r.Identity)
	if err != nil {
		return 0, 0, "", err
	}
	return receipt, b.clock().Sub(start), string(p.Outcome), nil
}

func (doc *latencyDocument) render(w io.Writer) {
	rows := [][]string{{doc.Repo, "n", "median ms", "p99 ms"}}
	add := func(name string, s measure.Summary) {
		rows = append(rows, []string{name, strconv.Itoa(s.N), measure.Format(s.MedianMS), measure.Format(s.P99MS)})
	}
	add("no-op River job, insert to work", doc.Noop)
	add("submit, acknowledged", doc.Receipt)
	add("submit, decided and answered", doc.Answer)
	add("the engine alone", doc.Engine)
	table(w, rows)
	line(w, "from submit to answer %s ms more than a no-op job, %s ms of it beyond the engine's own work; outcomes %s; daemon's peak memory %s",
		measure.Format(doc.AddedMS), measure.Format(doc.BeyondMS), counts(doc.Outcomes), mib(doc.Memory.Peak))
}
