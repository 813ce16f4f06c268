package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const fullPolicy = `version: 1
checks:
  allow: ["npm test -- *", "go test ./..."]
  rules:
    - paths: ["src/**"]
      run: ["npm test"]
  timeout: 10m
  confirm: 0
  env: ["CI"]
owners:
  - paths: ["migrations/**", ".patchd.yml"]
    approvers: ["db"]
ownership: {same_symbol: review, coupled: report}
merge: {union: ["CHANGELOG.md"]}
`

func TestPolicyReadsTheDocumentedFile(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy([]byte(fullPolicy))
	require.NoError(t, err)
	require.Equal(t, Duration(10*time.Minute), p.Checks.Timeout)
	require.Equal(t, []string{"db"}, p.Owners[0].Approvers)
	require.Equal(t, []string{"CHANGELOG.md"}, p.Merge.Union)
}

func TestNoPolicyFileIsAPolicy(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy(nil)
	require.NoError(t, err)
	require.Empty(t, p.Checks.Allow)
	require.Equal(t, "review", p.Ownership.SameSymbol)
	require.Equal(t, "report", p.Ownership.Coupled)
}

func TestPolicyFaultsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ from, to, says string }{
		"other version":       {"version: 1", "version: 2", "version"},
		"unknown field":       {"checks:", "cheks:", "cheks"},
		"duplicate key":       {"version: 1", "version: 1\nversion: 1", "version"},
		"second document":     {"version: 1", "version: 1\n---\nversion: 1", "document"},
		"bad duration":        {"10m", "ten", "ten"},
		"negative confirm":    {"confirm: 0", "confirm: -1", "checks.confirm"},
		"shell in a rule":     {`["npm test"]`, `["npm test | cat"]`, "checks.rules[0].run"},
		"bad path pattern":    {`["src/**"]`, `["src/[a"]`, "checks.rules[0].paths"},
		"owner without names": {`approvers: ["db"]`, `approvers: []`, "owners[0]"},
		"word of no meaning":  {"same_symbol: review", "same_symbol: maybe", "ownership.same_symbol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ParsePolicy([]byte(strings.Replace(fullPolicy, c.from, c.to, 1)))
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestUnionOfRequiredChecks(t *testing.T) {
	t.Parallel()
	p, err := ParsePolicy([]byte(fullPolicy))
	require.NoError(t, err)
	m := &Manifest{RequiredChecks: []string{"npm test -- parser"}}
	got, err := requiredChecks(p, m, touchedBy{patch: []string{"src/a.ts"}}, []string{"go test ./...", "rm -rf /", "npm test"})
	require.NoError(t, err)
	require.Equal(t, []Check{
		{Command: "go test ./...", Sources: []string{"landed"}},
		{Command: "npm test", Sources: []string{"landed", "policy"}},
		{Command: "npm test -- parser", Sources: []string{"patch"}},
	}, got, "a landed command that the policy does not allow is left out")

	got, err = requiredChecks(p, &Manifest{}, touchedBy{patch: []string{"docs/x"}, since: []string{"src/b.ts"}}, nil)
	require.NoError(t, err)
	require.Equal(t, []Check{{Command: "npm test", Sources: []string{"policy"}}}, got, "paths touched since the base count too")

	_, err = requiredChecks(p, &Manifest{RequiredChecks: []string{"npm run evil"}}, touchedBy{}, nil)
	var r *Refusal
	require.ErrorAs(t, err, &r)
	require.Equal(t, CodeCheckNotAllowed, r.Code)
	require.Equal(t, "npm run evil", r.Value)

	none, err := ParsePolicy(nil)
	require.NoError(t, err)
	_, err = requiredChecks(none, &Manifest{RequiredChecks: []string{"true"}}, touchedBy{}, nil)
	require.ErrorAs(t, err, &r)
	require.Contains(t, r.Hint, "patchd init")
}
