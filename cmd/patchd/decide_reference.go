package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// compareInWorktree has git do the rebase once more, in files: apply the diff to the base, pick the change onto the target.
// For a candidate both ways must give one tree, or it is an error; for a conflict the record gets a message that says what git
// would have made of it.
func compareInWorktree(ctx context.Context, repo *git.Repo, record *coordinator.Decision, s *coordinator.Submission) (err error) {
	if record.Rejection != nil || record.Waiting != nil && record.Candidate == nil {
		return nil // nothing was rebased
	}
	base, err := repo.ReadCommit(ctx, s.Manifest.BaseCommit)
	if err != nil {
		return fmt.Errorf("read base: %w", err)
	}
	scratch, err := os.MkdirTemp("", "patchd-reference-")
	if err != nil {
		return fmt.Errorf("make reference directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	reference, err := repo.NewReference(ctx, filepath.Join(scratch, "worktree"))
	if err != nil {
		return fmt.Errorf("make reference worktree: %w", err)
	}
	defer func() { err = errors.Join(err, reference.Close()) }()
	changed, err := reference.Apply(ctx, base.Tree, s.Diff)
	if err != nil {
		return disagreement(record, "git apply refuses the diff on its base: %v", err)
	}
	merged, err := reference.Merge(ctx, base.Tree, changed, record.Target.Tree)
	if err != nil {
		return fmt.Errorf("rebase in worktree: %w", err)
	}
	if record.Candidate != nil {
		switch {
		case !merged.Clean:
			return disagreement(record, "git finds a conflict in %d paths", len(merged.Conflicts))
		case merged.Tree != record.Candidate.Tree:
			return disagreement(record, "git makes tree %s of it", merged.Tree)
		}
		note(record, fmt.Sprintf("git in a linked worktree makes the same tree %s", merged.Tree))
		return nil
	}
	if merged.Clean {
		note(record, fmt.Sprintf("git in a linked worktree merges this without a conflict, to tree %s", merged.Tree))
	} else {
		note(record, "git in a linked worktree finds a conflict, too")
	}
	return nil
}

func note(record *coordinator.Decision, text string) {
	record.Operational.Messages = append(record.Operational.Messages, coordinator.Message{Text: text})
}

func disagreement(record *coordinator.Decision, format string, args ...any) error {
	ours := "no tree"
	if record.Candidate != nil {
		ours = "tree " + string(record.Candidate.Tree)
	}
	return &statusError{
		exitFailed, fmt.Errorf("the rebase in memory (%s) and the one in a worktree disagree: %w", ours, fmt.Errorf(format, args...)),
		"this is a defect: please report it with the manifest, the diff and both commits",
	}
}
