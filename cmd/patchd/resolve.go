package main

import (
	"context"
	"io"

	"patchd/coordinator/api"
)

type resolveCmd struct {
	placeFlags
	ID              string   `arg:"" help:"Identity, a unique beginning of one (7 digits or more), patch_id or submission id."`
	Action          string   `arg:"" enum:"accept,choose,approve,reject,reopen,comment" help:"accept, choose, approve, reject, reopen or comment."`
	Why             string   `required:"" help:"The reason; it is kept with your name."`
	With            []string `placeholder:"ID" help:"The other patch: of a pair that is accepted together, or that stays where this one is chosen; repeat for more."`
	Command         string   `placeholder:"CMD" help:"accept: a check that ends without a verdict."`
	Tree            string   `placeholder:"TREE" help:"accept: the result tree that you looked at (see patchd conflicts ID)."`
	ExpectedVersion int64    `placeholder:"N" help:"The version of the record that you looked at: the action is refused if it has changed since. Default: whatever it is now."`
}

// Help shows examples.
func (*resolveCmd) Help() string {
	return `  accept   take the mechanical merge of a structural conflict, a check without a verdict, or two contending patches together
  choose   this patch goes ahead; those that it contends with stay
  approve  what owner rules ask for
  reject   for good
  reopen   decide again what has landed and was taken back
  comment  decides nothing

A resolution holds wherever exactly the same case comes back, and nowhere else. To resolve a textual conflict, submit a patch
that supersedes this one: patchd conflicts ID --out DIR writes the merge to begin with.

Exit status: 0 recorded, 1 refused, such as a record that has changed since it was read.

Examples:
  patchd resolve p-204 accept --why "the two edits of parseHeader are independent"
  patchd resolve p-204 choose --why "p-205 is rebased on it by hand"
  patchd resolve p-204 accept --command "make bench" --why "the machine is too slow for it"`
}

// Run records what somebody does about a patch, held against the record that was looked at.
func (r *resolveCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(0)
	if err != nil {
		return err
	}
	defer c.Close()
	p, err := c.Resolve(ctx, r.place(), r.ID, api.ResolveBody{
		Action: r.Action, Why: r.Why, ExpectedVersion: r.ExpectedVersion, With: r.With, Command: r.Command, Tree: r.Tree,
	})
	if err != nil {
		return err
	}
	return a.emit(p, func(w io.Writer) {
		line(w, "recorded %s on %s; it is %s now", r.Action, p.Identity.Short(), dash(string(p.State)))
	})
}
