package main

import (
	"context"
	"io"

	"patchd/coordinator/service"
)

type pauseCmd struct {
	placeFlags
	Drain bool `help:"Let rounds that are open finish and land; take no new ones."`
}

// Help shows examples.
func (*pauseCmd) Help() string {
	return `Patches are still admitted and decided while a branch is paused.

Examples:
  patchd pause
  patchd pause --drain --target release
  patchd resume`
}

// Run pauses a branch, or drains it.
func (p *pauseCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := c.Pause(ctx, p.place(), p.Drain)
	if err != nil {
		return err
	}
	return a.emit(t, func(w io.Writer) { renderPaused(w, t) })
}

type resumeCmd struct {
	placeFlags
}

// Help shows examples.
func (*resumeCmd) Help() string { return "Examples:\n  patchd resume" }

// Run ends a pause.
func (r *resumeCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	t, err := c.Resume(ctx, r.place())
	if err != nil {
		return err
	}
	return a.emit(t, func(w io.Writer) { renderPaused(w, t) })
}

func renderPaused(w io.Writer, t *service.Target) {
	line(w, "%s of %s %s", t.Ref, t.Repo, rounding(t))
}

// rounding says what a target does with rounds.
func rounding(t *service.Target) string {
	switch {
	case t.Paused:
		return "is paused: no rounds, no landings"
	case t.Draining:
		return "drains: open rounds may land, new ones are not taken"
	}
	return "takes rounds and landings"
}
