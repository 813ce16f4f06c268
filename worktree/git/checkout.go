package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// DirtyCheckoutError says that a checkout cannot follow its branch without losing or mixing up somebody's work.
type DirtyCheckoutError struct {
	Path   string
	Reason string
	// Busy says that the checkout may be able to follow soon: a git command, or a landing, is at work in it.
	Busy bool
}

// Error says which checkout, and why.
func (e *DirtyCheckoutError) Error() string {
	return fmt.Sprintf("checkout %q cannot follow its branch: %s", e.Path, e.Reason)
}

// CanFollow reports whether a checkout whose branch moves from one commit to another could follow it: it stands at the first
// one without changes to tracked files, and nothing untracked is in the way. Otherwise the error is a *DirtyCheckoutError.
func (r *Repo) CanFollow(ctx context.Context, dir string, from, to OID) error {
	out, err := r.inCheckout(ctx, dir, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=none")
	if err != nil {
		return fmt.Errorf("look at checkout %q: %w", dir, err)
	}
	if len(out) > 0 {
		first, _, _ := strings.Cut(string(out), "\x00")
		return &DirtyCheckoutError{Path: dir, Reason: fmt.Sprintf("it has uncommitted changes (%s)", strings.TrimSpace(first))}
	}
	if _, err := r.inCheckout(ctx, dir, "read-tree", "-n", "-m", "-u", string(from), string(to)); err != nil {
		var failed *CommandError
		if errors.As(err, &failed) {
			return &DirtyCheckoutError{Path: dir, Reason: strings.TrimSpace(failed.Stderr)}
		}
		return fmt.Errorf("try checkout %q: %w", dir, err)
	}
	return nil
}

// Follow brings the index and the files of a checkout from one commit to another after its branch moved.
func (r *Repo) Follow(ctx context.Context, dir string, from, to OID) error {
	if _, err := r.inCheckout(ctx, dir, "read-tree", "-m", "-u", string(from), string(to)); err != nil {
		return fmt.Errorf("update checkout %q: %w", dir, err)
	}
	return nil
}

// inCheckout runs git in a checkout with the user's own settings for files, and without hooks or maintenance.
func (r *Repo) inCheckout(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return r.inCheckoutWith(ctx, dir, nil, args...)
}

// inCheckoutWith is inCheckout with more environment.
func (r *Repo) inCheckoutWith(ctx context.Context, dir string, env []string, args ...string) ([]byte, error) {
	args = append(pins("safe.directory=*", "core.fsmonitor=false", "core.hooksPath=/dev/null", "gc.auto=0", "maintenance.auto=false"), args...)
	return r.run(ctx, command{args: args, dir: dir, env: with(r.userEnv(), env...)})
}
