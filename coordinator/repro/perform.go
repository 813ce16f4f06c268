package repro

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"golang.org/x/sync/errgroup"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

// mostRounds bounds how many rounds are sealed and landed one after another.
const mostRounds = 4

// stage is what is looked at once nothing is running.
type stage struct {
	name      string
	published Digest // as the ledger has it
	state     *State // as the service works it out
	round     *roundOutcome
	rounds    [][]coordinator.Identity // that landed so far
	blames    []coordinator.RecordedBlame
}

// roundOutcome is what came of a round, as far as it may not depend on the order: who landed, on what, as what.
type roundOutcome struct {
	status  string
	members []coordinator.Identity
	commits []string
	tree    string
}

// performance is one run under way.
type performance struct {
	*experiment
	run
	r      *rand.Rand
	place  *place
	svc    Coordinator
	stop   func() error
	by     service.Credential
	serial int
	labels []coordinator.PatchID
	decoys map[int]coordinator.Identity
	opened []int64 // rounds that were sealed and not waited for
	stages []stage
	done   [][]coordinator.Identity // the rounds that landed
	blames map[int64][]coordinator.RecordedBlame
}

// perform does one run from a fresh place to the end, and leaves nothing.
func (x *experiment) perform(ctx context.Context, r run) (out []stage, err error) {
	p := &performance{
		experiment: x, run: r, r: rand.New(rand.NewPCG(x.config.Seed, uint64(r.number)+2)), //nolint:gosec // a seed makes a run repeatable
		by: service.Credential{Name: "repro", Scopes: service.Scopes()}, decoys: map[int]coordinator.Identity{}, blames: map[int64][]coordinator.RecordedBlame{},
	}
	if p.place, err = x.newPlace(ctx, r.number); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, x.leave(p.place)) }()
	p.relabelled()
	if err := p.open(ctx); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.stop()) }()
	for _, s := range p.script() {
		if err := p.do(ctx, s); err != nil {
			return nil, err
		}
	}
	err = p.rounds(ctx)
	return p.stages, err
}

func (p *performance) script() []step {
	switch {
	case p.barrier && p.plain:
		return barrierScript(p.order, nil, false)
	case p.barrier:
		return barrierScript(p.order, p.r, p.calm)
	case p.plain:
		return plainScript(p.order)
	}
	return noisyScript(p.order, p.r)
}

// relabelled deals the labels anew, where nobody names anybody: they never decide.
func (p *performance) relabelled() {
	for _, x := range p.patches {
		p.labels = append(p.labels, x.label)
	}
	if p.relabel && !p.plain {
		p.r.Shuffle(len(p.labels), func(i, j int) { p.labels[i], p.labels[j] = p.labels[j], p.labels[i] })
	}
}

// open starts the coordinator with some number of workers.
func (p *performance) open(ctx context.Context) error {
	c := p.place.config
	c.Workers, c.CheckWorkers = 1+p.r.IntN(4), 1+p.r.IntN(3)
	svc, stop, err := p.config.Open(ctx, c)
	if err != nil {
		p.stop = func() error { return nil } // what was there is stopped
		return fmt.Errorf("start coordinator: %w", err)
	}
	p.svc, p.stop = patient{svc}, stop
	return nil
}

func (p *performance) do(ctx context.Context, s step) error {
	switch s.act {
	case actSubmit:
		return p.burst(ctx, s.patches)
	case actRepeat:
		return p.submit(ctx, s.patches[0], map[string]any{"client_request_id": fmt.Sprintf("patch-%d", s.patches[0])})
	case actWithdraw:
		if _, err := p.svc.Withdraw(ctx, p.by, "", "", string(p.patches[s.patches[0]].identity), ""); err != nil {
			return err
		}
		return p.submit(ctx, s.patches[0], nil)
	case actDecoy:
		return p.decoy(ctx, s.patches[0])
	case actUndecoy:
		_, err := p.svc.Withdraw(ctx, p.by, "", "", string(p.decoys[s.patches[0]]), "")
		return err
	case actQuiet:
		_, err := p.svc.Quiet(ctx, "", "")
		return err
	case actRestart:
		if err := p.stop(); err != nil {
			return err
		}
		return p.open(ctx)
	case actSeal:
		r, err := p.svc.Seal(ctx, service.SealRequest{By: p.by})
		if err == nil {
			p.opened = append(p.opened, r.Number)
		}
		return err
	}
	return fmt.Errorf("unknown step %d", s.act)
}

// burst hands in patches all at once.
func (p *performance) burst(ctx context.Context, patches []int) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, i := range patches {
		group.Go(func() error { return p.submit(ctx, i, map[string]any{"client_request_id": fmt.Sprintf("patch-%d", i)}) })
	}
	return group.Wait()
}

