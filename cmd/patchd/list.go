package main

import (
	"context"
	"io"
	"strings"

	"patchd/coordinator"
	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
)

type listCmd struct {
	placeFlags
	Outcome string `enum:",candidate,conflict,waiting,rejected" default:"" help:"Only patches decided so: candidate, conflict, waiting or rejected."`
	State   string `enum:",deciding,decided,landed,withdrawn,rejected,superseded" default:"" help:"Only patches in this state: deciding, decided, landed, withdrawn, rejected or superseded."`
	Limit   int    `default:"0" help:"At most so many; 0 lists all."`
}

// Help shows examples.
func (*listCmd) Help() string {
	return "Examples:\n  patchd list\n  patchd list --outcome conflict\n  patchd list --state deciding --json"
}

// Run lists patches in the order in which the daemon gives them.
func (l *listCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	at := l.place()
	patches, err := allPatches(ctx, c, service.Filter{Repo: at.Repo, Target: at.Target, Outcome: coordinator.Outcome(l.Outcome), State: service.PatchState(l.State)}, l.Limit)
	if err != nil {
		return err
	}
	return a.emit(service.Page{Patches: patches}, func(w io.Writer) { patchTable(w, patches) })
}

// allPatches reads page after page until all, or limit patches where it is not zero, are there.
func allPatches(ctx context.Context, c *client.Client, f service.Filter, limit int) ([]service.Patch, error) {
	const pageSize = 500
	all := []service.Patch{}
	for {
		f.Limit = pageSize
		if limit > 0 {
			f.Limit = min(pageSize, limit-len(all))
		}
		page, err := c.Patches(ctx, f)
		if err != nil {
			return nil, err
		}
		all = append(all, page.Patches...)
		if page.Next == "" || limit > 0 && len(all) >= limit {
			return all, nil
		}
		f.Cursor = page.Next
	}
}

func patchTable(w io.Writer, patches []service.Patch) {
	if len(patches) == 0 {
		line(w, "no patches")
		return
	}
	rows := [][]string{{"IDENTITY", "PATCH", "STATE", "OUTCOME", "REASONS", "TITLE"}}
	for _, p := range patches {
		rows = append(rows, []string{p.Identity.Short(), labels(p.PatchIDs), string(p.State), dash(string(p.Outcome)), dash(codes(p.Codes)), p.Title})
	}
	table(w, rows)
}

func labels(ids []coordinator.PatchID) string { return joined(ids) }

func codes(list []coordinator.Code) string { return joined(list) }

func joined[T ~string](list []T) string {
	parts := make([]string, len(list))
	for i, v := range list {
		parts[i] = string(v)
	}
	return strings.Join(parts, ",")
}
