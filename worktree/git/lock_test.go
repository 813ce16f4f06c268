package git_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestANewDirectoryIsNeverFoundFree(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	var current atomic.Value
	current.Store(parent)
	done, ended := make(chan struct{}), make(chan bool)
	go func() { // who looks for what killed processes left
		for taken := false; ; {
			select {
			case <-done:
				ended <- taken
				return
			default:
				if lock, err := git.TryLock(filepath.Join(current.Load().(string), "in-use")); err == nil { //nolint:forcetypeassert // a string was stored
					taken = true
					_ = lock.Close()
				}
			}
		}
	}()
	for n := range 300 {
		dir := filepath.Join(parent, strconv.Itoa(n))
		require.NoError(t, os.Mkdir(dir, 0o700))
		current.Store(dir)
		lock, err := git.LockNewDir(dir, "in-use")
		require.NoError(t, err)
		defer func() { require.NoError(t, lock.Close()) }()
	}
	close(done)
	require.False(t, <-ended)
}

func TestALockEndsWithItsHolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "in-use")
	_, err := git.TryLock(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	held, err := git.LockNewDir(dir, "in-use")
	require.NoError(t, err)
	_, err = git.TryLock(path)
	require.Error(t, err)
	require.NoError(t, held.Close())
	require.Eventually(t, func() bool { // a process that is just being started elsewhere holds its files until it runs its program
		again, err := git.TryLock(path)
		return err == nil && again.Close() == nil
	}, 10*time.Second, time.Millisecond)
}
