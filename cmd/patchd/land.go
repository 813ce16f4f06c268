package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
	"patchd/coordinator/ledger"
	"patchd/coordinator/service"
)

type landCmd struct {
	placeFlags
	Round     int64         `arg:"" optional:"" help:"The round's number; default: the latest."`
	WhenGreen bool          `help:"Seal a round where none is open, wait until one is ready, and land it: what a merge bot calls."`
	Timeout   time.Duration `default:"1h" help:"How long --when-green waits."`
}

// Help shows examples.
func (*landCmd) Help() string {
	return `Landing moves the branch by compare-and-swap to the very tree that the checks passed on. A branch that has moved is never
overwritten: the round is superseded, and its patches are decided again. With --when-green the next round is sealed then.

Exit status: 0 landed, 3 nothing to land or not ready, 4 patches are blamed or in conflict, 5 not ready in time, 1 anything
else, such as a checkout of the branch with uncommitted changes.

Examples:
  patchd land --when-green --json
  patchd land 17`
}

// Run lands a round.
func (l *landCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(submitPatience)
	if err != nil {
		return err
	}
	defer c.Close()
	var r *service.Round
	if l.WhenGreen {
		limited, cancel := context.WithTimeout(ctx, l.Timeout)
		defer cancel()
		r, err = l.whenGreen(limited, a, c)
		if err != nil {
			return notInTime(ctx, err, "nothing landed after "+l.Timeout.String(), "the round goes on: patchd status --rounds")
		}
	} else if r, err = l.now(ctx, c); err != nil {
		return err
	}
	if err := a.emit(r, func(w io.Writer) { renderRound(w, r) }); err != nil {
		return err
	}
	if ledger.RoundStatus(r.Status) == ledger.RoundLanded {
		return nil
	}
	if err := roundStatus(r); err != nil {
		return err
	}
	return &statusError{code: exitWaiting}
}

// now lands a round that is ready, and gives any other as it is.
func (l *landCmd) now(ctx context.Context, c *client.Client) (*service.Round, error) {
	r, err := c.Round(ctx, l.place(), l.Round)
	if none(err) && l.Round == 0 {
		return nil, &statusError{exitWaiting, errors.New("no round was sealed yet"), "patchd land --when-green seals one"}
	}
	if err != nil || !r.Ready() {
		return r, err
	}
	return c.Land(ctx, l.place(), r.Number)
}

// whenGreen waits for the round that is open, or seals one, lands it when it is ready, and begins again where the branch has
// moved meanwhile.
func (l *landCmd) whenGreen(ctx context.Context, a *app, c *client.Client) (*service.Round, error) {
	number := l.Round
	for {
		r, err := l.pick(ctx, a, c, number)
		if err != nil {
			return nil, err
		}
		if r, err = a.followRound(ctx, c, r); err != nil {
			return nil, err
		}
		if r.Ready() {
			landed, err := c.Land(ctx, l.place(), r.Number)
			if err == nil || !stale(err) {
				return landed, err
			}
			if r, err = l.overtaken(ctx, c, r, err); err != nil {
				return nil, err
			}
		}
		if ledger.RoundStatus(r.Status) != ledger.RoundSuperseded {
			return r, nil
		}
		a.say("round %d is superseded%s; sealing another", r.Number, inParentheses(r.Message))
		number = 0
	}
}

// pick is the round that was named, the one that is open, or a new one.
func (l *landCmd) pick(ctx context.Context, a *app, c *client.Client, number int64) (*service.Round, error) {
	r, err := c.Round(ctx, l.place(), number)
	if err == nil && (number > 0 || !r.Over()) || err != nil && !none(err) {
		return r, err
	}
	if err := l.somethingPending(ctx, c); err != nil {
		return nil, err
	}
	if r, err = c.Seal(ctx, l.place(), nil); err == nil {
		a.say("sealed round %d", r.Number)
	}
	return r, err
}

// somethingPending spares the ledger the rounds of a bot that asks while there is nothing to land.
func (l *landCmd) somethingPending(ctx context.Context, c *client.Client) error {
	targets, err := c.Targets(ctx)
	if err != nil {
		return err
	}
	at := l.place()
	for _, t := range targets {
		if (at.Repo == "" || t.Repo == at.Repo) && (at.Target == "" || t.Ref == at.Target) && t.Pending > 0 {
			return nil
		}
	}
	return &statusError{exitWaiting, errors.New("no patch is pending: nothing to land"), ""}
}

// overtaken looks at a round whose landing was refused as stale: what is superseded or landed is so; a round that is still
// ready was refused for another reason, which is the answer.
func (l *landCmd) overtaken(ctx context.Context, c *client.Client, r *service.Round, refused error) (*service.Round, error) {
	now, err := c.Round(ctx, l.place(), r.Number)
	if err != nil {
		return nil, err
	}
	if !now.Over() {
		return nil, refused
	}
	return now, nil
}

// stale reports whether a request was refused because what it was about has changed.
func stale(err error) bool { return hasCode(err, service.ErrStale) }

// none reports whether what was asked for does not exist.
func none(err error) bool { return hasCode(err, service.ErrNotFound) }

func hasCode(err error, code service.ErrorCode) bool {
	var p *api.Problem
	return errors.As(err, &p) && p.Code == string(code)
}

// notInTime is the time-out of a command whose own time was up; other errors stay what they are.
func notInTime(ctx context.Context, err error, what, hint string) error {
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return &statusError{exitTimeout, errors.New(what), hint}
	}
	return err
}

// followRound waits until a round is ready or over, and tells on stderr what it does. It gives the round as it was seen last,
// with an error too.
func (a *app) followRound(ctx context.Context, c *client.Client, r *service.Round) (*service.Round, error) {
	const look = 2 * time.Second
	said := ""
	for {
		if what := doing(r); what != said {
			a.say("%s", what)
			said = what
		}
		if r.Ready() || r.Over() {
			return r, nil
		}
		if ctx.Err() != nil {
			return r, context.Cause(ctx)
		}
		next, err := c.WaitRound(ctx, client.Place{Repo: r.Repo, Target: r.Target}, r.Number, look)
		if err != nil {
			return r, err
		}
		r = next
	}
}

// doing says what a round does now.
func doing(r *service.Round) string {
	runs := 0
	for _, p := range r.Passes {
		runs += len(p.Checks) + p.Runs
	}
	what := fmt.Sprintf("round %d: %s", r.Number, r.Status)
	if n := len(r.Members); n > 0 {
		what += fmt.Sprintf(", %d patches", n)
	}
	if n := len(r.Passes); n > 0 {
		what += fmt.Sprintf(", %d compositions tried with %d questions to checks", n, runs)
	}
	return what
}
