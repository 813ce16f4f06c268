package git_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestNobodyCommitsInACheckoutThatIsHeldWhileItsBranchMoves(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	from := s.commit(map[string]string{"a": "1\n", "b": "1\n"})
	to := s.commit(map[string]string{"a": "2\n", "new/file": "n\n"})
	s.git("reset", "-q", "--hard", string(from))
	r := s.open()

	h, err := r.HoldCheckout(t.Context(), s.dir, from, to)
	require.NoError(t, err)
	commit := exec.CommandContext(t.Context(), "git", "-C", s.dir, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m", "mine")
	out, err := commit.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "index.lock")
	var dirty *git.DirtyCheckoutError
	_, err = r.HoldCheckout(t.Context(), s.dir, from, to)
	require.ErrorAs(t, err, &dirty)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/heads/main", Old: from, New: to}}))
	require.NoError(t, h.Follow(t.Context()))
	require.NoError(t, h.Release())
	require.Equal(t, "2\n", s.read("a"))
	require.Empty(t, s.git("status", "--porcelain"))
	s.git("commit", "-q", "--allow-empty", "-m", "mine")
}

func TestAHoldRefusesWhatCannotFollowAndLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	from := s.commit(map[string]string{"a": "1\n"})
	to := s.commit(map[string]string{"a": "2\n", "new": "n\n"})
	s.git("reset", "-q", "--hard", string(from))
	r := s.open()
	var dirty *git.DirtyCheckoutError
	s.write("a", "mine\n")
	_, err := r.HoldCheckout(t.Context(), s.dir, from, to)
	require.ErrorAs(t, err, &dirty)
	require.Contains(t, dirty.Reason, "M a")
	s.git("reset", "-q", "--hard")
	s.write("new", "untracked\n")
	_, err = r.HoldCheckout(t.Context(), s.dir, from, to)
	require.ErrorAs(t, err, &dirty)
	require.Contains(t, dirty.Reason, "new")
	left, err := filepath.Glob(filepath.Join(s.dir, ".git", "index*"))
	require.NoError(t, err)
	require.Equal(t, []string{filepath.Join(s.dir, ".git", "index")}, left)

	lock := filepath.Join(s.dir, ".git", "index.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o600))
	stale, err := r.ReleaseStale(t.Context(), s.dir)
	require.NoError(t, err)
	require.False(t, stale, "git's own lock is nobody's business")
	require.NoError(t, os.WriteFile(lock, []byte("patchd 999999999\n"), 0o600))
	stale, err = r.ReleaseStale(t.Context(), s.dir)
	require.NoError(t, err)
	require.True(t, stale)
	require.NoFileExists(t, lock)
}

func TestACheckoutFollowsLateWhereItsUpdateWasCutShort(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	from := s.commit(map[string]string{"a": "1\n", "b": "1\n", "c": "1\n"})
	to := s.commit(map[string]string{"a": "2\n", "b": "2\n", "new": "n\n"})
	s.git("reset", "-q", "--hard", string(from))
	r := s.open()
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/heads/main", Old: from, New: to}}))
	var dirty *git.DirtyCheckoutError
	s.write("new", "mine\n")
	require.ErrorAs(t, r.FollowLate(t.Context(), s.dir, from, to), &dirty)
	require.Equal(t, "mine\n", s.read("new"))
	s.write("new", "n\n")
	s.write("b", "mine\n")
	require.ErrorAs(t, r.FollowLate(t.Context(), s.dir, from, to), &dirty)
	require.Equal(t, "mine\n", s.read("b"))
	s.write("b", "2\n") // as it becomes; a is as it was
	s.write("c", "mine, and nobody's business\n")
	require.NoError(t, r.FollowLate(t.Context(), s.dir, from, to))
	require.Equal(t, "2\n", s.read("a"))
	require.Equal(t, " M c", s.git("status", "--porcelain"))
	require.NoError(t, r.FollowLate(t.Context(), s.dir, from, to), "again changes nothing")
}

func TestAHoldIsRespectedByTheLivingAndTakenFromTheDead(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	from := s.commit(map[string]string{"a": "1\n"})
	to := s.commit(map[string]string{"a": "2\n"})
	s.git("reset", "-q", "--hard", string(from))
	r, second := s.open(), s.open()
	first, err := r.HoldCheckout(t.Context(), s.dir, from, to)
	require.NoError(t, err)
	stale, err := second.ReleaseStale(t.Context(), s.dir)
	require.NoError(t, err)
	require.False(t, stale, "its holder is alive, in this very process")
	_, err = second.HoldCheckout(t.Context(), s.dir, from, to)
	var dirty *git.DirtyCheckoutError
	require.ErrorAs(t, err, &dirty)
	require.True(t, dirty.Busy)
	require.NoError(t, first.Release())

	for _, left := range []string{"patchd 999999999 x\n", fmt.Sprintf("patchd %d another process of this number\n", os.Getpid())} {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, ".git", "index.lock"), []byte(left), 0o600))
		h, err := r.HoldCheckout(t.Context(), s.dir, from, to)
		require.NoError(t, err)
		require.NoError(t, h.Release())
	}
}
