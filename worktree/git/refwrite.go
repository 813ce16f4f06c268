package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
)

// RefUpdate is one step of a reference transaction. Old is what the reference must be at: ZeroOID means absent, empty
// means anything. New is what it becomes: ZeroOID deletes it, empty leaves it as it is and only holds it to Old.
type RefUpdate struct {
	Ref      Ref
	Old, New OID
}

// UpdateRefs makes all updates or none, in one transaction of git's with hooks switched off. A reference that is
// elsewhere is a *RefConflictError, a lock that is held, or was left by a killed git, a *LockedError.
func (r *Repo) UpdateRefs(ctx context.Context, updates []RefUpdate) error {
	if len(updates) == 0 {
		return nil
	}
	script, err := refScript(updates)
	if err != nil {
		return err
	}
	args := append(writePins(), "update-ref", "-m", "patchd", "--stdin", "-z")
	env := with(r.env, "GIT_DIR="+r.commonDir)
	_, err = r.run(ctx, command{args: args, dir: r.commonDir, env: env, stdin: script})
	var failed *CommandError
	if errors.As(err, &failed) {
		return r.explainRefFailure(ctx, updates, failed)
	}
	return err
}

func refScript(updates []RefUpdate) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("start\x00")
	for _, u := range updates {
		if !u.Ref.Valid() || u.Ref == "HEAD" {
			return nil, fmt.Errorf("update reference %q: not a full reference name", string(u.Ref))
		}
		if u.Old != "" && !u.Old.Valid() || u.New != "" && !u.New.Valid() {
			return nil, fmt.Errorf("update reference %q: %q to %q: not full object ids", string(u.Ref), string(u.Old), string(u.New))
		}
		b.WriteString(refCommand(u))
	}
	b.WriteString("prepare\x00commit\x00")
	return b.Bytes(), nil
}

func refCommand(u RefUpdate) string {
	if u.New == "" {
		return fmt.Sprintf("verify %s\x00%s\x00", u.Ref, u.Old)
	}
	if u.New == ZeroOID {
		return fmt.Sprintf("delete %s\x00%s\x00", u.Ref, u.Old)
	}
	return fmt.Sprintf("update %s\x00%s\x00%s\x00", u.Ref, u.New, u.Old)
}

// explainRefFailure turns git's words into a type by looking at the references themselves.
func (r *Repo) explainRefFailure(ctx context.Context, updates []RefUpdate, failed *CommandError) error {
	if lock := heldLock(failed.Stderr); lock != "" {
		return fmt.Errorf("update references: %w", &LockedError{Path: lock})
	}
	for _, u := range updates {
		got, found, err := r.Resolve(ctx, u.Ref)
		if err != nil || u.Old == "" {
			continue
		}
		if !found {
			got = ZeroOID
		}
		if got != u.Old {
			return fmt.Errorf("update references: %w", &RefConflictError{Ref: u.Ref, Want: u.Old, Got: got})
		}
	}
	return fmt.Errorf("update references: %w", failed)
}

// heldLock finds the lock file in "Unable to create 'PATH.lock': File exists", git's message in the C locale.
func heldLock(stderr string) string {
	match := regexp.MustCompile(`Unable to create '([^\n]*\.lock)': File exists`).FindStringSubmatch(stderr)
	if match == nil {
		return ""
	}
	return match[1]
}

// StaleLocks lists the lock files of references that are there now. A git that runs may own them: they may be removed
// only by who holds the repository's lease while no git runs.
func (r *Repo) StaleLocks() ([]string, error) {
	var locks []string
	for _, fixed := range []string{"HEAD.lock", "packed-refs.lock"} {
		if path := filepath.Join(r.commonDir, fixed); exists(path) {
			locks = append(locks, path)
		}
	}
	if heads, err := filepath.Glob(filepath.Join(globQuote(r.commonDir), "worktrees", "*", "HEAD.lock")); err == nil {
		locks = append(locks, heads...)
	}
	err := filepath.WalkDir(filepath.Join(r.commonDir, "refs"), func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !entry.IsDir() && filepath.Ext(path) == ".lock" {
			locks = append(locks, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look for stale locks: %w", err)
	}
	return locks, nil
}

// RemoveLock removes one lock file that StaleLocks named.
func (r *Repo) RemoveLock(path string) error {
	rel, err := filepath.Rel(r.commonDir, path)
	if err != nil || !filepath.IsLocal(rel) || filepath.Ext(rel) != ".lock" {
		return fmt.Errorf("remove lock %q: not a lock of this repository", path)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove lock: %w", err)
	}
	return nil
}

func isNotDirectory(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
