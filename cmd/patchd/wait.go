package main

import (
	"context"
	"errors"
	"io"
	"time"

	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
)

// wait waits for the decision of what was submitted, and shows it. The submission stays whatever happens here.
func (s *submitCmd) wait(ctx context.Context, a *app, c *client.Client, r *service.Receipt) error {
	limited, cancel := context.WithTimeout(ctx, s.Timeout)
	defer cancel()
	a.say("recorded %s as %s; waiting for the decision on %s", r.PatchID, r.Identity.Short(), r.Target)
	stop := a.progress("deciding")
	p, err := c.Wait(limited, client.Place{Repo: r.Repo, Target: r.Target}, r.Identity)
	stop()
	switch {
	case ctx.Err() != nil:
		a.say("no longer waiting; the submission stays: patchd show %s", r.Identity.Short())
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return &statusError{exitTimeout, errors.New("no decision after " + s.Timeout.String()), "the submission stays: patchd show " + r.Identity.Short()}
	case err != nil:
		return err
	}
	if err := a.emit(p, func(w io.Writer) { renderPatch(w, p) }); err != nil {
		return err
	}
	if p.Outcome == "" {
		return nil // landed, withdrawn or superseded meanwhile
	}
	return outcomeStatus(p.Outcome)
}

// progress says on stderr that work goes on, less and less often, until the function that it returns is called.
func (a *app) progress(what string) (stop func()) {
	const first, most = 5 * time.Second, time.Minute
	start := a.clock()
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		pause := first
		timer := time.NewTimer(pause)
		defer timer.Stop()
		for {
			select {
			case <-done:
				return
			case <-timer.C:
				a.say("still %s after %s", what, a.clock().Sub(start).Round(time.Second))
				pause = min(2*pause, most)
				timer.Reset(pause)
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}
