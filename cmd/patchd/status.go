package main

import (
	"context"
	"io"
	"slices"
	"strconv"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
)

type statusCmd struct {
	placeFlags
	Rounds bool  `xor:"what" help:"List the latest rounds."`
	Round  int64 `xor:"what" placeholder:"N" help:"Show this round with its whole story."`
	Set    bool  `xor:"what" help:"Show what is published of every pending patch, with its state digest."`
	Limit  int   `default:"20" help:"At most so many rounds."`
}

// Help shows examples.
func (*statusCmd) Help() string {
	return "Examples:\n  patchd status\n  patchd status --rounds\n  patchd status --round 17 --json\n  patchd status --set --json\n  patchd status --server unix:/run/patchd/patchd.sock"
}

// Run shows every guarded branch: where it stands, how long its ledger is, what is pending; or rounds, or the set.
func (s *statusCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	switch {
	case s.Rounds:
		return s.rounds(ctx, a, c)
	case s.Round > 0:
		r, err := c.Round(ctx, s.place(), s.Round)
		if err != nil {
			return err
		}
		return a.emit(r, func(w io.Writer) { renderRound(w, r) })
	case s.Set:
		return s.set(ctx, a, c)
	}
	targets, err := c.Targets(ctx)
	if err != nil {
		return err
	}
	return a.emit(api.TargetList{Targets: targets}, func(w io.Writer) {
		rows := [][]string{{"REPOSITORY", "TARGET", "COMMIT", "LEDGER", "PENDING", "DECIDING"}}
		for _, t := range targets {
			state := strconv.Itoa(t.Deciding)
			switch {
			case t.Paused:
				state += " (paused)"
			case t.Draining:
				state += " (drains)"
			}
			rows = append(rows, []string{t.Repo, string(t.Ref), short(t.Commit), strconv.FormatInt(t.Version, 10), strconv.Itoa(t.Pending), state})
		}
		table(w, rows)
	})
}

func (s *statusCmd) rounds(ctx context.Context, a *app, c *client.Client) error {
	list, next, err := c.Rounds(ctx, s.place(), 0, s.Limit)
	if err != nil {
		return err
	}
	return a.emit(api.RoundList{Rounds: list, Next: next}, func(w io.Writer) { roundTable(w, list) })
}

func (s *statusCmd) set(ctx context.Context, a *app, c *client.Client) error {
	state, err := c.State(ctx, s.place())
	if err != nil {
		return err
	}
	return a.emit(state, func(w io.Writer) {
		rows := [][]string{{"IDENTITY", "OUTCOME", "CONTENDS", "BLOCKED BY", "DECISION"}}
		for _, p := range state.Patches {
			outcome := dash(string(p.Outcome))
			if p.Due {
				outcome = "checks are due"
			}
			with := make([]string, 0, len(p.Contention))
			for _, r := range p.Contention {
				with = append(with, short(r.With))
			}
			rows = append(rows, []string{p.Identity.Short(), outcome, dash(joined(slices.Compact(with))), dash(joinedShort(p.BlockedBy)), dash(short(p.DecisionDigest))})
		}
		table(w, rows)
		line(w, "state of %s: %s", short(state.Target.Commit), state.StateDigest)
	})
}

func joinedShort(ids []coordinator.Identity) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = id.Short()
	}
	return joined(parts)
}
