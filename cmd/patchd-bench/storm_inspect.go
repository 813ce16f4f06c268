package main

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
)

// inspect waits until everything is decided and looks for what was lost, doubled or left behind.
func (x *storm) inspect(ctx context.Context) error {
	c, err := x.daemon.Client()
	if err != nil {
		return err
	}
	defer c.Close()
	for _, check := range []func(context.Context, *client.Client) error{x.settled, x.acknowledged, x.decisions, x.verified} {
		if err := check(ctx, c); err != nil {
			return fmt.Errorf("%w; the daemon's log ends: %s", err, x.daemon.Log())
		}
	}
	if err := x.daemon.Stop(); err != nil {
		x.doc.fault("%v", err)
	}
	return x.repository(ctx)
}

// settled waits for the decision of every patch that was acknowledged.
func (x *storm) settled(ctx context.Context, c *client.Client) error {
	limited, cancel := context.WithTimeout(ctx, x.Patience)
	defer cancel()
	seen := map[coordinator.Identity]bool{}
	for _, a := range x.acks {
		if seen[a.job.identity] {
			continue
		}
		seen[a.job.identity] = true
		p, err := c.Wait(limited, client.Place{}, a.job.identity)
		if err != nil {
			return fmt.Errorf("wait for patch %s: %w", a.job.identity.Short(), err)
		}
		x.doc.Outcomes[string(p.Outcome)]++
		if p.State != service.StateDecided && p.State != service.StateRejected || p.Problem != "" {
			x.doc.fault("patch %s is %s: %s", a.job.identity.Short(), p.State, p.Problem)
		}
	}
	return nil
}

// acknowledged looks every receipt up, and holds repeats against their first submission.
func (x *storm) acknowledged(ctx context.Context, c *client.Client) error {
	x.doc.Acknowledged = len(x.acks)
	submissions := map[coordinator.Identity]string{}
	for _, a := range x.acks {
		if a.Deduplicated {
			x.doc.Repeated++
		}
		if a.Identity != a.job.identity {
			x.doc.fault("submission %s was acknowledged as patch %s, it is %s", a.SubmissionID, a.Identity.Short(), a.job.identity.Short())
		}
		if first, ok := submissions[a.job.identity]; ok && first != a.SubmissionID {
			x.doc.fault("patch %s has two submissions under one request key: %s and %s", a.job.identity.Short(), first, a.SubmissionID)
		}
		submissions[a.job.identity] = a.SubmissionID
		p, err := c.Patch(ctx, client.Place{}, a.SubmissionID)
		if err != nil {
			x.doc.fault("submission %s was acknowledged and is lost: %v", a.SubmissionID, err)
			continue
		}
		if p.Identity != a.job.identity {
			x.doc.fault("submission %s is of patch %s, not %s", a.SubmissionID, p.Identity.Short(), a.job.identity.Short())
		}
	}
	return nil
}

// decisions walks the ledger: each patch is admitted once and decided once at a target commit.
func (x *storm) decisions(ctx context.Context, c *client.Client) error {
	const page = 500
	decided, admitted := map[string]int{}, map[string]int{}
	for from := int64(1); from > 0; {
		entries, next, err := c.Log(ctx, client.Place{}, from, page)
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		for _, e := range entries {
			switch e.Kind {
			case string(service.KindDecided):
				x.doc.Decisions++
				decided[fmt.Sprint(within(e.Payload, "patch", "identity"), " at ", within(e.Payload, "target", "commit"))]++
			case string(service.KindAdmitted):
				admitted[fmt.Sprint(within(e.Payload, "identity"))]++
			}
		}
		from = next
	}
	for what, n := range decided {
		if n > 1 {
			x.doc.fault("patch %s was decided %d times", what, n)
		}
	}
	for what, n := range admitted {
		if n > 1 {
			x.doc.fault("patch %s was admitted %d times", what, n)
		}
	}
	if len(admitted) != x.doc.Patches || len(decided) != x.doc.Patches {
		x.doc.fault("%d patches were submitted, %d admitted, %d decided", x.doc.Patches, len(admitted), len(decided))
	}
	return nil
}

// within walks into a decoded JSON document.
func within(document any, keys ...string) any {
	for _, k := range keys {
		m, ok := document.(map[string]any)
		if !ok {
			return nil
		}
		document = m[k]
	}
	return document
}

// verified has the daemon verify its ledger. The anchor is written a moment after the entries, so it is asked for more than once.
func (x *storm) verified(ctx context.Context, c *client.Client) error {
	const tries, pause = 20, 250 * time.Millisecond
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for try := 1; ; try++ {
		v, err := c.Verify(ctx, client.Place{})
		if err != nil {
			return fmt.Errorf("verify: %w", err)
		}
		if v.Chain && v.Anchor && v.State && len(v.Faults) == 0 {
			return nil
		}
		if try == tries {
			x.doc.fault("the ledger does not verify: chain %t, anchor %t, state %t: %s", v.Chain, v.Anchor, v.State, strings.Join(v.Faults, "; "))
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// repository looks at the repository after the daemon's end.
func (x *storm) repository(ctx context.Context) error {
	after, err := x.fsck(ctx)
	if err != nil {
		return err
	}
	if after != x.before {
		x.doc.fault("git fsck says: %.300s; before the storm it said: %.300s", after, x.before)
	}
	trees, err := x.stand.Git.Output(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	if n := strings.Count("\n"+string(trees), "\nworktree "); n != 1 {
		x.doc.fault("%d worktrees are left", n-1)
	}
	return filepath.WalkDir(x.stand.Dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			x.doc.fault("lock file %s is left", filepath.Base(path))
		}
		return err
	})
}

// fsck is what git finds wrong with the repository. Real histories have faults of their own; the storm must add none.
func (x *storm) fsck(ctx context.Context) (string, error) {
	out, code, err := x.stand.Git.Status(ctx, nil, "fsck", "--full", "--strict", "--no-dangling", "--no-progress")
	return fmt.Sprintf("status %d: %s", code, out), err
}
