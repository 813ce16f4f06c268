package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// defaultBlameRuns is the budget of a search for failing subsets where the policy names none.
const defaultBlameRuns = 200

// trial is one composition of a round's members under test.
type trial struct {
	service *Service
	target  *target
	round   ledger.Round
	row     ledger.Target
	story   *story
	pending *set
	plans   []*coordinator.Plan
	made    map[string]*coordinator.Composition // by subset
}

// testStep composes the round's members, runs the union of their checks once, and either makes the round ready or finds out
// whom a failure is to be blamed on; the rest is then composed again.
func (s *Service) testStep(ctx context.Context, t *target, r ledger.Round) error {
	row, err := s.observe(ctx, t)
	if err != nil {
		return err
	}
	if row.Commit != r.TargetCommit {
		return s.inRound(ctx, r, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, _ ledger.Round) error {
			return s.supersedeRounds(ctx, tx, locked, "", "the target moved")
		})
	}
	told, err := storyOf(r)
	if err != nil {
		return err
	}
	x := &trial{service: s, target: t, round: r, row: row, story: told, made: map[string]*coordinator.Composition{}}
	if x.pending, err = s.loadSet(ctx, t, row); err != nil {
		return err
	}
	for _, m := range r.Members {
		if m.Status != "sealed" {
			continue
		}
		j := x.pending.states[coordinator.Identity(m.Identity)]
		if j == nil || j.Plan == nil || j.Plan.Decision.Outcome != coordinator.OutcomeCandidate {
			return s.inRound(ctx, r, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, _ ledger.Round) error {
				return s.supersedeRounds(ctx, tx, locked, m.Identity, fmt.Sprintf("patch %s left the set", m.Identity))
			})
		}
		x.plans = append(x.plans, j.Plan)
	}
	if len(x.plans) == 0 {
		return x.nobodyLeft(ctx)
	}
	return x.run(ctx)
}

// nobodyLeft ends a round whose last search cleared nobody.
func (x *trial) nobodyLeft(ctx context.Context) error {
	result := &coordinator.BlameResult{}
	if n := len(x.story.Passes); n > 0 && x.story.Passes[n-1].Blame != nil {
		result = x.story.Passes[n-1].Blame
	}
	return x.service.inRound(ctx, x.round, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
		return stopRound(ctx, tx, locked, now, nobodyLeft(result))
	})
}

func (x *trial) run(ctx context.Context) error {
	all, err := x.compose(ctx, x.identities())
	if err != nil {
		return err
	}
	verdicts, err := x.union(ctx, all)
	if err != nil {
		return err
	}
	pass := roundPass{Members: all.Commits, Tree: all.Tree}
	failed := false
	for _, c := range all.Commands {
		v := verdicts[c.Command]
		pass.Checks = append(pass.Checks, coordinator.Check{Command: c.Command, Sources: sourcesOf(c), Verdict: string(v)})
		failed = failed || v != "passed" && v != coordinator.VerdictAccepted
	}
	if !failed {
		return x.ready(ctx, all, pass)
	}
	return x.blame(ctx, all, pass)
}

func sourcesOf(c coordinator.BlameCommand) []string {
	out := make([]string, 0, len(c.RequiredBy)+1)
	for _, id := range c.RequiredBy {
		out = append(out, string(id))
	}
	if c.OnTarget {
		out = append(out, "target")
	}
	return out
}

func (x *trial) identities() []coordinator.Identity {
	out := make([]coordinator.Identity, len(x.plans))
	for i, p := range x.plans {
		out[i] = p.Identity()
	}
	slices.Sort(out)
	return out
}

// compose gives the composition of a closed subset of the members.
func (x *trial) compose(ctx context.Context, subset []coordinator.Identity) (*coordinator.Composition, error) {
	key := fmt.Sprint(subset)
	if c, ok := x.made[key]; ok {
		return c, nil
	}
	c, err := x.target.repo.engine.ComposeRound(ctx, x.row.Commit, coordinator.Subset(x.plans, subset))
	if err != nil {
		return nil, fmt.Errorf("compose %d patches: %w", len(subset), err)
	}
	x.made[key] = c
	return c, nil
}

// union gives the verdicts of all commands on a composed tree.
func (x *trial) union(ctx context.Context, c *coordinator.Composition) (map[string]coordinator.Verdict, error) {
	var asked []coordinator.SubsetQuestion
	for _, cmd := range c.Commands {
		asked = append(asked, coordinator.SubsetQuestion{Command: cmd.Command, Subset: x.identities()})
	}
	answers, err := x.answer(ctx, asked)
	if err != nil {
		return nil, err
	}
	out := map[string]coordinator.Verdict{}
	for _, a := range answers {
		out[a.Command] = a.Verdict
	}
	return out, nil
}

