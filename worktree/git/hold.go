package git

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// holdMark begins the index lock of a checkout that is held, so that one left by a killed process is recognised.
const holdMark = "patchd "

// thisProcess tells this process from an earlier one with its number, which is the rule in containers.
var thisProcess = sync.OnceValue(rand.Text) //nolint:gochecknoglobals // what it names is as wide

// HeldCheckout is a checkout whose index is locked, as git itself locks it, while its branch is moved. Nobody can commit there
// meanwhile: a commit of the old index on top of the new tip would take back what the branch was moved to. It is not safe for
// concurrent use.
type HeldCheckout struct {
	Dir string

	repo     *Repo
	index    string
	from, to OID
}

// HoldCheckout locks a checkout whose branch is about to move from one commit to another. It must be able to follow, as
// CanFollow says, and nobody may be at work in it: otherwise the error is a *DirtyCheckoutError. Release must be called.
func (r *Repo) HoldCheckout(ctx context.Context, dir string, from, to OID) (*HeldCheckout, error) {
	index, err := r.indexOf(ctx, dir)
	if err != nil {
		return nil, err
	}
	h := &HeldCheckout{Dir: dir, repo: r, index: index, from: from, to: to}
	if err := h.take(ctx); err != nil {
		return nil, err
	}
	if err := h.prepare(ctx); err != nil {
		return nil, errors.Join(err, h.Release())
	}
	return h, nil
}

// take makes the lock, in place of one that a killed process left.
func (h *HeldCheckout) take(ctx context.Context) error {
	err := h.tryTake()
	if errors.Is(err, fs.ErrExist) {
		if released, err := h.releaseStale(ctx); err != nil {
			return err
		} else if released {
			return h.take(ctx)
		}
		return &DirtyCheckoutError{Path: h.Dir, Busy: true, Reason: "its index is locked: somebody is at work in it"}
	}
	if err != nil {
		return fmt.Errorf("lock checkout %q: %w", h.Dir, err)
	}
	return nil
}

// tryTake makes the lock, or fails with fs.ErrExist.
func (h *HeldCheckout) tryTake() error {
	f, err := os.OpenFile(h.lock(), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // as readable as git's own
	if err != nil {
		return err
	}
	if _, err = fmt.Fprintf(f, "%s%d %s\n", holdMark, os.Getpid(), thisProcess()); err != nil {
		return errors.Join(err, f.Close(), h.Release())
	}
	return f.Close()
}

func (r *Repo) indexOf(ctx context.Context, dir string) (string, error) {
	out, err := r.inCheckout(ctx, dir, "rev-parse", "--path-format=absolute", "--git-path", "index")
	if err != nil {
		return "", fmt.Errorf("look at checkout %q: %w", dir, err)
	}
	return strings.TrimRight(string(out), "\n"), nil
}

func (h *HeldCheckout) lock() string { return h.index + ".lock" }
func (h *HeldCheckout) next() string { return h.index + ".patchd" }

// prepare looks whether the checkout can follow, on a copy of its index.
func (h *HeldCheckout) prepare(ctx context.Context) error {
	out, err := h.repo.inCheckout(ctx, h.Dir, "status", "--porcelain=v1", "-z", "--untracked-files=no", "--ignore-submodules=none")
	if err != nil {
		return fmt.Errorf("look at checkout %q: %w", h.Dir, err)
	}
	if len(out) > 0 {
		first, _, _ := strings.Cut(string(out), "\x00")
		return &DirtyCheckoutError{Path: h.Dir, Reason: fmt.Sprintf("it has uncommitted changes (%s)", strings.TrimSpace(first))}
	}
	data, err := os.ReadFile(h.index)
	if err != nil {
		return fmt.Errorf("read index of checkout %q: %w", h.Dir, err)
	}
	if err := os.WriteFile(h.next(), data, 0o644); err != nil { //nolint:gosec // as readable as git's own
		return fmt.Errorf("copy index of checkout %q: %w", h.Dir, err)
	}
	if err := h.readTree(ctx, "-n"); err != nil {
		var failed *CommandError
		if errors.As(err, &failed) {
			return &DirtyCheckoutError{Path: h.Dir, Reason: strings.TrimSpace(failed.Stderr)}
		}
		return fmt.Errorf("try checkout %q: %w", h.Dir, err)
	}
	return nil
}

func (h *HeldCheckout) readTree(ctx context.Context, more ...string) error {
	args := append(append([]string{"read-tree"}, more...), "-m", "-u", string(h.from), string(h.to))
	_, err := h.repo.inCheckoutWith(ctx, h.Dir, []string{"GIT_INDEX_FILE=" + h.next()}, args...)
	return err
}

// Follow brings the files and the index to the new commit. The checkout stays held until Release.
func (h *HeldCheckout) Follow(ctx context.Context) error {
	if err := h.readTree(ctx); err != nil {
		return fmt.Errorf("update checkout %q: %w", h.Dir, err)
	}
	if err := os.Rename(h.next(), h.index); err != nil {
		return fmt.Errorf("replace index of checkout %q: %w", h.Dir, err)
	}
	return nil
}

// Release lets others work in the checkout again.
func (h *HeldCheckout) Release() error {
	return errors.Join(removed(h.next()), removed(h.next()+".lock"), removed(h.lock()))
}

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("release checkout: %w", err)
	}
	return nil
}

