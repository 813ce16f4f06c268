package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

type conflictsCmd struct {
	placeFlags
	ID   string `arg:"" optional:"" help:"Show this conflict's merge candidate: identity, a unique beginning of one, patch_id or submission id."`
	Out  string `type:"path" placeholder:"DIR" help:"Write the merged files of the conflict below this directory."`
	With string `placeholder:"ID" help:"Merge with this pending patch; default: the target, or else the first patch that it contends with."`
}

// Help shows examples.
func (*conflictsCmd) Help() string {
	return `The queue of what needs a person: conflicts of a patch with the target, and of pending patches with each other. With an ID the
merge candidate is worked out: "ours" is the patch, "theirs" the target or the other patch. Nothing publishes it by itself: look
at it, and submit with --base PUBLISH_AT_VERSION and --supersedes.

Examples:
  patchd conflicts
  patchd conflicts p-204 --out /tmp/merge
  patchd conflicts p-204 --with p-205 --json`
}

// Run lists the conflicts with every reason, or shows the merge candidate of one.
func (l *conflictsCmd) Run(ctx context.Context, a *app) error {
	if l.ID == "" && (l.Out != "" || l.With != "") {
		return usagef("give the ID of a conflict", "--out and --with are about one conflict")
	}
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	at := l.place()
	if l.ID != "" {
		m, err := c.MergeCandidate(ctx, at, l.ID, l.With)
		if err != nil {
			return err
		}
		if l.Out != "" {
			if err := writeMerge(a.path(l.Out), m); err != nil {
				return err
			}
		}
		return a.emit(m, func(w io.Writer) { renderMerge(w, m, l.Out) })
	}
	patches, err := allPatches(ctx, c, service.Filter{Repo: at.Repo, Target: at.Target, Outcome: coordinator.OutcomeConflict}, 0)
	if err != nil {
		return err
	}
	open := []service.Patch{}
	for _, p := range patches {
		if p.State == service.StateDecided || p.State == service.StateDeciding {
			open = append(open, p)
		}
	}
	return a.emit(service.Page{Patches: open}, func(w io.Writer) { renderConflicts(w, open) })
}

// writeMerge writes the files of a merge below a directory, out of which no path leads.
func writeMerge(dir string, m *service.MergeCandidate) error {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return fmt.Errorf("make directory: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("open directory: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, f := range m.Files {
		content, err := f.Bytes()
		if err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(f.Path), 0o750); err != nil {
			return fmt.Errorf("make directory of %q: %w", f.Path, err)
		}
		if err := root.WriteFile(f.Path, content, 0o600); err != nil {
			return fmt.Errorf("write %q: %w", f.Path, err)
		}
	}
	return nil
}

func renderMerge(w io.Writer, m *service.MergeCandidate, out string) {
	theirs := "the target " + short(m.CurrentVersion)
	if m.With != "" {
		theirs = "the pending patch " + m.With.Short()
	}
	line(w, "ours       patch %s, from %s", m.YourVersion.Short(), short(m.BaseVersion))
	line(w, "theirs     %s", theirs)
	for _, f := range m.Files {
		state := "merges without markers"
		if f.HasMarkers {
			state = "has conflict markers"
		}
		line(w, "file       %s %s", f.Path, state)
		if content, err := f.Bytes(); err == nil && out == "" && f.Encoding == "" {
			_, _ = w.Write(append(content, '\n'))
		}
	}
	if out != "" {
		line(w, "written to %s", out)
	}
	if m.Tree != "" {
		line(w, "to take it as it is:    patchd resolve %s accept --tree %s --why …", m.YourVersion.Short(), m.Tree)
	}
	line(w, "to submit it resolved:  patchd submit --base %s --supersedes %s", m.PublishAtVersion, m.YourVersion)
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
		renderSet(w, &p)
	}
}

// renderSet writes what the set of pending patches makes of a patch beside its own decision.
func renderSet(w io.Writer, p *service.Patch) {
	for _, r := range p.Contention {
		line(w, "  reason   %s", reasonText(r))
	}
	for _, r := range p.Blame {
		line(w, "  blamed   %s", reasonText(r))
	}
	for _, id := range p.BlockedBy {
		line(w, "  blocked  by %s", id.Short())
	}
	if p.Superseded != "" {
		line(w, "  replaced by %s", p.Superseded.Short())
	}
}
