package git_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

const someBlob = git.OID("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")

func entry(name string, mode git.Mode) git.TreeEntry {
	return git.TreeEntry{Name: name, Entry: git.Entry{Mode: mode, OID: someBlob}}
}

func TestATreeIsEncodedAsGitDoes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.gitIn("", "hash-object", "-w", "--stdin")
	sub := s.tree(map[string]string{"x": "1"})
	want := s.gitIn("100644 blob "+string(someBlob)+"\ta-b\n040000 tree "+string(sub)+"\ta\n100755 blob "+string(someBlob)+"\ta0\n"+
		"120000 blob "+string(someBlob)+"\tlink\n", "mktree")
	tree := git.Tree{entry("a0", git.ModeExecutable), entry("link", git.ModeSymlink), entry("a-b", git.ModeFile), {Name: "a", Entry: git.Entry{Mode: git.ModeTree, OID: sub}}}
	o := git.NewOverlay(nil)
	id, err := o.PutTree(tree)
	require.NoError(t, err)
	require.Equal(t, git.OID(want), id)
	r := s.open()
	read, err := r.ReadTree(t.Context(), id)
	require.NoError(t, err)
	mine, err := o.ReadTree(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, mine, read)
	found, ok := read.Find("a")
	require.True(t, ok)
	require.Equal(t, sub, found.OID)
	_, ok = read.Find("a.b")
	require.False(t, ok)
}

func TestAMalformedTreeIsRefused(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("\x01", 20)
	for name, data := range map[string]string{
		"no id":                 "100644 a\x00" + id[:19],
		"no space":              "100644a\x00" + id,
		"mode is no octal":      "1006x4 a\x00" + id,
		"mode of a device":      "020644 a\x00" + id,
		"mode is empty":         " a\x00" + id,
		"mode is long":          "0000000000100644 a\x00" + id,
		"name is empty":         "100644 \x00" + id,
		"name holds a slash":    "100644 a/b\x00" + id,
		"name is dots":          "40000 ..\x00" + id,
		"order":                 "100644 b\x00" + id + "100644 a\x00" + id,
		"twice":                 "100644 a\x00" + id + "100644 a\x00" + id,
		"file and directory":    "100644 a\x00" + id + "40000 a\x00" + id,
		"the same, far between": "100644 a\x00" + id + "100644 a.b\x00" + id + "40000 a\x00" + id,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := git.ParseTree([]byte(data))
			var malformed *git.MalformedError
			require.ErrorAs(t, err, &malformed)
		})
	}
	_, err := git.EncodeTree(git.Tree{entry("a", 0o100600)})
	require.Error(t, err)
	_, err = git.EncodeTree(git.Tree{entry("b", git.ModeFile), entry("a", git.ModeFile)})
	require.Error(t, err)
}

func TestOldModesAreReadAsGitReadsThem(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("\x01", 20)
	tree, err := git.ParseTree([]byte("100664 a\x00" + id + "0100755 b\x00" + id + "040000 c\x00" + id))
	require.NoError(t, err)
	require.Equal(t, git.ModeFile, tree[0].Mode)
	require.Equal(t, git.ModeExecutable, tree[1].Mode)
	require.Equal(t, git.ModeTree, tree[2].Mode)
}

func TestACommitIsEncodedAsCommitTreeDoes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	parent := s.commit(map[string]string{"a": "1\n"})
	tree := s.oid("HEAD^{tree}")
	for name, zone := range map[string]*time.Location{"UTC": time.UTC, "half hours": time.FixedZone("", -(3*3600 + 1800)), "east": time.FixedZone("", 14*3600)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			author := git.Signature{Name: "Ünï <x> Code.", Email: "<a@b>", When: time.Unix(1_700_000_123, 0).In(zone)}
			c := git.Commit{Tree: tree, Parents: []git.OID{parent}, Author: author, Committer: author, Message: "title\n\nbody\n"}
			date := "@1700000123 " + author.When.Format("-0700")
			env := s.in(s.dir, "GIT_AUTHOR_NAME="+author.Name, "GIT_AUTHOR_EMAIL="+author.Email, "GIT_AUTHOR_DATE="+date,
				"GIT_COMMITTER_NAME="+author.Name, "GIT_COMMITTER_EMAIL="+author.Email, "GIT_COMMITTER_DATE="+date)
			want := env.gitIn(c.Message, "commit-tree", string(tree), "-p", string(parent))
			require.Equal(t, git.OID(want), git.HashObject(git.TypeCommit, git.EncodeCommit(c)))
			parsed, err := git.ParseCommit("", git.EncodeCommit(c))
			require.NoError(t, err)
			require.Equal(t, git.EncodeCommit(c), git.EncodeCommit(*parsed))
			require.Equal(t, []git.OID{parent}, parsed.Parents)
		})
	}
}

func TestACommitWithASignatureAndAnEncodingIsRead(t *testing.T) {
	t.Parallel()
	data := "tree " + string(git.EmptyTree) + "\nauthor A <a@b> 5 +0100\ncommitter C <c@d> 6 -0130\nencoding latin1\n" +
		"gpgsig -----BEGIN\n \n tree 123\n -----END\nmergetag object 1\n author x\n\nsubject\n\ntree body\n"
	c, err := git.ParseCommit("", []byte(data))
	require.NoError(t, err)
	require.Equal(t, git.EmptyTree, c.Tree)
	require.Equal(t, "subject\n\ntree body\n", c.Message)
	require.Equal(t, "C <c@d> 6 -0130", c.Committer.String())
	for _, bad := range []string{"", "tree 12\n\nx", "author A <a@b> 5 +0100\n\nx", "tree " + string(git.EmptyTree) + "\nparent x\nauthor A <a@b> 5 +0100\ncommitter A <a@b> 5 +0100\n\n"} {
		_, err := git.ParseCommit("", []byte(bad))
		require.Error(t, err, "%q", bad)
	}
}

func FuzzParseTree(f *testing.F) {
	f.Add([]byte("100644 a\x00" + strings.Repeat("\x01", 20)))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree, err := git.ParseTree(data)
		if err != nil {
			return
		}
		encoded, err := git.EncodeTree(tree)
		require.NoError(t, err)
		again, err := git.ParseTree(encoded)
		require.NoError(t, err)
		require.Equal(t, tree, again)
	})
}

func FuzzParseCommit(f *testing.F) {
	f.Add([]byte("tree " + string(git.EmptyTree) + "\nauthor A <a@b> 5 +0100\ncommitter C <c@d> 6 -0130\n\nhi"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = git.ParseCommit("", data) })
}