// ReleaseStale removes the lock that a process of ours left in a checkout when it was killed, and reports whether there was
// one. A lock of anybody else, or of a process that is alive, stays.
func (r *Repo) ReleaseStale(ctx context.Context, dir string) (bool, error) {
	index, err := r.indexOf(ctx, dir)
	if err != nil {
		return false, err
	}
	h := &HeldCheckout{Dir: dir, repo: r, index: filepath.Clean(index)}
	return h.releaseStale(ctx)
}

func (h *HeldCheckout) releaseStale(ctx context.Context) (bool, error) {
	if stale, err := h.stale(); err != nil || !stale {
		return false, err
	}
	unlock, err := h.repo.lockWorktrees(ctx) // of two that find it stale, the second must not remove what was made since
	if err != nil {
		return false, err
	}
	defer unlock()
	if stale, err := h.stale(); err != nil || !stale {
		return false, err
	}
	return true, h.Release()
}

// stale reports whether the lock was left by a process of ours that is gone.
func (h *HeldCheckout) stale() (bool, error) {
	data, err := os.ReadFile(h.lock())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lock of checkout %q: %w", h.Dir, err)
	}
	mark, ours := strings.CutPrefix(string(data), holdMark)
	number, process, _ := strings.Cut(strings.TrimSpace(mark), " ")
	pid, err := strconv.Atoi(number)
	if !ours || err != nil {
		return false, nil //nolint:nilerr // somebody else's
	}
	if pid == os.Getpid() {
		return process != thisProcess(), nil
	}
	return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH), nil
}

// FollowLate brings a checkout to where its branch was moved by a process that died before, or while, the checkout followed. A file
// that is neither as it was nor as it becomes is somebody's work: the error is then a *DirtyCheckoutError, and nothing is changed.
func (r *Repo) FollowLate(ctx context.Context, dir string, from, to OID) (err error) {
	index, err := r.indexOf(ctx, dir)
	if err != nil {
		return err
	}
	h := &HeldCheckout{Dir: dir, repo: r, index: index, from: from, to: to}
	if err := h.take(ctx); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Release()) }()
	asBefore, err := h.unlike(ctx, from)
	if err != nil {
		return err
	}
	asAfter, err := h.unlike(ctx, to)
	if err != nil {
		return err
	}
	for path := range asAfter {
		if asBefore[path] {
			return &DirtyCheckoutError{Path: dir, Reason: fmt.Sprintf("%s was changed", path)}
		}
	}
	if err := h.rewrite(ctx); err != nil {
		return fmt.Errorf("update checkout %q: %w", dir, err)
	}
	if err := os.Rename(h.next(), h.index); err != nil {
		return fmt.Errorf("replace index of checkout %q: %w", dir, err)
	}
	return nil
}

// rewrite brings the paths that change between the commits, and no others, to what they become; the index holds that already.
func (h *HeldCheckout) rewrite(ctx context.Context) error {
	changed, err := h.changed(ctx)
	if err != nil {
		return err
	}
	out, err := h.with(ctx, append([]string{"ls-files", "-z", "--"}, changed...)...)
	if err != nil {
		return err
	}
	kept := splitNUL(out)
	for _, path := range changed {
		if _, stays := slices.BinarySearch(kept, path); !stays {
			if err := removed(filepath.Join(h.Dir, path)); err != nil {
				return err
			}
		}
	}
	if len(kept) > 0 {
		if _, err := h.with(ctx, append([]string{"checkout-index", "-f", "-u", "--"}, kept...)...); err != nil {
			return err
		}
	}
	_, err = h.with(ctx, "status", "--porcelain=v1", "-z", "--untracked-files=no") // refreshes what the index knows of the files
	return err
}

// changed lists the paths that the two commits hold differently.
func (h *HeldCheckout) changed(ctx context.Context) ([]string, error) {
	out, err := h.with(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", string(h.from), string(h.to))
	if err != nil {
		return nil, fmt.Errorf("compare commits of checkout %q: %w", h.Dir, err)
	}
	return splitNUL(out), nil
}

func (h *HeldCheckout) with(ctx context.Context, args ...string) ([]byte, error) {
	return h.repo.inCheckoutWith(ctx, h.Dir, []string{"GIT_INDEX_FILE=" + h.next()}, args...)
}

// unlike gives the paths that change between the two commits and are not in the checkout as one of them has them.
func (h *HeldCheckout) unlike(ctx context.Context, commit OID) (map[string]bool, error) {
	if _, err := h.with(ctx, "read-tree", string(commit)); err != nil {
		return nil, fmt.Errorf("read tree in checkout %q: %w", h.Dir, err)
	}
	paths, err := h.changed(ctx)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	unlike := map[string]bool{}
	// what git would have to add, change or remove of these paths, untracked ones included
	status, err := h.with(ctx, append([]string{"status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames", "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("look at checkout %q: %w", h.Dir, err)
	}
	for _, line := range splitNUL(status) {
		if len(line) > 3 && (line[1] != ' ' || line[0] == '?') { // the second letter is of index against files
			unlike[line[3:]] = true
		}
	}
	return unlike, nil
}

func splitNUL(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
