package worktree

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"patchd/worktree/git"
)

var stamp = time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)

const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

// edit replaces in a text and insists that something was replaced.
func edit(text string, pairs ...string) string {
	out := strings.NewReplacer(pairs...).Replace(text)
	if out == text {
		panic("nothing replaced in " + text)
	}
	return out
}

func TestRebaseReasons(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("some line of text\n", 3) + ten
	commitID := func(c string) string { return "sub:" + strings.Repeat(c, 40) }
	for _, c := range []struct {
		name                string
		base, patch, target files
		want                []string // reasons
		tree                files    // the composed tree; nil when there is none
		git                 bool     // git is asked
	}{
		{"disjoint files are spliced without git", files{"a": "1\n", "b": "1\n"}, files{"a": "2\n", "b": "1\n"}, files{"a": "1\n", "b": "2\n"}, nil, files{"a": "2\n", "b": "2\n"}, false},
		{"edits that lie apart are applied at once", files{"a": ten}, files{"a": edit(ten, "2\n", "two\n")}, files{"a": edit(ten, "8\n", "eight\n")}, nil, files{"a": edit(ten, "2\n", "two\n", "8\n", "eight\n")}, true},
		{"same line", files{"a": ten}, files{"a": edit(ten, "2\n", "x\n")}, files{"a": edit(ten, "2\n", "y\n")}, []string{"same_lines a"}, nil, false},
		{"adjacent lines", files{"a": ten}, files{"a": edit(ten, "2\n", "x\n")}, files{"a": edit(ten, "3\n", "y\n")}, []string{"adjacent_lines a"}, files{"a": edit(ten, "2\n", "x\n", "3\n", "y\n")}, false},
		{"two insertions at one gap", files{"a": ten}, files{"a": edit(ten, "2\n", "2\nx\n")}, files{"a": edit(ten, "2\n", "2\ny\n")}, []string{"same_lines a"}, nil, false},
		{"insertion beside a replaced line", files{"a": ten}, files{"a": edit(ten, "2\n", "2\nx\n")}, files{"a": edit(ten, "2\n", "y\n")}, []string{"adjacent_lines a"}, files{"a": edit(ten, "2\n", "y\nx\n")}, false},
		{"the same edit counts once", files{"a": ten}, files{"a": edit(ten, "2\n", "x\n", "9\n", "z\n")}, files{"a": edit(ten, "2\n", "x\n")}, nil, files{"a": edit(ten, "2\n", "x\n", "9\n", "z\n")}, true},
		{"partly equal", files{"a": ten}, files{"a": edit(ten, "2\n", "x\ny\n")}, files{"a": edit(ten, "2\n", "x\n")}, []string{"same_lines a"}, nil, false},
		{"all edits landed", files{"a": ten, "b": "1\n"}, files{"a": edit(ten, "2\n", "x\n"), "b": "1\n"}, files{"a": edit(ten, "2\n", "x\n"), "b": "2\n"}, nil, files{"a": edit(ten, "2\n", "x\n"), "b": "2\n"}, false},
		{
			"an insertion that slides up to the other's edit",
			files{"a": "1\nx\nx\nx\nx\n2\n3\n"},
			files{"a": "1\nx\nx\nx\nx\nx\n2\n3\n"},
			files{"a": "one\nx\nx\nx\nx\n2\n3\n"},
			[]string{"placement_ambiguous a"},
			files{"a": "one\nx\nx\nx\nx\nx\n2\n3\n"},
			true,
		},
		{"both add, differently", files{"z": "1\n"}, files{"z": "1\n", "a": "1\n"}, files{"z": "1\n", "a": "2\n"}, []string{"add_add a"}, nil, false},
		{"both add alike", files{"z": "1\n"}, files{"z": "2\n", "a": "1\n"}, files{"z": "1\n", "a": "1\n"}, nil, files{"z": "2\n", "a": "1\n"}, false},
		{"added in another case", files{"z": "1\n"}, files{"z": "1\n", "A": "1\n"}, files{"z": "1\n", "a": "1\n"}, []string{"add_add A"}, nil, false},
		{"added in another normalisation", files{"z": "1\n"}, files{"z": "1\n", "\u00e4": "1\n"}, files{"z": "1\n", "a\u0308": "1\n"}, []string{"add_add a\u0308"}, nil, false},
		{"added under a file", files{"z": "1\n"}, files{"z": "1\n", "a/b": "1\n"}, files{"z": "1\n", "a": "1\n"}, []string{"add_add a"}, nil, false},
		{"added over a directory", files{"z": "1\n"}, files{"z": "1\n", "a": "1\n"}, files{"z": "1\n", "a/b": "1\n"}, []string{"add_add a"}, nil, false},
		{"modified and deleted", files{"a": ten, "z": "1\n"}, files{"a": edit(ten, "2\n", "x\n"), "z": "1\n"}, files{"z": "1\n"}, []string{"modify_delete a"}, nil, false},
		{"deleted and modified", files{"a": ten, "z": "1\n"}, files{"z": "1\n"}, files{"a": edit(ten, "2\n", "x\n"), "z": "1\n"}, []string{"modify_delete a"}, nil, false},
		{"both delete", files{"a": ten, "z": "1\n"}, files{"z": "2\n"}, files{"z": "1\n"}, nil, files{"z": "2\n"}, false},
		{"renamed and deleted", files{"a": ten, "z": "1\n"}, files{"b": ten, "z": "1\n"}, files{"z": "1\n"}, []string{"modify_delete a"}, nil, false},
		{"renamed twice", files{"a": ten, "z": "1\n"}, files{"b": ten, "z": "1\n"}, files{"c": ten, "z": "1\n"}, []string{"rename_rename a"}, nil, false},
		{"renamed alike", files{"a": ten, "z": "1\n"}, files{"b": ten, "z": "1\n"}, files{"b": ten, "z": "2\n"}, nil, files{"b": ten, "z": "2\n"}, false},
		{"renamed alike, edited apart", files{"a": ten}, files{"b": edit(ten, "2\n", "x\n")}, files{"b": edit(ten, "9\n", "y\n")}, nil, files{"b": edit(ten, "2\n", "x\n", "9\n", "y\n")}, true},
		{"renamed here, edited there", files{"a": ten}, files{"b": ten}, files{"a": edit(ten, "9\n", "y\n")}, []string{"file_renamed a"}, files{"b": edit(ten, "9\n", "y\n")}, true},
		{"edited here, renamed there", files{"a": ten}, files{"a": edit(ten, "9\n", "y\n")}, files{"b": edit(ten, "2\n", "x\n")}, []string{"file_renamed a"}, files{"b": edit(ten, "2\n", "x\n", "9\n", "y\n")}, true},
		{"renamed and edited on one line", files{"a": ten}, files{"a": edit(ten, "9\n", "y\n")}, files{"b": edit(ten, "9\n", "x\n")}, []string{"file_renamed a", "same_lines a"}, nil, false},
		{
			"added under a directory that moved away",
			files{"old/a": ten, "old/b": long},
			files{"old/a": ten, "old/b": long, "old/c": "1\n"},
			files{"new/a": ten, "new/b": long},
			[]string{"file_renamed old/c"},
			files{"new/a": ten, "new/b": long, "old/c": "1\n"},
			false,
		},
		{
			"the patch moves a directory away, the target adds to it",
			files{"old/a": ten, "old/b": long},
			files{"new/a": ten, "new/b": long},
			files{"old/a": ten, "old/b": long, "old/c": "1\n"},
			[]string{"file_renamed old/c"},
			files{"new/a": ten, "new/b": long, "old/c": "1\n"},
			false,
		},
		{"renamed onto what the other adds", files{"a": ten}, files{"b": ten}, files{"a": ten, "b": "1\n"}, []string{"add_add b"}, nil, false},
		{"binary", files{"a": "\x00 1"}, files{"a": "\x00 2"}, files{"a": "\x00 3"}, []string{"binary a"}, nil, false},
		{"mode and content", files{"a": ten}, files{"a": "exec:" + ten}, files{"a": edit(ten, "2\n", "x\n")}, nil, files{"a": "exec:" + edit(ten, "2\n", "x\n")}, true},
		{"file to link, and edited", files{"a": ten}, files{"a": "link:b"}, files{"a": edit(ten, "2\n", "x\n")}, []string{"mode a"}, nil, false},
		{"link pointed elsewhere twice", files{"a": "link:b"}, files{"a": "link:c"}, files{"a": "link:d"}, []string{"same_lines a"}, nil, false},
		{"submodule", files{"a": commitID("1")}, files{"a": commitID("2")}, files{"a": commitID("3")}, []string{"submodule a"}, nil, false},
		{"submodule moved by one side", files{"a": commitID("1"), "z": "1\n"}, files{"a": commitID("2"), "z": "1\n"}, files{"a": commitID("1"), "z": "2\n"}, nil, files{"a": commitID("2"), "z": "2\n"}, false},
		{"a file becomes a directory, untouched there", files{"a": "1\n", "z": "1\n"}, files{"a/b": "1\n", "z": "1\n"}, files{"a": "1\n", "z": "2\n"}, nil, files{"a/b": "1\n", "z": "2\n"}, false},
		{"a file changes its case, untouched there", files{"a": ten, "z": "1\n"}, files{"A": ten, "z": "1\n"}, files{"a": ten, "z": "2\n"}, nil, files{"A": ten, "z": "2\n"}, false},
		{"emptied and filled", files{"a": ""}, files{"a": "1\n"}, files{"a": "2\n"}, []string{"same_lines a"}, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			base, patch, target := w.tree(c.base), w.tree(c.patch), w.tree(c.target)
			got := w.rebase(Rules{}, base, patch, target)
			require.Equal(t, c.want, codes(got.Reasons))
			require.Equal(t, c.git, got.AskedGit)
			if c.tree == nil {
				require.Empty(t, got.Tree)
				require.True(t, got.HasMarkers())
			} else {
				require.Equal(t, c.tree, w.read(got.Tree))
				require.False(t, got.HasMarkers())
			}
			require.Equal(t, got.Tree == target, got.AlreadyLanded)
			for _, r := range got.Reasons {
				require.NotEmpty(t, got.Files, "every reason has its mechanical merge: %v", r)
			}
			swapped := w.rebase(Rules{}, base, target, patch)
			require.ElementsMatch(t, codes(got.Reasons), codes(swapped.Reasons), "swapping the sides changes nothing")
			require.Equal(t, got.Tree, swapped.Tree)
		})
	}
}

func TestReasonsNameLinesOfBaseAndTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.tree(files{"a": ten})
	got := w.rebase(Rules{}, base, w.tree(files{"a": edit(ten, "5\n", "five\n")}), w.tree(files{"a": edit(ten, "2\n", "2\n2a\n2b\n", "5\n6\n", "six\n")}))
	require.Len(t, got.Reasons, 1)
	require.Equal(t, [2]int{5, 6}, got.Reasons[0].BaseLines)
	require.Equal(t, [2]int{7, 7}, got.Reasons[0].TargetLines)
	got = w.rebase(Rules{}, base, w.tree(files{"a": "0\n" + ten}), w.tree(files{"a": "zero\n" + ten}))
	require.Equal(t, [2]int{1, 1}, got.Reasons[0].BaseLines, "the gap before the first line abuts line 1")
	require.Equal(t, [2]int{1, 1}, got.Reasons[0].TargetLines)
}

func TestSinceBaseEditsAreReadCommitByCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.tree(files{"a": ten})
	there := w.tree(files{"a": edit(ten, "2\n", "two\n")})
	last := w.tree(files{"a": edit(ten, "8\n", "eight\n")})
	got := w.rebase(Rules{}, base, w.tree(files{"a": edit(ten, "2\n", "x\n")}), there, last)
	require.Empty(t, got.Reasons, "an edit that was taken back is dropped")
	require.Equal(t, files{"a": edit(ten, "2\n", "x\n", "8\n", "eight\n")}, w.read(got.Tree))
}

