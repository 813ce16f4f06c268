package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"patchd/cmd/patchd-bench/internal/baseline"
	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/cmd/patchd-bench/internal/program"
	"patchd/coordinator"
	"patchd/coordinator/api/client"
	"patchd/coordinator/ledger/pgserver"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

type throughputCmd struct {
	Repo     string        `arg:"" type:"existingdir" help:"The repository whose history gives the patches."`
	Patchd   string        `required:"" type:"existingfile" placeholder:"FILE" help:"The patchd program."`
	N        int           `name:"n" default:"40" help:"How many patches are landed in each run."`
	Agents   []int         `default:"1,4,8" help:"How many submit at once, a run each."`
	Script   int           `default:"5" help:"How many patches the script lands, one by one."`
	Back     int           `default:"3000" help:"The target lies so many commits before HEAD; patches are made of later commits."`
	Patience time.Duration `default:"10m" help:"How long one run may take."`
}

// Help says what is measured.
func (*throughputCmd) Help() string {
	return `Patches that do not contend are submitted by agents, each of which waits for the decision of one before it submits the next, to a
daemon that seals and lands by itself; every path requires the check "true". The script does for one patch after another: git worktree
add, git apply --3way --index, git commit, the check, git update-ref, git worktree remove.`
}

// throughputRun is one run of the daemon.
type throughputRun struct {
	Agents    int     `json:"agents"`
	Patches   int     `json:"patches"`
	Decisions float64 `json:"decisions_per_second"`
	Landings  float64 `json:"landings_per_second"`
	Rounds    int     `json:"rounds"`
	Landed    int     `json:"landed"`
}

// throughputDocument is the whole answer.
type throughputDocument struct {
	Repo   string          `json:"repo"`
	Files  int             `json:"files"`
	Script float64         `json:"script_landings_per_second"`
	Runs   []throughputRun `json:"runs"`
}

const throughputPolicy = `version: 1
checks:
  allow: ["true"]
  rules:
    - paths: ["**"]
      run: ["true"]
rounds: {auto_seal: true, auto_land: true}
`

