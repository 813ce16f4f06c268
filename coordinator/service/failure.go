package service

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/riverqueue/river/rivertype"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
)

// trouble is what a patch's row keeps of a job that failed.
type trouble struct {
	Problem string `json:"problem"`
	Attempt int    `json:"attempt"`
}

// noteFailure makes a failing job visible on its patch. A job that is given up leaves the patch waiting, with the problem
// said; it is tried again when the target moves, when the patch is submitted again and when the daemon starts.
func (s *Service) noteFailure(ctx context.Context, job *rivertype.JobRow, problem string) {
	var args decideArgs
	if err := json.Unmarshal(job.EncodedArgs, &args); err != nil {
		s.warn(ctx, "cannot read job arguments", err)
		return
	}
	data, err := json.Marshal(trouble{Problem: problem, Attempt: job.Attempt})
	if err != nil {
		s.warn(ctx, "cannot write trouble", err)
		return
	}
	err = s.store.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *ledger.Tx) error {
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
		p.Data = data
		if job.Attempt >= job.MaxAttempts {
			p.Outcome, p.Published = string(coordinator.OutcomeWaiting), string(coordinator.OutcomeWaiting)
		}
		return tx.SavePatches(ctx, t, p)
	})
	if err != nil {
		s.warn(ctx, "cannot record the failure on its patch", err)
	}
}

func problemOf(row ledger.Patch) string {
	var t trouble
	if len(row.Data) == 0 || json.Unmarshal(row.Data, &t) != nil || t.Problem == "" {
		return ""
	}
	return fmt.Sprintf("attempt %d: %s", t.Attempt, t.Problem)
}
