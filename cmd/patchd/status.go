package main

import (
	"context"
	"io"
	"strconv"

	"patchd/coordinator/api"
)

type statusCmd struct{}

// Help shows examples.
func (*statusCmd) Help() string {
	return "Examples:\n  patchd status\n  patchd status --json\n  patchd status --server unix:/run/patchd/patchd.sock"
}

// Run shows every guarded branch: where it stands, how long its ledger is, what is pending.
func (*statusCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	targets, err := c.Targets(ctx)
	if err != nil {
		return err
	}
	return a.emit(api.TargetList{Targets: targets}, func(w io.Writer) {
		rows := [][]string{{"REPOSITORY", "TARGET", "COMMIT", "LEDGER", "PENDING", "DECIDING"}}
		for _, t := range targets {
			state := strconv.Itoa(t.Deciding)
			if t.Paused {
				state += " (paused)"
			}
			rows = append(rows, []string{t.Repo, string(t.Ref), short(t.Commit), strconv.FormatInt(t.Version, 10), strconv.Itoa(t.Pending), state})
		}
		table(w, rows)
	})
}
