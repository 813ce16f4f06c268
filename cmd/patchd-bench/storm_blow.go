package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
)

// blow makes all submissions while daemon and database are killed.
func (x *storm) blow(ctx context.Context, jobs []job) (err error) {
	if err := x.serve(ctx); err != nil {
		return err
	}
	x.say("%s: %d submissions from %d processes", x.stand.Name, len(jobs), x.Processes)
	todo := make(chan job, len(jobs))
	for _, j := range jobs {
		todo <- j
	}
	close(todo)
	group, ctx := errgroup.WithContext(ctx)
	submitters, inner := errgroup.WithContext(ctx)
	for range x.Processes {
		submitters.Go(func() error {
			for j := range todo {
				if err := x.submitOne(inner, j); err != nil {
					return err
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		defer close(x.counted)
		return submitters.Wait()
	})
	group.Go(func() error { return x.harass(ctx, len(jobs)) })
	return group.Wait()
}

func (x *storm) serve(ctx context.Context) (err error) {
	x.daemon, err = x.patchd.Serve(ctx, x.dataDir, x.stand.Dir, x.url)
	return err
}

// submitOne runs submit until it is acknowledged.
func (x *storm) submitOne(ctx context.Context, j job) error {
	const tries = 50
	for range tries {
		r, err := x.patchd.Run(ctx, "submit", "--data-dir", x.dataDir, "--manifest", j.manifest, "--diff", j.diff, "--json")
		if err != nil {
			return err
		}
		if r.Code == 0 {
			return x.acknowledge(r.Stdout, j)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		x.mu.Lock()
		x.doc.Reruns++
		x.mu.Unlock()
		x.say("submit ended with status %d: %s", r.Code, r.Stderr)
	}
	return fmt.Errorf("patch %s was never acknowledged", j.identity.Short())
}

func (x *storm) acknowledge(out []byte, j job) error {
	a := ack{job: j}
	if err := json.Unmarshal(out, &a); err != nil {
		return fmt.Errorf("read receipt: %w", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.acks = append(x.acks, a)
	x.counted <- len(x.acks)
	return nil
}

// harass kills and restarts as the acknowledgements come in, spread evenly, until the last one has come.
func (x *storm) harass(ctx context.Context, total int) error {
	events := x.Kills + x.Restarts
	done := 0
	for n := range x.counted {
		if done == events || n < (done+1)*total/(events+1) {
			continue
		}
		done++
		if err := x.strike(ctx, done); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// strike does the n-th event: restarts of the database stand evenly among the kills.
func (x *storm) strike(ctx context.Context, n int) error {
	events := x.Kills + x.Restarts
	if x.Restarts > 0 && n*x.Restarts/events > (n-1)*x.Restarts/events {
		x.doc.Restarts++
		x.say("restarting PostgreSQL at once")
		if err := x.server.RestartImmediate(ctx); err != nil {
			return fmt.Errorf("restart PostgreSQL: %w", err)
		}
		return nil
	}
	x.doc.Kills++
	x.say("killing the daemon")
	if err := x.daemon.Kill(); err != nil {
		return err
	}
	return errors.Join(x.serve(ctx))
}
