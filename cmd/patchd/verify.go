package main

import (
	"context"
	"io"

	"patchd/coordinator/service"
)

type verifyCmd struct {
	placeFlags
}

// Help shows examples.
func (*verifyCmd) Help() string {
	return "The exit status is 0 when chain, anchor and state all hold, 1 otherwise.\n\nExamples:\n  patchd verify\n  patchd verify --target main --json"
}

// Run has the ledger walked from its first entry.
func (v *verifyCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := c.Verify(ctx, v.place())
	if err != nil {
		return err
	}
	if err := a.emit(found, func(w io.Writer) { renderVerification(w, found) }); err != nil {
		return err
	}
	if !found.Chain || !found.Anchor || !found.State || len(found.Faults) > 0 {
		return &statusError{code: exitFailed}
	}
	return nil
}

func renderVerification(w io.Writer, v *service.Verification) {
	line(w, "%s of %s: %d entries, head %s", v.Target, v.Repo, v.Entries, short(v.Head))
	line(w, "chain   %s  every hash follows from its entry and the one before", holds(v.Chain))
	line(w, "anchor  %s  the reference in the repository holds a hash of this chain", holds(v.Anchor))
	line(w, "state   %s  what is shown equals what the entries imply", holds(v.State))
	for _, fault := range v.Faults {
		line(w, "fault: %s", fault)
	}
}

func holds(ok bool) string {
	if ok {
		return "ok    "
	}
	return "BROKEN"
}
