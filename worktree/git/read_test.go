package git_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestReadingSaysWhatIsMissingWrongOrTooLarge(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	head := s.commit(map[string]string{"a": strings.Repeat("long line\n", 200)})
	r := openAt(t, s.dir, git.Options{MaxObjectBytes: 1000})
	var missing *git.MissingError
	_, err := r.ReadCommit(t.Context(), git.OID(strings.Repeat("12", 20)))
	require.ErrorAs(t, err, &missing)
	var wrong *git.TypeError
	_, err = r.ReadTree(t.Context(), head)
	require.ErrorAs(t, err, &wrong)
	require.Equal(t, git.TypeCommit, wrong.Got)
	_, err = r.ReadBlob(t.Context(), s.oid("HEAD^{tree}"))
	require.ErrorAs(t, err, &wrong)
	var large *git.LimitError
	_, err = r.ReadBlob(t.Context(), s.oid("HEAD:a"))
	require.ErrorAs(t, err, &large)
	require.EqualValues(t, 2000, large.Size)
	kind, size, err := r.Stat(t.Context(), s.oid("HEAD:a"))
	require.NoError(t, err)
	require.Equal(t, git.TypeBlob, kind)
	require.EqualValues(t, 2000, size)
	for _, id := range []git.OID{"", "HEAD", "main", head[:10], git.OID(strings.ToUpper(string(head)))} {
		_, err = r.Read(t.Context(), id)
		require.ErrorContains(t, err, "not a full object id")
	}
	_, err = r.ReadCommit(t.Context(), head)
	require.NoError(t, err, "the pool serves on after errors")
}

func TestObjectsThatOthersWriteAreSeen(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.commit(map[string]string{"a": "1"})
	r := s.open()
	_, err := r.ReadCommit(t.Context(), s.oid("HEAD"))
	require.NoError(t, err)
	loose := s.commit(map[string]string{"a": "2"})
	_, err = r.ReadCommit(t.Context(), loose)
	require.NoError(t, err)
	packed := s.commit(map[string]string{"a": "3"})
	s.git("repack", "-q", "-a", "-d")
	_, err = r.ReadCommit(t.Context(), packed)
	require.NoError(t, err)
	_, err = r.ReadBlob(t.Context(), s.oid("HEAD~2:a"))
	require.NoError(t, err, "an old pack that vanished is no loss")
}

func TestCancelledReadsLeaveNoAnswerBehind(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	var ids []git.OID
	for i := range 20 {
		content := strings.Repeat(strconv.Itoa(i), 100_000)
		ids = append(ids, git.OID(s.gitIn(content, "hash-object", "-w", "--stdin")))
	}
	r := openAt(t, s.dir, git.Options{CacheBytes: 1})
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(t.Context())
				if i%3 == 0 {
					go cancel()
				}
				id := ids[(i+worker)%len(ids)]
				data, err := r.ReadBlob(ctx, id)
				if err == nil && git.HashObject(git.TypeBlob, data) != id {
					t.Errorf("%s: wrong bytes", id)
				}
				cancel()
			}
		})
	}
	group.Wait()
	for _, id := range ids {
		_, err := r.ReadBlob(t.Context(), id)
		require.NoError(t, err)
	}
}

func TestAReaderThatDiesIsReplaced(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	head := s.commit(map[string]string{"a": "1"})
	r := openAt(t, s.dir, git.Options{Readers: 1, CacheBytes: 1})
	_, err := r.Read(t.Context(), head)
	require.NoError(t, err)
	before := r.Processes()
	for _, pid := range childrenNamed(t, "cat-file", r) {
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
	object, err := r.Read(t.Context(), head)
	require.NoError(t, err)
	require.Equal(t, head, object.OID)
	require.Equal(t, before+1, r.Processes())
}

// childrenNamed finds our own children by an argument and by the repository that they read.
func childrenNamed(t *testing.T, argument string, r *git.Repo) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("needs /proc")
	}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		args, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "cmdline"))
		env, _ := os.ReadFile(filepath.Join("/proc", entry.Name(), "environ"))
		if bytes.Contains(args, []byte(argument)) && bytes.Contains(env, []byte("GIT_OBJECT_DIRECTORY="+r.CommonDir()+"/")) {
			pids = append(pids, pid)
		}
	}
	require.NotEmpty(t, pids)
	return pids
}

func TestAReplacedObjectIsReadAsItIs(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	one := s.commit(map[string]string{"a": "1"})
	two := s.commit(map[string]string{"a": "2"})
	s.git("replace", string(two), string(one))
	require.Equal(t, "1", s.git("show", string(two)+":a"), "plain git is fooled")
	r := s.open()
	commit, err := r.ReadCommit(t.Context(), two)
	require.NoError(t, err)
	require.Equal(t, []git.OID{one}, commit.Parents)
}

func TestACorruptObjectIsAnError(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.commit(map[string]string{"a": "1", "b": "2"})
	a, b := s.git("rev-parse", "HEAD:a"), s.git("rev-parse", "HEAD:b")
	file := func(id string) string { return filepath.Join(s.dir, ".git/objects", id[:2], id[2:]) }
	data, err := os.ReadFile(file(b))
	require.NoError(t, err)
	require.NoError(t, os.Remove(file(a)))
	require.NoError(t, os.WriteFile(file(a), data, 0o444))
	_, err = s.open().ReadBlob(t.Context(), git.OID(a))
	require.Error(t, err)
}

func TestAncestryIsGits(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	root := s.commit(map[string]string{"a": "1"})
	s.git("checkout", "-q", "-b", "side")
	side := s.commit(map[string]string{"side": "1"})
	s.git("checkout", "-q", "main")
	left := s.commit(map[string]string{"a": "2"})
	s.git("merge", "-q", "--no-ff", "-m", "merge", "side")
	tip := s.oid("HEAD")
	s.git("checkout", "-q", "--orphan", "other")
	orphan := s.commit(map[string]string{"o": "1"})
	r := s.open()
	for _, c := range []struct {
		a, b git.OID
		want bool
	}{{root, tip, true}, {side, tip, true}, {left, tip, true}, {tip, tip, true}, {tip, root, false}, {orphan, tip, false}, {root, orphan, false}, {left, side, false}} {
		for range 2 {
			got, err := r.IsAncestor(t.Context(), c.a, c.b)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		}
	}
	_, err := r.IsAncestor(t.Context(), git.OID(strings.Repeat("1", 40)), tip)
	require.Error(t, err)
	chain, found, err := r.FirstParents(t.Context(), tip, root, 10)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, []git.OID{tip, left}, chain)
	chain, found, err = r.FirstParents(t.Context(), tip, side, 10)
	require.NoError(t, err)
	require.False(t, found)
	require.Equal(t, []git.OID{tip, left, root}, chain)
	chain, found, err = r.FirstParents(t.Context(), tip, root, 1)
	require.NoError(t, err)
	require.False(t, found)
	require.Len(t, chain, 1)
	chain, found, err = r.FirstParents(t.Context(), tip, tip, 0)
	require.NoError(t, err)
	require.True(t, found)
	require.Empty(t, chain)
}
