package diff

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestMerge3(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, base, ours, theirs, want string
		markers                        bool
	}{
		{"edits that lie apart", "a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n", false},
		{"adjacent lines merge without markers", "a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n", false},
		{"an insertion stands before the abutting replacement", "a\nb\n", "a\nx\nb\n", "a\nB\n", "a\nx\nB\n", false},
		{"the same edit counts once", "a\nb\n", "A\nb\n", "A\nb\n", "A\nb\n", false},
		{
			"one line, two versions", "a\nb\nc\n", "a\nO\nc\n", "a\nT\nc\n",
			"a\n<<<<<<< ours\nO\n=======\nT\n>>>>>>> theirs\nc\n", true,
		},
		{
			"two insertions at one gap share their ends", "a\n", "a\nx\no\ny\n", "a\nx\nt\ny\n",
			"a\nx\n<<<<<<< ours\no\n=======\nt\n>>>>>>> theirs\ny\n", true,
		},
		{
			"no final newline, markers on their own lines", "a", "o", "t",
			"<<<<<<< ours\no\n=======\nt\n>>>>>>> theirs\n", true,
		},
		{
			"both sides create", "", "o\n", "t\n",
			"<<<<<<< ours\no\n=======\nt\n>>>>>>> theirs\n", true,
		},
		{
			"CRLF markers in a CRLF file", "a\r\n", "o\r\n", "t\r\n",
			"<<<<<<< ours\r\no\r\n=======\r\nt\r\n>>>>>>> theirs\r\n", true,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, markers := Merge3(lines(c.base), lines(c.ours), lines(c.theirs), DefaultLabels())
			require.Equal(t, c.want, string(got))
			require.Equal(t, c.markers, markers)
		})
	}
}

func TestMerge3IsSymmetric(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		base, ours, theirs := text("abc", 12).Draw(t, "base"), text("abc", 12).Draw(t, "ours"), text("abc", 12).Draw(t, "theirs")
		one, m1 := Merge3(base, ours, theirs, DefaultLabels())
		two, m2 := Merge3(base, theirs, ours, Labels{Ours: "theirs", Theirs: "ours"})
		require.Equal(t, m1, m2)
		if !m1 {
			require.Equal(t, string(one), string(two))
		}
		require.Equal(t, m1, strings.Contains(string(one), "<<<<<<< "))
		same, marked := Merge3(base, ours, base, DefaultLabels())
		require.Equal(t, string(Join(ours)), string(same))
		require.False(t, marked)
	})
}
