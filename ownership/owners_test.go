package ownership_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/ownership"
)

func replaceOnce(s, from, to string) string { return strings.Replace(s, from, to, 1) }

func TestTheLastOwnerRuleThatMatchesCounts(t *testing.T) {
	t.Parallel()
	codeowners, err := ownership.ParseCodeowners([]byte("# all\n*       @all # default\n/docs/  @writers\n*.sql @db @sql\nsrc/*  @src\nbuild/out\nnames\\ with/ @odd\n"))
	require.NoError(t, err)
	owners, err := ownership.NewOwners(codeowners, []ownership.OwnerRule{{Paths: []string{"migrations/**", ".patchd.yml"}, Approvers: []string{"db"}}})
	require.NoError(t, err)
	for path, want := range map[string][]string{
		"main.go":                  {"@all"},
		"docs/a/b.md":              {"@writers"},
		"x/docs/b.md":              {"@all"},
		"docs/q.sql":               {"@db", "@sql"},
		"src/a.go":                 {"@src"},
		"src/deep/a.go":            {"@all"},
		"build/out":                {},
		"build/out/x":              {},
		"lib/build/out":            {"@all"},
		"names with/x":             {"@odd"},
		"migrations/0001/up.sql":   {"db"},
		".patchd.yml":              {"db"},
		"sub/.patchd.yml":          {"@all"},
		"a/names with/deep/x/y.go": {"@odd"},
	} {
		require.ElementsMatch(t, want, owners.Required(path), path)
	}
	require.Equal(t, []ownership.Approval{
		{Approvers: []string{"@all"}, Paths: []string{"a.go", "b.go"}},
		{Approvers: []string{"db"}, Paths: []string{".patchd.yml"}},
	}, owners.Approvals([]string{"b.go", ".patchd.yml", "a.go", "build/out", "a.go"}))
}

func TestMalformedOwnerPatternsAreNamed(t *testing.T) {
	t.Parallel()
	var bad *ownership.PatternError
	_, err := ownership.ParseCodeowners([]byte("* @a\n!x @b\n"))
	require.ErrorAs(t, err, &bad)
	require.Equal(t, 2, bad.Line)
	_, err = ownership.NewOwners(nil, []ownership.OwnerRule{{Paths: []string{"a[", "b"}}})
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "a[", bad.Pattern)
}

func TestSectionsOfCodeownersGiveDefaultOwners(t *testing.T) {
	t.Parallel()
	rules, err := ownership.ParseCodeowners([]byte("[Data Base][2] @db\nsql/\nother/ @x\n^[Optional]\nfree/\n"))
	require.NoError(t, err)
	owners, err := ownership.NewOwners(rules, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"@db"}, owners.Required("sql/a"))
	require.Equal(t, []string{"@x"}, owners.Required("other/a"))
	require.Empty(t, owners.Required("free/a"))
}

func TestAnInvariantIsSharedByDifferentFilesOnly(t *testing.T) {
	t.Parallel()
	list := []ownership.Invariant{{Name: "wire", Paths: []string{"proto/**", "codec/*.go"}, Run: "make wire"}}
	require.Empty(t, ownership.SharedInvariants(list, []string{"proto/a"}, []string{"proto/a"}))
	require.Empty(t, ownership.SharedInvariants(list, []string{"proto/a"}, []string{"main.go"}))
	want := []ownership.Shared{{Name: "wire", Run: "make wire", Left: []string{"proto/a"}, Right: []string{"codec/x.go"}}}
	require.Equal(t, want, ownership.SharedInvariants(list, []string{"proto/a", "z"}, []string{"codec/x.go"}))
}
