package worktree_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"patchd/worktree"
	"patchd/worktree/git"
)

func TestLeasesWaitForEachOtherAndNothingIsLeft(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	pool, err := worktree.NewPool(t.Context(), s.repo, s.poolDir, worktree.PoolOptions{Max: 3})
	require.NoError(t, err)
	trees := []git.OID{s.tree(t, someFiles()), s.tree(t, map[string]string{"b": "1"}), s.tree(t, map[string]string{"c/d": "1"})}
	var inUse, most atomic.Int64
	var group sync.WaitGroup
	for i := range 24 {
		group.Go(func() {
			lease, err := pool.Acquire(context.WithoutCancel(t.Context()), worktree.LeaseRequest{Tree: trees[i%3]})
			if err != nil {
				t.Errorf("acquire: %v", err)
				return
			}
			now := inUse.Add(1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
				continue
			}
			_ = os.WriteFile(filepath.Join(lease.Dir(), fmt.Sprint("dirt", i)), nil, 0o644)
			inUse.Add(-1)
			lease.Release()
		})
	}
	group.Wait()
	require.LessOrEqual(t, most.Load(), int64(3))
	held, err := pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: trees[0]})
	require.NoError(t, err)
	short, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, pool.Close(short), context.Canceled, "a lease is still out")
	held.Release()
	_, err = pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: trees[0]})
	require.ErrorIs(t, err, worktree.ErrPoolClosed)
}

func TestClosingLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	pool, err := worktree.NewPool(t.Context(), s.repo, s.poolDir, worktree.PoolOptions{})
	require.NoError(t, err)
	one, two := s.acquire(t, pool, someFiles()), s.acquire(t, pool, someFiles())
	require.NotEqual(t, one.Dir(), two.Dir())
	require.NoError(t, os.Mkdir(filepath.Join(two.Dir(), "closed"), 0))
	one.Release()
	two.Release()
	require.NoError(t, pool.Close(t.Context()))
	require.NoError(t, pool.Close(t.Context()))
	left, err := os.ReadDir(s.poolDir)
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, strings.Split(s.git(t, "worktree", "list"), "\n"), 1)
	require.NoDirExists(t, filepath.Join(s.dir, ".git/worktrees"))
	require.Empty(t, s.git(t, "fsck", "--no-dangling"))
}

func TestAPoolInsideTheCheckoutIsRefused(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	for _, dir := range []string{s.dir, filepath.Join(s.dir, "pool"), filepath.Join(s.dir, ".git", "pool")} {
		_, err := worktree.NewPool(t.Context(), s.repo, dir, worktree.PoolOptions{})
		require.ErrorContains(t, err, "choose a directory outside")
	}
}

func TestWhatAKilledProcessLeftIsRemoved(t *testing.T) {
	t.Parallel()
	s := newPoolSandbox(t)
	living := s.pool(t, worktree.PoolOptions{})
	kept := s.acquire(t, living, someFiles())
	defer kept.Release()
	self, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(self, "-test.run=^TestPoolCrashChild$", "-pool-crash", s.dir+"::"+s.poolDir)
	require.Error(t, child.Run(), "the child kills itself")
	require.Len(t, strings.Split(s.git(t, "worktree", "list"), "\n"), 3)
	s.pool(t, worktree.PoolOptions{})
	require.Len(t, strings.Split(s.git(t, "worktree", "list"), "\n"), 2)
	s.requireHolds(t, kept, someFiles())
	left, err := os.ReadDir(s.poolDir)
	require.NoError(t, err)
	require.Len(t, left, 2)
}

var poolCrash = flag.String("pool-crash", "", "repository and pool of a child process that dies with a lease")

func TestPoolCrashChild(t *testing.T) {
	t.Parallel()
	repoDir, poolDir, found := strings.Cut(*poolCrash, "::")
	if !found {
		t.Skip("runs only as a child process")
	}
	repo, err := git.Open(t.Context(), repoDir, git.Options{Scratch: filepath.Dir(poolDir)})
	require.NoError(t, err)
	pool, err := worktree.NewPool(t.Context(), repo, poolDir, worktree.PoolOptions{})
	require.NoError(t, err)
	head, found, err := repo.Resolve(t.Context(), "HEAD")
	require.NoError(t, err)
	require.True(t, found)
	commit, err := repo.ReadCommit(t.Context(), head)
	require.NoError(t, err)
	_, err = pool.Acquire(t.Context(), worktree.LeaseRequest{Tree: commit.Tree, Commit: head})
	require.NoError(t, err)
	require.NoError(t, unix.Kill(os.Getpid(), unix.SIGKILL))
	select {}
}