// submit hands in a patch; more are fields that decide nothing.
func (p *performance) submit(ctx context.Context, i int, more map[string]any) error {
	fields := map[string]any{"patch_id": p.labels[i], "metadata": map[string]any{"agent": fmt.Sprintf("agent-%d", p.number)}}
	if more == nil { // another request, whatever the manifest says
		p.serial++
		fields["client_request_id"] = fmt.Sprintf("again-%d", p.serial)
	}
	maps.Copy(fields, more)
	return p.hand(ctx, i, fields, p.patches[i].identity)
}

// hand submits a patch with some fields replaced and requires that it is admitted as what it is.
func (p *performance) hand(ctx context.Context, i int, fields map[string]any, want coordinator.Identity) error {
	manifest, err := p.patches[i].with(fields)
	if err != nil {
		return err
	}
	r, err := p.svc.Submit(ctx, service.Submission{Credential: p.by, Repo: p.place.name, Manifest: manifest, Diff: p.patches[i].Diff, Tool: "repro"})
	switch {
	case err != nil:
		return fmt.Errorf("submit %q: %w", p.patches[i].Name, err)
	case r.Refused != nil:
		return fmt.Errorf("submit %q: refused: %s", p.patches[i].Name, r.Refused.Message.Text)
	case want == "":
		p.decoys[i] = r.Identity
	case r.Identity != want:
		return fmt.Errorf("submit %q: it became %s, not %s", p.patches[i].Name, r.Identity, want)
	}
	return nil
}

// decoy hands in a patch that does the same as another one and is another one: it contends with whatever that one contends with.
func (p *performance) decoy(ctx context.Context, i int) error {
	p.serial++
	return p.hand(ctx, i, map[string]any{"title": fmt.Sprintf("decoy %d", p.serial), "patch_id": fmt.Sprintf("decoy-%d", p.serial), "client_request_id": fmt.Sprintf("decoy-%d", p.serial), "depends_on": []string{}, "supersedes": []string{}}, "")
}

// look waits until nothing is running and notes what there is.
func (p *performance) look(ctx context.Context, name string, round *service.Round) error {
	published, err := p.svc.Quiet(ctx, "", "")
	if err != nil {
		return fmt.Errorf("%s: wait until nothing is running: %w", name, err)
	}
	state, err := p.svc.State(ctx, "", "")
	if err != nil {
		return fmt.Errorf("%s: read state: %w", name, err)
	}
	s := stage{name: name, published: published, state: state, rounds: slices.Clone(p.done)}
	if round != nil {
		s.round = outcomeOf(round)
		p.blames[round.Number] = round.Blames
	}
	for _, number := range slices.Sorted(maps.Keys(p.blames)) {
		s.blames = append(s.blames, p.blames[number]...)
	}
	p.stages = append(p.stages, s)
	return nil
}

func outcomeOf(r *service.Round) *roundOutcome {
	out := &roundOutcome{status: "nothing lands"}
	if !r.Ready() {
		return out
	}
	out.status, out.tree = r.Status, string(r.Tree)
	for _, m := range r.Members {
		if m.Status == "sealed" {
			out.members = append(out.members, m.Identity)
			out.commits = append(out.commits, string(m.Commit))
		}
	}
	return out
}

// rounds waits for the rounds that are under way, then lands what there is, round after round.
func (p *performance) rounds(ctx context.Context) error {
	for _, number := range p.opened {
		r, err := p.svc.WaitRound(ctx, "", "", number)
		if err != nil {
			return fmt.Errorf("wait for round %d: %w", number, err)
		}
		p.blames[number] = r.Blames
	}
	if err := p.look(ctx, "everything admitted", nil); err != nil {
		return err
	}
	for n := range mostRounds {
		var number int64
		if len(p.opened) > 0 {
			number, p.opened = p.opened[0], p.opened[1:]
		} else {
			r, err := p.svc.Seal(ctx, service.SealRequest{By: p.by})
			if err != nil {
				return fmt.Errorf("seal: %w", err)
			}
			number = r.Number
		}
		more, err := p.round(ctx, fmt.Sprintf("round %d", n+1), number)
		if err != nil || !more {
			return err
		}
	}
	return nil
}

// round looks at a round that is ready or over, and lands it; false means that nothing landed.
func (p *performance) round(ctx context.Context, name string, number int64) (bool, error) {
	r, err := p.svc.WaitRound(ctx, "", "", number)
	if err != nil {
		return false, fmt.Errorf("%s: wait: %w", name, err)
	}
	if err := p.look(ctx, name, r); err != nil || !r.Ready() {
		return false, err
	}
	if r, err = p.svc.Land(ctx, p.by, "", "", number); err != nil {
		return false, fmt.Errorf("%s: land: %w", name, err)
	}
	var landed []coordinator.Identity
	for _, m := range r.Members {
		if m.Status == "landed" {
			landed = append(landed, m.Identity)
		}
	}
	p.done = append(p.done, landed)
	return true, p.look(ctx, name+" landed", nil)
}