func TestSinceOffTheFirstParentChainIsOneDifference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base, other := w.tree(files{"a": ten}), w.tree(files{"a": edit(ten, "8\n", "x\n")})
	a := w.commit(base)
	side := w.commit(other)
	merge := w.commit(other, side, a)
	s, err := ReadSince(t.Context(), w.ov, a, merge)
	require.NoError(t, err)
	require.Equal(t, SinceAggregate, s.Kind)
	require.Empty(t, s.Chain)
	straight, err := ReadSince(t.Context(), w.ov, a, w.commit(other, a))
	require.NoError(t, err)
	require.Equal(t, SinceCommits, straight.Kind)
	require.Len(t, straight.Chain, 1)
}

func TestMergeCandidatesHaveMarkersOnlyWhereLinesOverlap(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.tree(files{"a": ten, "b": ten, "c": "\x001"})
	got := w.rebase(Rules{}, base,
		w.tree(files{"a": edit(ten, "2\n", "x\n"), "b": edit(ten, "2\n", "x\n"), "c": "\x002"}),
		w.tree(files{"a": edit(ten, "2\n", "y\n"), "b": edit(ten, "3\n", "y\n"), "c": "\x003"}))
	require.Equal(t, []string{"same_lines a", "adjacent_lines b", "binary c"}, codes(got.Reasons))
	require.Len(t, got.Files, 3)
	require.Equal(t, "1\n<<<<<<< ours\nx\n=======\ny\n>>>>>>> theirs\n"+ten[4:], string(got.Files[0].Content))
	require.True(t, got.Files[0].HasMarkers)
	require.Equal(t, edit(ten, "2\n", "x\n", "3\n", "y\n"), string(got.Files[1].Content))
	require.False(t, got.Files[1].HasMarkers)
	require.True(t, got.Files[2].Whole)
	require.Empty(t, got.Tree)
}

