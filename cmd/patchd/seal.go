package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/coordinator/service"
)

type sealCmd struct {
	placeFlags
	ID      []string      `arg:"" optional:"" help:"The patches; without any, everything that is ready."`
	Wait    bool          `short:"w" help:"Wait until the round is ready or over."`
	Timeout time.Duration `default:"1h" help:"How long to wait."`
}

// Help shows examples.
func (*sealCmd) Help() string {
	return `A seal waits for the plans of everything admitted before it. The members are then composed, and the union of their checks is
run once. Patches that a failure is blamed on are conflicts; the rest is composed again.

Exit status: 0 sealed (with --wait: ready), 3 nothing is ready or the round waits for something, 4 a conflict keeps it from
being ready, 5 not ready in time.

Examples:
  patchd seal --wait
  patchd seal p-204 p-205`
}

// Run seals a round and, where asked to, waits for it.
func (s *sealCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	r, err := c.Seal(ctx, s.place(), s.ID)
	if err != nil {
		return err
	}
	if s.Wait {
		limited, cancel := context.WithTimeout(ctx, s.Timeout)
		defer cancel()
		if r, err = a.followRound(limited, c, r); err != nil {
			return notInTime(ctx, err, fmt.Sprintf("round %d is not ready after %s", r.Number, s.Timeout), "it goes on: patchd status --round "+fmt.Sprint(r.Number))
		}
	}
	if err := a.emit(r, func(w io.Writer) { renderRound(w, r) }); err != nil || !s.Wait {
		return err
	}
	return roundStatus(r)
}

// roundStatus is the exit status of a round that was waited for: ready or landed is done; a round that is over without is a
// conflict where its code is one, and waiting otherwise.
func roundStatus(r *service.Round) error {
	switch ledger.RoundStatus(r.Status) {
	case ledger.RoundReady, ledger.RoundLanded:
		return nil
	case ledger.RoundStopped:
		if _, err := coordinator.ClassOf(r.Code); err == nil {
			return &statusError{code: exitConflict}
		}
	case ledger.RoundSealing, ledger.RoundComposing, ledger.RoundChecking, ledger.RoundBlaming, ledger.RoundLanding, ledger.RoundSuperseded, ledger.RoundEmpty:
	}
	return &statusError{code: exitWaiting}
}
