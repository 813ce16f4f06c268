package main

import (
	"context"
	"io"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

type conflictsCmd struct {
	placeFlags
}

// Help shows examples.
func (*conflictsCmd) Help() string { return "Examples:\n  patchd conflicts\n  patchd conflicts --json" }

// Run lists the conflicts with every reason.
func (l *conflictsCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	at := l.place()
	patches, err := allPatches(ctx, c, service.Filter{Repo: at.Repo, Target: at.Target, Outcome: coordinator.OutcomeConflict}, 0)
	if err != nil {
		return err
	}
	for i, p := range patches {
		if p.Decision != nil {
			continue
		}
		full, err := c.Patch(ctx, at, string(p.Identity))
		if err != nil {
			return err
		}
		patches[i] = *full
	}
	return a.emit(service.Page{Patches: patches}, func(w io.Writer) { renderConflicts(w, patches) })
}

func renderConflicts(w io.Writer, patches []service.Patch) {
	if len(patches) == 0 {
		line(w, "no conflicts")
	}
	for _, p := range patches {
		line(w, "%s  %s  %s", p.Identity.Short(), labels(p.PatchIDs), p.Title)
		if p.Decision != nil {
			renderReasons(w, p.Decision)
		}
	}
}