func TestUnmergeablePathsOfTheTarget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	attributes := "*.lock -merge\nsub/*.bin binary\n"
	base := w.tree(files{"a.lock": ten, "sub/x.bin": ten, "b": ten, ".gitattributes": attributes})
	patch := w.tree(files{"a.lock": edit(ten, "2\n", "x\n"), "sub/x.bin": edit(ten, "2\n", "x\n"), "b": edit(ten, "2\n", "x\n"), ".gitattributes": attributes})
	target := w.tree(files{"a.lock": edit(ten, "9\n", "x\n"), "sub/x.bin": edit(ten, "9\n", "x\n"), "b": edit(ten, "9\n", "x\n"), ".gitattributes": attributes})
	got := w.rebase(Rules{Unmergeable: NewAttributes(w.ov, target).Unmergeable}, base, patch, target)
	require.Equal(t, []string{"binary a.lock", "binary sub/x.bin"}, codes(got.Reasons))
}

func TestOnlyWhatThePatchMeetsIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	base := w.tree(files{"a": ten, "d/b": ten})
	missing := git.Entry{Mode: git.ModeFile, OID: git.OID(strings.Repeat("1", 40))}
	target, err := git.EditTree(t.Context(), w.ov, base, []git.TreeEdit{{Path: "d/b", Entry: missing}, {Path: "d/n", Entry: missing}})
	require.NoError(t, err)
	got := w.rebase(Rules{}, base, w.tree(files{"a": "x\n", "d/b": ten}), target)
	require.Empty(t, got.Reasons)
	require.False(t, got.AskedGit)
}
