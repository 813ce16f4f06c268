package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestReferenceNamesAreJudgedAsGitDoes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	for _, name := range []string{
		"refs/heads/main", "refs/heads/a/b", "refs/heads/-x", "refs/heads/a..b", "refs/heads/.a", "refs/heads/a.", "refs/heads/a.lock",
		"refs/heads/a.lock/b", "refs/heads//b", "refs/heads/", "refs/heads/a b", "refs/heads/a~1", "refs/heads/a^", "refs/heads/a:b",
		"refs/heads/a?", "refs/heads/a*", "refs/heads/a[", "refs/heads/a\\b", "refs/heads/@{x", "refs/heads/@", "refs/heads/ü", "refs/heads/a\x7f",
	} {
		_, err := s.try("", "check-ref-format", name)
		require.Equal(t, err == nil, git.Ref(name).Valid(), "%q", name)
	}
	for _, name := range []git.Ref{"main", "", "-main", "heads/main", "../refs/heads/main"} {
		require.False(t, name.Valid(), "%q", name)
	}
}

func TestReferencesAreReadByExactName(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	_, found, err := r.Resolve(t.Context(), "HEAD")
	require.NoError(t, err)
	require.False(t, found, "a branch without commits")
	one := s.commit(map[string]string{"a": "1"})
	s.git("branch", "packed/one")
	s.git("tag", "-m", "annotated", "v1")
	s.git("pack-refs", "--all")
	two := s.commit(map[string]string{"a": "2"})
	s.git("symbolic-ref", "refs/heads/alias", "refs/heads/packed/one")
	s.git("branch", string(two), string(one))
	for ref, want := range map[git.Ref]git.OID{
		"HEAD": two, "refs/heads/main": two, "refs/heads/packed/one": one, "refs/heads/alias": one,
		"refs/tags/v1": s.oid("v1"), "refs/heads/mai": "", "refs/heads/packed": "", "refs/heads/main/x": "", "refs/main": "",
		git.Ref("refs/heads/" + two): one,
	} {
		got, found, err := r.Resolve(t.Context(), ref)
		require.NoError(t, err, "%s", ref)
		require.Equal(t, want != "", found, "%s", ref)
		require.Equal(t, want, got, "%s", ref)
	}
	_, _, err = r.Resolve(t.Context(), "main")
	require.Error(t, err)
	heads, err := r.ListRefs(t.Context(), "refs/heads/")
	require.NoError(t, err)
	require.Len(t, heads, 4)
	require.Equal(t, git.RefValue{Ref: "refs/heads/alias", OID: one}, heads[1])
	packed, err := r.ListRefs(t.Context(), "refs/heads/packed/o")
	require.NoError(t, err)
	require.Equal(t, []git.RefValue{{Ref: "refs/heads/packed/one", OID: one}}, packed)
	none, err := r.ListRefs(t.Context(), "refs/patchd/")
	require.NoError(t, err)
	require.Empty(t, none)
	require.EqualValues(t, 2, r.Processes(), "reading references starts no process")
	s.git("symbolic-ref", "refs/heads/loop", "refs/heads/loop")
	_, _, err = r.Resolve(t.Context(), "refs/heads/loop")
	require.Error(t, err)
}

func TestAStampFollowsTheReference(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	r := s.open()
	stamp := func() string {
		got, err := r.RefStamp(t.Context(), "refs/heads/main")
		require.NoError(t, err)
		return got
	}
	require.Empty(t, stamp())
	s.commit(map[string]string{"a": "1"})
	first := stamp()
	require.NotEmpty(t, first)
	s.git("pack-refs", "--all")
	require.Equal(t, first, stamp())
	s.commit(map[string]string{"a": "2"})
	second := stamp()
	require.NotEqual(t, first, second)
	s.git("pack-refs", "--all")
	require.Equal(t, second, stamp())
	s.git("update-ref", "-d", "refs/heads/main")
	require.Empty(t, stamp())
}

func TestAReferenceTransactionIsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	one := s.commit(map[string]string{"a": "1"})
	two := s.commit(map[string]string{"a": "2"})
	hook := filepath.Join(s.dir, ".git/hooks/reference-transaction")
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\necho ran >> "+s.dir+"/hook-ran\nexit 1\n"), 0o755))
	_, err := s.try("", "update-ref", "refs/heads/x", string(one))
	require.Error(t, err, "the hook stops plain git")
	require.NoError(t, os.Remove(filepath.Join(s.dir, "hook-ran")))
	r := s.open()
	require.NoError(t, r.UpdateRefs(t.Context(), nil))
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{
		{Ref: "refs/patchd/a", Old: git.ZeroOID, New: one}, {Ref: "refs/patchd/b", New: one}, {Ref: "refs/heads/main", Old: two},
	}))
	err = r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/b", Old: one, New: two}, {Ref: "refs/patchd/a", Old: git.ZeroOID, New: two}})
	var conflict *git.RefConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, git.RefConflictError{Ref: "refs/patchd/a", Want: git.ZeroOID, Got: one}, *conflict)
	err = r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/b", Old: two, New: one}})
	require.ErrorAs(t, err, &conflict)
	err = r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/c", Old: one, New: git.ZeroOID}})
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, git.ZeroOID, conflict.Got)
	err = r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/b", Old: one, New: two}, {Ref: "refs/heads/main", Old: one}})
	require.ErrorAs(t, err, &conflict)
	got, _, err := r.Resolve(t.Context(), "refs/patchd/b")
	require.NoError(t, err)
	require.Equal(t, one, got)
	require.NoError(t, r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/a", Old: one, New: git.ZeroOID}, {Ref: "refs/patchd/b", Old: one, New: two}}))
	list, err := r.ListRefs(t.Context(), "refs/patchd/")
	require.NoError(t, err)
	require.Equal(t, []git.RefValue{{Ref: "refs/patchd/b", OID: two}}, list)
	require.NoFileExists(t, filepath.Join(s.dir, "hook-ran"))
	err = r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/n", New: git.OID(strings.Repeat("1", 40))}})
	var failed *git.CommandError
	require.ErrorAs(t, err, &failed, "an object that does not exist")
	for _, bad := range []git.RefUpdate{{Ref: "main", New: one}, {Ref: "HEAD", New: one}, {Ref: "refs/x", New: "HEAD"}, {Ref: "refs/x", New: one, Old: one[:8]}} {
		require.Error(t, r.UpdateRefs(t.Context(), []git.RefUpdate{bad}))
	}
}

func TestAHeldLockIsNamed(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	one := s.commit(map[string]string{"a": "1"})
	r := s.open()
	lock := filepath.Join(s.dir, ".git/refs/heads/x.lock")
	require.NoError(t, os.WriteFile(lock, nil, 0o644))
	update := []git.RefUpdate{{Ref: "refs/heads/x", Old: git.ZeroOID, New: one}}
	var locked *git.LockedError
	require.ErrorAs(t, r.UpdateRefs(t.Context(), update), &locked)
	require.Equal(t, lock, locked.Path)
	locks, err := r.StaleLocks()
	require.NoError(t, err)
	require.Equal(t, []string{lock}, locks)
	require.Error(t, r.RemoveLock(filepath.Join(s.dir, "a.lock")))
	require.Error(t, r.RemoveLock(filepath.Join(s.dir, ".git/HEAD")))
	require.NoError(t, r.RemoveLock(lock))
	require.NoError(t, r.UpdateRefs(t.Context(), update))
}

func TestOfManySwapsOneWins(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	one := s.commit(map[string]string{"a": "1"})
	r := s.open()
	var won atomic.Int64
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if r.UpdateRefs(t.Context(), []git.RefUpdate{{Ref: "refs/patchd/swap", Old: git.ZeroOID, New: one}}) == nil {
				won.Add(1)
			}
		})
	}
	group.Wait()
	require.EqualValues(t, 1, won.Load())
}