// answer asks a batch of questions, several at once, and gives all verdicts: remembered ones cost nothing.
func (x *trial) answer(ctx context.Context, questions []coordinator.SubsetQuestion) ([]coordinator.SubsetAnswer, error) {
	made := make([]*coordinator.Composition, len(questions))
	for i, q := range questions {
		c, err := x.compose(ctx, q.Subset)
		if err != nil {
			return nil, err
		}
		made[i] = c
	}
	out := make([]coordinator.SubsetAnswer, len(questions))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(x.service.config.CheckWorkers)
	for i, q := range questions {
		group.Go(func() error {
			v, err := x.verdictOn(gctx, made[i], q.Command)
			out[i] = coordinator.SubsetAnswer{SubsetQuestion: q, Verdict: v}
			return err
		})
	}
	return out, group.Wait()
}

// blame searches for all minimal failing subsets and records what it found; the cleared members are composed again.
func (x *trial) blame(ctx context.Context, all *coordinator.Composition, pass roundPass) error {
	budget := all.Policy.Rounds.MaxBlameRuns
	if budget == 0 {
		budget = defaultBlameRuns
	}
	search, err := coordinator.NewBlame(coordinator.BlameInput{
		Members: coordinator.BlameMembers(x.plans), Commands: all.Commands, Coupled: x.coupled(), Budget: budget,
	})
	if err != nil {
		return err
	}
	var known []coordinator.SubsetAnswer
	for {
		questions, result := search.Next(known)
		if result != nil {
			pass.Blame, pass.Runs = result, len(known)
			return x.recordBlame(ctx, pass)
		}
		answers, err := x.answer(ctx, questions)
		if err != nil {
			return err
		}
		known = append(known, answers...)
	}
}

// coupled lists the pairs of members whose edits can reach each other: these are tried first, which changes what the search
// costs and nothing else.
func (x *trial) coupled() [][2]coordinator.Identity {
	var out [][2]coordinator.Identity
	members := x.identities()
	for _, id := range members {
		for _, c := range x.pending.states[id].Status.Coupled {
			pair := [2]coordinator.Identity{id, coordinator.Identity(c.With)}
			if pair[0] < pair[1] && slices.Contains(members, pair[1]) && !slices.Contains(out, pair) {
				out = append(out, pair)
			}
		}
	}
	return out
}

// recordBlame writes what a search found: a stop, or the blamed and what is left of the round.
func (x *trial) recordBlame(ctx context.Context, pass roundPass) error {
	result := pass.Blame
	if len(result.Stops) > 0 {
		stop := result.Stops[0]
		return x.service.inRound(ctx, x.round, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
			if err := saveStory(&now, func(st *story) { st.Passes = append(st.Passes, pass) }); err != nil {
				return err
			}
			return stopRound(ctx, tx, locked, now, &coordinator.Refusal{
				Code: stop.Code, Value: stop.Command, Message: fmt.Sprintf("%q on the composition of %d patches: nobody is blamed", stop.Command, len(stop.Subset)), Hint: "mend the target or the check, then seal again",
			})
		})
	}
	blames := recordedBlames(result, x.row.Commit)
	err := x.service.inRound(ctx, x.round, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
		if locked.Commit != x.round.TargetCommit {
			return x.service.supersedeRounds(ctx, tx, locked, "", "the target moved")
		}
		for i, m := range now.Members {
			if m.Status == "sealed" && !slices.Contains(result.Cleared, coordinator.Identity(m.Identity)) {
				now.Members[i].Status = memberStatus(result, coordinator.Identity(m.Identity))
			}
		}
		now.Status = ledger.RoundBlaming
		if err := saveStory(&now, func(st *story) { st.Passes, st.Blames = append(st.Passes, pass), append(st.Blames, blames...) }); err != nil {
			return err
		}
		payload, err := coordinator.Canonical(map[string]any{"round": now.Number, "target": x.row.Commit, "blames": blames, "sets": result.Sets})
		if err != nil {
			return err
		}
		if _, err := tx.Append(ctx, locked, ledger.Anything(), ledger.Entry{Kind: KindBlamed, Payload: payload, Inputs: true}); err != nil {
			return err
		}
		return errors.Join(tx.SaveRound(ctx, locked, now), x.service.queueSettle(ctx, tx, locked.ID))
	})
	if err != nil {
		return err
	}
	return x.publish(ctx)
}

// publish brings the published state to what was just recorded, before the round goes on: who waits for the round then finds
// the blamed patches as they are. What is overtaken meanwhile is left to the job that was queued with the record.
func (x *trial) publish(ctx context.Context) error {
	err := x.service.settleSet(ctx, &work{target: x.target, row: x.row}, func(context.Context, pgx.Tx) error { return nil })
	var stale *ledger.StaleError
	if errors.As(err, &stale) {
		return nil
	}
	return err
}

