package service

import (
	"context"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// KindWithdrawn is the ledger entry of a submission taken back.
const KindWithdrawn ledger.Kind = "withdrawn"

// Withdraw takes back what key names: one submission when it is a submission's id, else every submission of the patch that
// still stands. An identity stays in the set while any submission of it stands. Withdrawing again changes nothing.
func (s *Service) Withdraw(ctx context.Context, by Credential, repo string, ref git.Ref, key, why string) (patch *Patch, err error) {
	defer away(&err)
	t, id, err := s.find(ctx, repo, ref, key)
	if err != nil {
		return nil, err
	}
	gone := false
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		row, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		subs, err := tx.Submissions(ctx, t.id, id)
		if err != nil {
			return err
		}
		before, err := tx.Patch(ctx, t.id, id)
		if err != nil {
			return err
		}
		if before.Disposition == ledger.Landed {
			return errf(ErrStale, "key", "revert it on the target instead", "patch %s has landed", id)
		}
		for _, sub := range subs {
			if !sub.Withdrawn.IsZero() || (isSubmission(subs, key) && string(sub.ID) != key) {
				continue
			}
			left, err := s.withdrawOne(ctx, tx, row, sub, by, why)
			if err != nil {
				return err
			}
			gone = left == 0
		}
		if gone {
			if err := s.supersedeRounds(ctx, tx, row, id, "a member was withdrawn"); err != nil {
				return err
			}
		}
		return s.queueSettle(ctx, tx, t.id)
	})
	if err != nil {
		return nil, err
	}
	if gone {
		s.settle(ctx, t, id)
	}
	return s.patch(ctx, t, id)
}

func isSubmission(subs []ledger.Submission, key string) bool {
	for _, sub := range subs {
		if string(sub.ID) == key {
			return true
		}
	}
	return false
}

func (s *Service) withdrawOne(ctx context.Context, tx *ledger.Tx, row *ledger.Target, sub ledger.Submission, by Credential, why string) (int, error) {
	payload, err := coordinator.Canonical(map[string]any{"identity": sub.Identity})
	if err != nil {
		return 0, err
	}
	operational, err := coordinator.Canonical(map[string]any{"submission_id": sub.ID, "credential": by.Name, "why": why})
	if err != nil {
		return 0, err
	}
	entry, err := tx.Append(ctx, row, ledger.Anything(), ledger.Entry{Kind: KindWithdrawn, Payload: payload, Operational: operational, Inputs: true})
	if err != nil {
		return 0, err
	}
	return tx.Withdraw(ctx, entry.Seq, ledger.Withdrawal{Submission: sub.ID, Credential: by.Name, Why: why})
}
