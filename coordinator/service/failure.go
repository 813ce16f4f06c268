package service

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/riverqueue/river/rivertype"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// note is what a patch's row keeps for the service beside its decision.
type note struct {
	// Problem is why the latest job on the patch failed, and Attempt which try that was; GivenUp says that it was the last.
	Problem string `json:"problem,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	GivenUp bool   `json:"given_up,omitempty"`
	// RunsAfter is the latest run of a check that was recorded when the patch was handed in again, while a check of it had come to
	// no verdict: up to there, runs without a verdict do not count against the tries that it gets.
	RunsAfter ledger.VerdictID `json:"runs_after,omitzero"`
	// Status is the patch's published status (coordinator.PatchStatus), canonical.
	Status json.RawMessage `json:"status,omitempty"`
	// Version is the ledger entry that last changed Status.
	Version ledger.Seq `json:"version,omitzero"`
	// ChecksFor is the plan for which the patch's checks were queued.
	ChecksFor coordinator.Digest `json:"checks_for,omitempty"`
}

func noteOf(row ledger.Patch) note {
	var n note
	if len(row.Data) == 0 || json.Unmarshal(row.Data, &n) != nil {
		return note{}
	}
	return n
}

// bytes is the note as it is kept, nil where it says nothing.
func (n note) bytes() []byte {
	b, err := json.Marshal(n)
	if err != nil || string(b) == "{}" {
		return nil
	}
	return b
}

// noteFailure makes a failing job visible on its patch. A job that is given up leaves the patch waiting, with the problem
// said; it is tried again when the target moves, when the patch is submitted again and when the daemon starts.
func (s *Service) noteFailure(ctx context.Context, job *rivertype.JobRow, problem string) {
	if job.Kind == (roundArgs{}).Kind() {
		s.noteRoundFailure(context.WithoutCancel(ctx), job, problem)
		return
	}
	var args decideArgs
	if err := json.Unmarshal(job.EncodedArgs, &args); err != nil {
		s.warn(ctx, "cannot read job arguments", err)
		return
	}
	if args.Identity == "" {
		return
	}
	err := s.store.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *ledger.Tx) error {
		t, err := tx.LockTarget(ctx, ledger.TargetID(args.Target))
		if err != nil {
			return err
		}
		p, err := tx.Patch(ctx, t.ID, ledger.Identity(args.Identity))
		if err != nil {
			return err
		}
		if p.Disposition != ledger.Pending || !p.NeedsDecision {
			return nil
		}
		n := noteOf(p)
		n.Problem, n.Attempt, n.GivenUp = problem, job.Attempt, job.Attempt >= job.MaxAttempts
		p.Data = n.bytes()
		if err := tx.SavePatches(ctx, t, p); err != nil || !n.GivenUp {
			return err
		}
		return s.wakeRounds(ctx, tx, t) // nobody waits for what was given up
	})
	if err != nil {
		s.warn(ctx, "cannot record the failure on its patch", err)
	}
}

// noteRoundFailure makes a failing job visible on its round; one that is given up stops it, unless it is landing.
func (s *Service) noteRoundFailure(ctx context.Context, job *rivertype.JobRow, problem string) {
	var args roundArgs
	err := json.Unmarshal(job.EncodedArgs, &args)
	if err == nil {
		err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
			t, err := tx.LockTarget(ctx, ledger.TargetID(args.Target))
			if err != nil {
				return err
			}
			r, err := tx.Round(ctx, t.ID, args.Number)
			if err != nil {
				return err
			}
			message := fmt.Sprintf("attempt %d: %s", job.Attempt, problem)
			switch r.Status {
			case ledger.RoundLanded, ledger.RoundStopped, ledger.RoundSuperseded, ledger.RoundEmpty:
				return nil
			case ledger.RoundSealing, ledger.RoundComposing, ledger.RoundChecking, ledger.RoundBlaming, ledger.RoundReady:
				if job.Attempt >= job.MaxAttempts {
					return stopRound(ctx, tx, t, r, &coordinator.Refusal{Code: coordinator.CodeCheckInconclusive, Message: message, Hint: "mend the cause, then seal again"})
				}
			case ledger.RoundLanding:
			}
			if err := saveStory(&r, func(st *story) { st.Message = message }); err != nil {
				return err
			}
			return tx.SaveRound(ctx, t, r)
		})
	}
	if err != nil {
		s.warn(ctx, "cannot record the failure on its round", err)
	}
}

func problemOf(row ledger.Patch) string {
	n := noteOf(row)
	if n.Problem == "" {
		return ""
	}
	return fmt.Sprintf("attempt %d: %s", n.Attempt, n.Problem)
}

// givenUp reports whether nothing works on a patch that is due: it waits for the cause of its problem to be mended.
func givenUp(row ledger.Patch) bool { return row.NeedsDecision && noteOf(row).GivenUp }
