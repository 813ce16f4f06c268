package main

import (
	"context"
	"io"
)

type withdrawCmd struct {
	placeFlags
	ID  string `arg:"" help:"Identity, a unique beginning of one (7 digits or more), patch_id or submission id."`
	Why string `help:"The reason, for the record."`
}

// Help shows examples.
func (*withdrawCmd) Help() string {
	return "Examples:\n  patchd withdraw p-204 --why \"done otherwise\""
}

// Run withdraws one submission; a patch that was submitted several times stays while any of them stands.
func (c *withdrawCmd) Run(ctx context.Context, a *app) error {
	daemon, err := a.connect(0)
	if err != nil {
		return err
	}
	defer daemon.Close()
	p, err := daemon.Withdraw(ctx, c.place(), c.ID, c.Why)
	if err != nil {
		return err
	}
	return a.emit(p, func(w io.Writer) { line(w, "%s is %s", p.Identity.Short(), p.State) })
}
