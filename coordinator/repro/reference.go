package repro

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/checker"
	"patchd/worktree/git"
)

// reference works a stage's state out from scratch: the set, its verdicts, what has landed, and what rounds found, without a
// daemon or a database. The target commit is rebuilt, not looked up: the rounds that landed are composed again.
func (x *experiment) reference(ctx context.Context, s stage) (*State, error) {
	dir := filepath.Join(x.config.Scratch, fmt.Sprintf("scratch-%s-%t", s.published[:12], s.round != nil))
	if err := borrow(x.config.Objects, filepath.Join(dir, "repo.git"), x.config.Target, x.target); err != nil {
		return nil, err
	}
	repo, err := git.Open(ctx, filepath.Join(dir, "repo.git"), git.Options{Scratch: filepath.Join(dir, "git"), Logger: x.config.Service.Logger})
	if err != nil {
		return nil, err
	}
	defer func() { _ = repo.Close() }()
	b := &builder{experiment: x, repo: repo, dir: dir, engine: coordinator.NewEngine(coordinator.EngineConfig{Repo: repo, Outlines: x.config.Service.Outlines})}
	defer b.close(ctx)
	return b.state(ctx, s)
}

// builder works out one state.
type builder struct {
	*experiment
	repo    *git.Repo
	engine  *coordinator.Engine
	dir     string
	checker *checker.Checker
}

func (b *builder) close(ctx context.Context) {
	if b.checker != nil {
		_ = b.checker.Close(context.WithoutCancel(ctx))
	}
}

// state composes what landed, one round after another, and works out the state of the rest on top of it.
func (b *builder) state(ctx context.Context, s stage) (*State, error) {
	in := coordinator.Inputs{Target: b.target, Verdicts: b.verdicts, Blames: s.blames}
	pending := slices.Clone(b.patches)
	for _, round := range s.rounds {
		in.Members = members(pending)
		_, states, err := b.engine.State(ctx, in)
		if err != nil {
			return nil, err
		}
		var plans []*coordinator.Plan
		for _, id := range round {
			j := states[id]
			if j == nil || j.Plan == nil {
				return nil, fmt.Errorf("patch %s landed, and has no plan from scratch", id.Short())
			}
			plans = append(plans, j.Plan)
		}
		c, err := b.engine.ComposeRound(ctx, in.Target, plans)
		if err != nil {
			return nil, fmt.Errorf("compose what landed: %w", err)
		}
		objects, err := c.Objects.Reachable(ctx, c.Head)
		if err != nil {
			return nil, fmt.Errorf("collect what landed: %w", err)
		}
		if err := b.repo.WritePack(ctx, objects); err != nil {
			return nil, fmt.Errorf("write what landed: %w", err)
		}
		in.Target = c.Head
		for _, id := range round {
			in.Landings = append(in.Landings, b.landing(id, c.Head))
		}
		pending = slices.DeleteFunc(pending, func(p Patch) bool { return slices.Contains(round, p.identity) })
	}
	in.Members = members(pending)
	state, _, err := b.engine.State(ctx, in)
	return state, err
}

func (b *builder) landing(id coordinator.Identity, head git.OID) coordinator.Landing {
	l := coordinator.Landing{Identity: id, Commit: string(head), Counts: true}
	i := slices.IndexFunc(b.patches, func(p Patch) bool { return p.identity == id })
	if m, err := coordinator.ParseManifest(b.patches[i].Manifest); err == nil {
		l.Labels, l.Supersedes = []coordinator.PatchID{m.PatchID}, m.Supersedes
	}
	return l
}

func members(patches []Patch) []coordinator.Member {
	var out []coordinator.Member
	for _, p := range patches {
		if s, err := coordinator.Admit(p.Manifest, p.Diff); err == nil {
			out = append(out, coordinator.Member{Submission: s, Labels: []coordinator.PatchID{p.label}})
		}
	}
	return out
}

// verdicts runs what a plan asks for, as the coordinators do.
func (b *builder) verdicts(ctx context.Context, p *coordinator.Plan) (coordinator.Verdicts, error) {
	known := coordinator.Verdicts{}
	for {
		_, questions, err := coordinator.Conclude(p, known)
		if err != nil || len(questions) == 0 {
			return known, err
		}
		if err := b.prepare(ctx); err != nil {
			return nil, err
		}
		for _, q := range questions {
			if known[q], _, err = b.checker.Ask(ctx, p, q); err != nil {
				return nil, fmt.Errorf("check %q: %w", q.Command, err)
			}
		}
	}
}

// prepare makes the checker when the first question is asked.
func (b *builder) prepare(ctx context.Context) error {
	if b.checker != nil {
		return nil
	}
	c, err := checker.New(ctx, b.config.Service.Runner, b.repo, filepath.Join(b.dir, "worktrees"))
	b.checker = c
	return err
}
