// Package baseline does what a user would do without patchd: a worktree for each patch, git's own three-way apply in it, a
// commit, and the worktree removed again. Nothing in it is tuned against the baseline: background maintenance, which would
// only slow it, is off.
package baseline

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"patchd/cmd/patchd-bench/internal/gitrun"
	"patchd/worktree/git"
)

// Baseline decides patches by script. It is safe for concurrent use.
type Baseline struct {
	git     gitrun.Git
	dir     string // worktrees are made below it
	next    atomic.Int64
	retries atomic.Int64
}

// New makes a baseline over a repository; dir is a directory of its own.
func New(g gitrun.Git, dir string) (*Baseline, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make worktree directory: %w", err)
	}
	return &Baseline{git: g, dir: dir}, nil
}

// Retries is how often "git worktree add" lost a race against another one and was run again.
func (b *Baseline) Retries() int64 { return b.retries.Load() }

// Decide applies a patch to a target commit and commits the result. It leaves nothing but objects behind, and reports false
// where git apply found conflicts.
func (b *Baseline) Decide(ctx context.Context, target git.OID, diff []byte) (applied bool, err error) {
	dir, err := b.Add(ctx, target)
	if err != nil {
		return false, err
	}
	applied, err = b.apply(ctx, b.git.At(dir), diff)
	return applied, errors.Join(err, b.Remove(ctx, dir))
}

func (b *Baseline) apply(ctx context.Context, in gitrun.Git, diff []byte) (bool, error) {
	_, code, err := in.Status(ctx, diff, "apply", "--3way", "--index", "-")
	if err != nil || code != 0 {
		return false, err
	}
	if err := in.Run(ctx, "commit", "-q", "-m", "patch"); err != nil {
		return false, fmt.Errorf("commit patch: %w", err)
	}
	return true, nil
}

// Add makes a worktree at a commit.
func (b *Baseline) Add(ctx context.Context, target git.OID) (string, error) {
	const tries = 5
	for try := 1; ; try++ {
		dir := filepath.Join(b.dir, fmt.Sprintf("w%d", b.next.Add(1)))
		err := b.git.Run(ctx, "worktree", "add", "-q", "--detach", dir, string(target))
		if err == nil {
			return dir, nil
		}
		if try == tries || ctx.Err() != nil {
			return "", fmt.Errorf("add worktree: %w", err)
		}
		b.retries.Add(1)
	}
}

// Remove removes a worktree.
func (b *Baseline) Remove(ctx context.Context, dir string) error {
	if err := b.git.Run(ctx, "worktree", "remove", "--force", dir); err != nil {
		return fmt.Errorf("remove worktree: %w", err)
	}
	return nil
}

// Land applies a patch to a target commit, commits it, runs the check "true" and moves the branch there. It gives the new tip,
// none where git apply found conflicts.
func (b *Baseline) Land(ctx context.Context, target git.OID, diff []byte, branch git.Ref) (tip git.OID, err error) {
	dir, err := b.Add(ctx, target)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, b.Remove(ctx, dir)) }()
	in := b.git.At(dir)
	applied, err := b.apply(ctx, in, diff)
	if err != nil || !applied {
		return "", err
	}
	// An alias that begins with "!" is how git itself runs a program in the worktree.
	if err := in.Run(ctx, "-c", "alias.check=!true", "check"); err != nil {
		return "", fmt.Errorf("run check: %w", err)
	}
	head, err := in.Line(ctx, "rev-parse", "HEAD")
	if err != nil {
		return "", fmt.Errorf("read commit: %w", err)
	}
	if err := in.Run(ctx, "update-ref", string(branch), head, string(target)); err != nil {
		return "", fmt.Errorf("move branch: %w", err)
	}
	return git.OID(head), nil
}