// Run measures.
func (c *throughputCmd) Run(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, c.Repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	doc := &throughputDocument{Repo: s.Name}
	if doc.Files, err = s.Files(ctx, s.Head); err != nil {
		return err
	}
	target, trials, err := c.apart(ctx, b, s)
	if err != nil {
		return err
	}
	if err := s.Git.Run(ctx, "update-ref", string(history.Branch), string(target)); err != nil {
		return fmt.Errorf("set target: %w", err)
	}
	if doc.Script, err = c.script(ctx, b, s, target, trials); err != nil {
		return err
	}
	server, err := pgserver.Start(ctx, pgserver.Options{DataDir: filepath.Join(b.scratch, "postgres"), Ephemeral: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	for _, agents := range c.Agents {
		if err := s.forget(ctx, target); err != nil {
			return err
		}
		url, err := server.EnsureDatabase(ctx, fmt.Sprintf("agents_%d", agents))
		if err != nil {
			return err
		}
		run, err := c.run(ctx, b, s, url, agents, trials)
		if err != nil {
			return err
		}
		doc.Runs = append(doc.Runs, *run)
	}
	return b.emit(doc, doc.render)
}

// forget puts the branch back to a commit and removes the references of an earlier daemon, whose ledger is another.
func (s *stand) forget(ctx context.Context, target git.OID) error {
	refs, err := s.repo.ListRefs(ctx, "refs/patchd/")
	if err != nil {
		return fmt.Errorf("list references: %w", err)
	}
	updates := []git.RefUpdate{{Ref: history.Branch, New: target}}
	for _, r := range refs {
		updates = append(updates, git.RefUpdate{Ref: r.Ref, Old: r.OID, New: git.ZeroOID})
	}
	if err := s.repo.UpdateRefs(ctx, updates); err != nil {
		return fmt.Errorf("forget references: %w", err)
	}
	return nil
}

// apart gives a target with the policy and patches that become candidates there and do not contend.
func (c *throughputCmd) apart(ctx context.Context, b *bench, s *stand) (git.OID, []trial, error) {
	found, err := b.stream(ctx, s, 2*c.N, c.Back)
	if err != nil {
		return "", nil, err
	}
	target, _, err := history.WithPolicy(ctx, s.repo, found[0].Target, []byte(throughputPolicy))
	if err != nil {
		return "", nil, err
	}
	var picks []history.Pick
	for i := range found {
		picks = append(picks, found[i].Pick)
	}
	members, err := membersOf(picks)
	if err != nil {
		return "", nil, err
	}
	_, states, err := s.engine.State(ctx, coordinator.Inputs{Target: target, Members: members})
	if err != nil {
		return "", nil, fmt.Errorf("work out state: %w", err)
	}
	var out []trial
	for i := range found {
		j := states[members[i].Identity()]
		if j.Plan != nil && j.Plan.Due() && len(j.Meets) == 0 && len(j.Status.Contention) == 0 && len(out) < c.N {
			out = append(out, found[i])
		}
	}
	if len(out) < c.N {
		return "", nil, fmt.Errorf("%d of %d patches do not contend, %d are wanted: ask for fewer", len(out), len(found), c.N)
	}
	return target, out, nil
}

// script lands patches the way a script of plain git commands would.
func (c *throughputCmd) script(ctx context.Context, b *bench, s *stand, target git.OID, trials []trial) (perSecond float64, err error) {
	script, err := baseline.New(s.Git, filepath.Join(b.scratch, "script"))
	if err != nil {
		return 0, err
	}
	b.say("%s: the script lands %d patches", s.Name, c.Script)
	start, landed := b.clock(), 0
	for i := range trials[:min(c.Script, len(trials))] {
		tip, err := script.Land(ctx, target, trials[i].Diff, history.Branch)
		if err != nil {
			return 0, err
		}
		if tip != "" {
			target = tip
			landed++
		}
	}
	return float64(landed) / b.clock().Sub(start).Seconds(), nil
}

func (c *throughputCmd) run(ctx context.Context, b *bench, s *stand, url string, agents int, trials []trial) (r *throughputRun, err error) {
	d, err := program.At(c.Patchd, b.searchPath).Serve(ctx, filepath.Join(b.scratch, fmt.Sprintf("data-%d", agents)), s.Dir, url)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%w; the daemon's log ends: %s", err, d.Log()), d.Kill())
			return
		}
		err = d.Stop()
	}()
	api, err := d.Client()
	if err != nil {
		return nil, err
	}
	defer api.Close()
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()
	b.say("%s: %d agents submit %d patches", s.Name, agents, len(trials))
	start := b.clock()
	todo := make(chan *trial, len(trials))
	for i := range trials {
		todo <- &trials[i]
	}
	close(todo)
	group, inner := errgroup.WithContext(ctx)
	for range agents {
		group.Go(func() error {
			for t := range todo {
				if _, _, _, err := b.submit(inner, api, t); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	decided := b.clock().Sub(start)
	r = &throughputRun{Agents: agents, Patches: len(trials)}
	if r.Landed, err = landed(ctx, api, len(trials)); err != nil {
		return nil, err
	}
	whole := b.clock().Sub(start)
	r.Decisions, r.Landings = float64(len(trials))/decided.Seconds(), float64(r.Landed)/whole.Seconds()
	rounds, _, err := api.Rounds(ctx, client.Place{}, 0, 500)
	r.Rounds = len(rounds)
	return r, err
}

// landed waits until all patches have landed.
func landed(ctx context.Context, c *client.Client, want int) (int, error) {
	const often = 20 * time.Millisecond
	tick := time.NewTicker(often)
	defer tick.Stop()
	for {
		page, err := c.Patches(ctx, service.Filter{State: service.StateLanded, Limit: 500})
		if err != nil {
			return 0, err
		}
		if len(page.Patches) >= want {
			return len(page.Patches), nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return 0, fmt.Errorf("%d of %d patches have landed: %w", len(page.Patches), want, context.Cause(ctx))
		}
	}
}

func (doc *throughputDocument) render(w io.Writer) {
	line(w, "%s: %d files", doc.Repo, doc.Files)
	rows := [][]string{{"way", "agents", "patches", "rounds", "decisions/s", "landings/s"}}
	rows = append(rows, []string{"script of git commands", "1", "-", "-", "-", measure.Format(doc.Script)})
	for _, r := range doc.Runs {
		rows = append(rows, []string{"patchd", strconv.Itoa(r.Agents), strconv.Itoa(r.Landed), strconv.Itoa(r.Rounds), measure.Format(r.Decisions), measure.Format(r.Landings)})
	}
	table(w, rows)
}
