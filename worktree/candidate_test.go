package worktree

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

func TestCandidateCommitsAreReproducible(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tree := w.tree(files{"a": "1\n"})
	parent := &git.Commit{OID: git.OID(strings.Repeat("1", 40)), Committer: git.Signature{When: stamp.In(time.FixedZone("", 7200))}}
	meta := CandidateMeta{
		Title: "Mend it", Body: "Because.\n\nIt broke.\n\n", BaseDate: stamp.Add(-time.Hour).In(time.FixedZone("", -3600)),
		Trailers: []Trailer{{TrailerIdentity, "abc"}, {TrailerCheck, "go test ./..."}},
	}
	id := CandidateCommit(w.ov, parent, tree, meta)
	commit, err := w.ov.Read(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "tree "+string(tree)+"\nparent "+string(parent.OID)+
		"\nauthor patchd <patchd@localhost> 1704161045 +0000\ncommitter patchd <patchd@localhost> 1704164646 +0000\n\n"+
		"Mend it\n\nBecause.\n\nIt broke.\n\nPatch-Identity: abc\nRequired-Check: go test ./...\n", string(commit.Data),
		"the author date is the base's, the committer date one second after the parent's, both in UTC")
	meta.Author = git.Signature{Name: "A U Thor", Email: "a@example.org", When: stamp.Add(1000 * time.Hour)}
	other, err := w.ov.ReadCommit(t.Context(), CandidateCommit(w.ov, parent, tree, meta))
	require.NoError(t, err)
	require.Equal(t, "A U Thor", other.Author.Name)
	require.Equal(t, stamp.Add(time.Second).Unix(), other.Committer.When.Unix(), "a date in the future moves no other date")
}

func TestTrailersAreTheLastParagraph(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, message string
		want          []Trailer
	}{
		{"a block", "title\n\nbody\n\nPatch-Identity: abc\nRequired-Check: go test  ./...\n", []Trailer{{"Patch-Identity", "abc"}, {"Required-Check", "go test  ./..."}}},
		{"a title is no block", "Patch-Identity: abc\n", nil},
		{"a paragraph with prose is no block", "title\n\nPatch-Identity: abc\nand more\n", nil},
		{"a block inside the body is not the last", "title\n\nPatch-Identity: abc\n\nbody\n", nil},
		{"a continued line", "title\n\nKey: one\n two\n", []Trailer{{"Key", "one two"}}},
		{"CRLF", "title\r\n\r\nKey: one\r\n", []Trailer{{"Key", "one"}}},
		{"nothing", "", nil},
	} {
		require.Equal(t, c.want, Trailers(c.message), c.name)
	}
}
