package repro

import (
	"context"
	"errors"
	"time"

	"patchd/coordinator/service"
	"patchd/worktree/git"
)

// A coordinator whose connections broke answers again in a moment, which is asked for so often and so long apart.
const (
	patience = 30
	pause    = time.Second
)

// patient asks again where a coordinator only reads and its database does not answer.
type patient struct{ Coordinator }

// WaitRound implements Coordinator.
func (p patient) WaitRound(ctx context.Context, repo string, ref git.Ref, number int64) (*service.Round, error) {
	return patiently(ctx, func() (*service.Round, error) { return p.Coordinator.WaitRound(ctx, repo, ref, number) })
}

// Quiet implements Coordinator.
func (p patient) Quiet(ctx context.Context, repo string, ref git.Ref) (Digest, error) {
	return patiently(ctx, func() (Digest, error) { return p.Coordinator.Quiet(ctx, repo, ref) })
}

// State implements Coordinator.
func (p patient) State(ctx context.Context, repo string, ref git.Ref) (*State, error) {
	return patiently(ctx, func() (*State, error) { return p.Coordinator.State(ctx, repo, ref) })
}

func patiently[T any](ctx context.Context, ask func() (T, error)) (T, error) {
	ticker := time.NewTicker(pause)
	defer ticker.Stop()
	for range patience {
		answer, err := ask()
		var away *service.Error
		if !errors.As(err, &away) || away.Code != service.ErrUnavailable {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, err
		case <-ticker.C:
		}
	}
	return ask()
}