// nobodyLeft says why a round stops whose members are all for the queue.
func nobodyLeft(result *coordinator.BlameResult) *coordinator.Refusal {
	code := coordinator.CodeCheckFailed
	if len(result.Wide) > 0 || slices.ContainsFunc(result.Sets, func(f coordinator.FailingSet) bool { return len(f.Blamed) > 1 }) {
		code = coordinator.CodeCompositionFailed
	}
	return &coordinator.Refusal{Code: code, Message: "no member is left that could land", Hint: "see the evidence, then withdraw, mend or resolve"}
}

func memberStatus(r *coordinator.BlameResult, id coordinator.Identity) string {
	for _, b := range r.Blamed {
		if b.Identity == id {
			return "blamed"
		}
	}
	if slices.Contains(r.Held, id) {
		return "held"
	}
	return "queued"
}

// recordedBlames are a search's results as inputs of states.
func recordedBlames(r *coordinator.BlameResult, at git.OID) []coordinator.RecordedBlame {
	var out []coordinator.RecordedBlame
	for _, b := range r.Blamed {
		for _, set := range b.Evidence {
			out = append(out, coordinator.RecordedBlame{Identity: b.Identity, Target: at, Code: set.Code(), Command: set.Command, Subset: set.Subset})
		}
	}
	for _, id := range r.Wide {
		out = append(out, coordinator.RecordedBlame{Identity: id, Target: at, Code: coordinator.CodeCompositionFailed, Subset: []coordinator.Identity{id}, Wide: true})
	}
	return out
}

// ready writes the round's objects and ref, then records that its head may land.
func (x *trial) ready(ctx context.Context, all *coordinator.Composition, pass roundPass) error {
	objects, err := all.Objects.Reachable(ctx, all.Head)
	if err != nil {
		return fmt.Errorf("collect objects of round %d: %w", x.round.Number, err)
	}
	repo := x.target.repo
	if err := repo.git.WritePack(ctx, objects); err != nil {
		return fmt.Errorf("write objects of round %d: %w", x.round.Number, err)
	}
	err = repo.moveOwn(ctx, x.target.roundRef(x.round.Number), all.Head, func(ctx context.Context, found git.OID) (bool, error) {
		commit, err := repo.git.ReadCommit(ctx, found)
		return err == nil && slices.ContainsFunc(x.plans, func(p *coordinator.Plan) bool { return carries(commit, p.Identity()) }), err
	})
	if err != nil {
		return err
	}
	return x.service.inRound(ctx, x.round, func(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, now ledger.Round) error {
		if locked.Commit != x.round.TargetCommit {
			return x.service.supersedeRounds(ctx, tx, locked, "", "the target moved")
		}
		commits := map[ledger.Identity]git.OID{}
		positions := map[ledger.Identity]int{}
		for i, c := range all.Commits {
			commits[ledger.Identity(c.Identity)], positions[ledger.Identity(c.Identity)] = c.Commit, i
		}
		for i, m := range now.Members {
			now.Members[i].Commit = commits[m.Identity]
			if at, ok := positions[m.Identity]; ok {
				now.Members[i].Position = at
			} else {
				now.Members[i].Position = len(positions) + i
			}
		}
		now.Status, now.HeadCommit, now.Tree = ledger.RoundReady, all.Head, all.Tree
		if err := saveStory(&now, func(st *story) { st.Passes = append(st.Passes, pass) }); err != nil {
			return err
		}
		err := appendFact(ctx, tx, locked, KindRoundReady, map[string]any{
			"round": now.Number, "target": now.TargetCommit, "head": all.Head, "tree": all.Tree, "commits": all.Commits, "checks": pass.Checks,
		}, nil)
		if err != nil {
			return err
		}
		return tx.SaveRound(ctx, locked, now)
	})
}

// verdictOn gives the verdict of a command on a composed tree, running it as often as that needs. Runs without a verdict from
// before the round leave it its tries: each round tries again.
func (x *trial) verdictOn(ctx context.Context, c *coordinator.Composition, command string) (coordinator.Verdict, error) {
	plan := &coordinator.Plan{Tree: c.Tree, Objects: c.Objects, Policy: c.Policy}
	plan.Decision.Target = coordinator.TargetRecord{Commit: c.Target}
	return x.service.ask(ctx, x.target, plan, coordinator.Question{Tree: c.Tree, Command: command}, x.story.RunsAfter)
}

// left lists the members of a round that are still in it.
func left(r ledger.Round) []ledger.Identity {
	ids := map[ledger.Identity]bool{}
	for _, m := range r.Members {
		if m.Status == "sealed" {
			ids[m.Identity] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}
