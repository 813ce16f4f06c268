package coordinator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"patchd/coordinator"
	"patchd/worktree/git"
	"patchd/worktree/git/gittest"
)

// A section of a git-format diff that makes one file.
func creates(path, mode string) []byte {
	return fmt.Appendf(nil, "diff --git a/%[1]s b/%[1]s\nnew file mode %[2]s\nindex 0000000..45b983b\n--- /dev/null\n+++ b/%[1]s\n@@ -0,0 +1 @@\n+hi\n", path, mode)
}

func TestRejectionsNameWhatIsAtFault(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines, "src/p.go": "package p\n\nfunc One() int {\n\treturn 1\n}\n\nfunc Two() int {\n\treturn 2\n}\n", "link": gittest.Link + "src"})
	good := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	goFix := b.Change(base, gittest.Tree{"src/p.go": "package p\n\nfunc One() int {\n\treturn 11\n}\n\nfunc Two() int {\n\treturn 2\n}\n"})
	tree := b.Git("rev-parse", base+"^{tree}")
	b.Git("tag", "-a", "-m", "tag", "v1", base)
	tag := b.Git("rev-parse", "v1")
	hunk := func(path string, start, end int, symbol string) map[string]any {
		h := map[string]any{"path": path, "start": start, "end": end}
		if symbol != "" {
			h["symbol"] = symbol
		}
		return map[string]any{"owned_hunks": []any{h}}
	}
	for name, c := range map[string]struct {
		base  string
		patch []byte
		more  map[string]any
		stage coordinator.Stage
		want  coordinator.Refusal // Code, Path, Line
		says  string
	}{
		"prose is no diff":       {base, []byte("please change f\n"), nil, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeDiffMalformed, Line: 1}, ""},
		"a count that lies":      {base, []byte(strings.Replace(string(good), "@@ -1,5 +1,5 @@", "@@ -1,6 +1,6 @@", 1)), nil, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeDiffMalformed, Path: "f"}, ""},
		"no bytes":               {base, nil, nil, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeDiffEmpty}, ""},
		"over the size":          {base, make([]byte, coordinator.MaxDiff+1), nil, coordinator.StagePrecondition, coordinator.Refusal{Code: coordinator.CodeDiffTooLarge}, "33554432"},
		"a base that is a tree":  {tree, good, nil, coordinator.StagePrecondition, coordinator.Refusal{Code: coordinator.CodeBaseNotCommit}, tree},
		"a base that is a tag":   {tag, good, nil, coordinator.StagePrecondition, coordinator.Refusal{Code: coordinator.CodeBaseNotCommit}, tag},
		"the zero base":          {string(git.ZeroOID), good, nil, coordinator.StagePrecondition, coordinator.Refusal{Code: coordinator.CodeBaseNotCommit}, "zero"},
		"a path above":           {base, creates("../x", "100644"), map[string]any{"paths": []any{"../x"}}, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodePathUnsafe, Path: "../x"}, "../x"},
		"a path into .git":       {base, creates(".GIT/config", "100644"), map[string]any{"paths": []any{".GIT/config"}}, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodePathUnsafe, Path: ".GIT/config"}, ".GIT"},
		"through a link":         {base, creates("link/x", "100644"), map[string]any{"paths": []any{"link/x"}}, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodePathUnsafe, Path: "link"}, "link"},
		"a setuid mode":          {base, creates("x", "104755"), map[string]any{"paths": []any{"x"}}, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeModeUnsafe, Path: "x"}, "104755"},
		"a link that leaves":     {base, b.Change(base, gittest.Tree{"out": gittest.Link + "../../etc/passwd"}), nil, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeSymlinkUnsafe, Path: "out"}, "out"},
		"a path left unsaid":     {base, good, map[string]any{"paths": []any{}}, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodePathsMismatch, Path: "f"}, `"f"`},
		"a path too many":        {base, good, map[string]any{"paths": []any{"f", "g"}}, coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodePathsMismatch, Path: "g"}, `"g"`},
		"a hunk outside":         {base, good, hunk("f", 5, 9, ""), coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeHunkNotOwned, Path: "f", Line: 2}, "f:2"},
		"a range that is not":    {base, good, hunk("f", 1, 99, ""), coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeOwnedHunkStale, Path: "f", Line: 1}, "1-99"},
		"another symbol's range": {base, goFix, hunk("src/p.go", 3, 5, "Two"), coordinator.StageProtocol, coordinator.Refusal{Code: coordinator.CodeOwnedHunkStale, Path: "src/p.go", Line: 3}, "One"},
		"other context":          {base, []byte(strings.Replace(string(good), "\n three\n", "\n 3\n", 1)), nil, coordinator.StageApplicability, coordinator.Refusal{Code: coordinator.CodePatchDoesNotApply, Path: "f", Line: 9}, ""},
		"creating what exists":   {base, creates("f", "100644"), nil, coordinator.StageApplicability, coordinator.Refusal{Code: coordinator.CodePatchDoesNotApply, Path: "f", Line: 1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := b.decide(base, b.submit(c.base, c.patch, c.more))
			require.Equal(t, coordinator.OutcomeRejected, d.Outcome, "%+v", d)
			require.Equal(t, c.stage, d.Stage)
			require.NotNil(t, d.Rejection)
			got := *d.Rejection
			if c.want.Line == 0 {
				got.Line = 0
			}
			require.Equal(t, c.want, got, "%+v", d.Operational)
			m := d.Operational.Messages[0]
			require.NotEmpty(t, m.Text)
			require.Contains(t, m.Path+m.Value+m.Text, c.says)
		})
	}
}

const checkPolicy = `version: 1
checks:
  allow: ["test *"]
  rules: [{paths: ["f"], run: ["test policy"]}]
`

func TestWaitingNamesWhatToWaitFor(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	unrelated := b.Git("commit-tree", "-m", "alone", b.Git("rev-parse", "HEAD^{tree}"))
	base := b.Commit("base", gittest.Tree{"f": tenLines})
	good := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	sub := []byte("diff --git a/lib b/lib\nnew file mode 160000\nindex 0000000000000000000000000000000000000000.." + base + "\n--- /dev/null\n+++ b/lib\n@@ -0,0 +1 @@\n+Subproject commit " + base + "\n")
	missing := strings.Repeat("ab", 20)
	b.Checkout(base)
	badPolicy := b.Commit("bad policy", gittest.Tree{".patchd.yml": "version: 7\n"})
	b.Checkout(base)
	landed := b.Commit("the same", gittest.Tree{"f": edited("two", "TWO\n"), "g": "g\n"})
	b.Checkout(base)
	id := b.submit(base, good, nil).Identity
	reverted := b.Commit("landed\n\nPatch-Identity: "+string(id), gittest.Tree{"f": edited("two", "TWO\n")})
	reverted = b.Commit("reverted", gittest.Tree{"f": tenLines, "h": reverted})
	for name, c := range map[string]struct {
		target, base string
		patch        []byte
		more         map[string]any
		stage        coordinator.Stage
		code         coordinator.Code
		says         []string
	}{
		"a base that is not here":      {base, missing, good, nil, coordinator.StagePrecondition, coordinator.CodeBaseMissing, []string{missing, "fetch"}},
		"a base of another history":    {base, unrelated, good, nil, coordinator.StagePrecondition, coordinator.CodeBaseUnrelated, []string{unrelated, base}},
		"a dependency nobody knows":    {base, base, good, map[string]any{"depends_on": []any{"p-1"}}, coordinator.StagePrecondition, coordinator.CodeDependencyUnknown, []string{"p-1"}},
		"a submodule":                  {base, base, sub, map[string]any{"paths": []any{"lib"}}, coordinator.StageProtocol, coordinator.CodeSubmoduleNotAllowed, []string{"lib", "submodules.allow"}},
		"a check without a policy":     {base, base, good, map[string]any{"required_checks": []any{"make test"}}, coordinator.StageProtocol, coordinator.CodeCheckNotAllowed, []string{"make test", "patchd init"}},
		"a policy that cannot be read": {badPolicy, base, good, nil, coordinator.StageProtocol, coordinator.CodePolicyInvalid, []string{".patchd.yml", "version"}},
		"all edits are in the target":  {landed, base, good, nil, coordinator.StageApplicability, coordinator.CodeAlreadyLanded, []string{"edits"}},
		"it landed and was taken back": {reverted, base, good, nil, coordinator.StageApplicability, coordinator.CodeAlreadyLanded, []string{"identity", "revert"}},
		"a patch that breaks the policy": {
			base, base, b.Change(base, gittest.Tree{".patchd.yml": "version: 9\n"}), nil, coordinator.StageApplicability, coordinator.CodePolicyInvalid,
			[]string{".patchd.yml", "leaves"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := b.decide(c.target, b.submit(c.base, c.patch, c.more))
			require.Equal(t, coordinator.OutcomeWaiting, d.Outcome, "%+v", d)
			require.Equal(t, c.stage, d.Stage)
			require.Equal(t, c.code, d.Waiting.Code)
			m := d.Operational.Messages[0]
			for _, says := range c.says {
				require.Contains(t, m.Path+" "+m.Value+" "+m.Text+" "+m.Hint, says)
			}
		})
	}
}

// answers is a checker whose verdicts are given, by tree and command; it records what it was asked.
type answers struct {
	verdicts coordinator.Verdicts
	asked    []coordinator.Question
}

// Ask implements coordinator.Checker.
func (a *answers) Ask(_ context.Context, _ *coordinator.Plan, q coordinator.Question) (coordinator.Verdict, []coordinator.CheckEvidence, error) {
	a.asked = append(a.asked, q)
	v, ok := a.verdicts[q]
	if !ok {
		return "", nil, fmt.Errorf("question %v was not expected", q)
	}
	return v, nil, nil
}

func TestVerdictsDecide(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines, ".patchd.yml": checkPolicy})
	patch := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	target := b.Commit("landed", gittest.Tree{"f": edited("nine", "NINE\n")})
	s := b.submit(base, patch, map[string]any{"required_checks": []any{"test own"}})
	plan, err := b.engine.Plan(t.Context(), git.OID(target), s)
	require.NoError(t, err)
	require.Equal(t, []coordinator.Check{{Command: "test own", Sources: []string{"patch"}}, {Command: "test policy", Sources: []string{"policy"}}}, plan.Checks)
	at := plan.Decision.Target.Tree
	on := func(own, policy, ownT, policyT coordinator.Verdict) coordinator.Verdicts {
		v := coordinator.Verdicts{{Tree: plan.Tree, Command: "test own"}: own, {Tree: plan.Tree, Command: "test policy"}: policy}
		if ownT != "" {
			v[coordinator.Question{Tree: at, Command: "test own"}] = ownT
		}
		if policyT != "" {
			v[coordinator.Question{Tree: at, Command: "test policy"}] = policyT
		}
		return v
	}
	for name, c := range map[string]struct {
		verdicts coordinator.Verdicts
		outcome  coordinator.Outcome
		codes    []coordinator.Code
		valid    *bool
	}{
		"all pass":                          {on("passed", "passed", "", ""), coordinator.OutcomeCandidate, nil, new(true)},
		"its own fails":                     {on("failed", "passed", "passed", ""), coordinator.OutcomeConflict, []coordinator.Code{"check_failed"}, new(false)},
		"its own fails on the target too":   {on("failed", "passed", "failed", ""), coordinator.OutcomeConflict, []coordinator.Code{"check_failed"}, new(false)},
		"the policy's fails":                {on("passed", "failed", "", "passed"), coordinator.OutcomeConflict, []coordinator.Code{"check_failed"}, new(false)},
		"the target is red":                 {on("passed", "failed", "", "failed"), coordinator.OutcomeWaiting, []coordinator.Code{"target_red"}, nil},
		"the target has no verdict":         {on("passed", "failed", "", "inconclusive"), coordinator.OutcomeWaiting, []coordinator.Code{"check_inconclusive"}, nil},
		"two verdicts for one tree":         {on("passed", "nondeterministic", "", ""), coordinator.OutcomeConflict, []coordinator.Code{"check_nondeterministic"}, new(false)},
		"no verdict":                        {on("inconclusive", "passed", "", ""), coordinator.OutcomeWaiting, []coordinator.Code{"check_inconclusive"}, nil},
		"no verdict, and accepted":          {on("accepted", "passed", "", ""), coordinator.OutcomeCandidate, nil, new(true)},
		"a failure outweighs no verdict":    {on("inconclusive", "failed", "", "passed"), coordinator.OutcomeConflict, []coordinator.Code{"check_failed"}, new(false)},
		"a red target outweighs a failure":  {on("failed", "failed", "passed", "failed"), coordinator.OutcomeWaiting, []coordinator.Code{"target_red"}, nil},
		"both fail, and both are mentioned": {on("failed", "nondeterministic", "passed", ""), coordinator.OutcomeConflict, []coordinator.Code{"check_failed", "check_nondeterministic"}, new(false)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &answers{verdicts: c.verdicts}
			d, _, err := b.engine.Decide(t.Context(), git.OID(target), s, a)
			require.NoError(t, err)
			require.Equal(t, c.outcome, d.Outcome, "%+v", d)
			require.Equal(t, c.codes, d.Codes())
			require.Equal(t, c.valid, d.Validity.ChecksValid)
			require.Equal(t, plan.Decision.PlanDigest, d.PlanDigest, "checks do not reach the plan")
			require.Len(t, a.asked, len(c.verdicts), "each question once, and none that is not needed")
		})
	}
}

func TestTheUnionHoldsWhatLandedAsked(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines, "g": "g\n", ".patchd.yml": checkPolicy})
	patch := b.Change(base, gittest.Tree{"g": "G\n"})
	target := b.Commit("landed\n\nRequired-Check: test landed\nRequired-Check: rm -rf /", gittest.Tree{"f": edited("nine", "NINE\n")})
	plan, err := b.engine.Plan(t.Context(), git.OID(target), b.submit(base, patch, nil))
	require.NoError(t, err)
	require.Equal(t, []coordinator.Check{{Command: "test landed", Sources: []string{"landed"}}, {Command: "test policy", Sources: []string{"policy"}}}, plan.Checks)
	commit, err := plan.Objects.ReadCommit(t.Context(), plan.Decision.Candidate.Commit)
	require.NoError(t, err)
	require.Contains(t, commit.Message, "\nRequired-Check: test policy\n")
	require.NotContains(t, commit.Message, "test landed", "only the patch's own and the policy's checks go on")
}

func TestWhatGovernsTheRepositoryNeedsAnApproval(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"db/1.sql": "x\n", ".patchd.yml": "version: 1\nowners: [{paths: [\"db/**\"], approvers: [\"dba\"]}]\n"})
	for path, approvers := range map[string][]string{".gitattributes": nil, "CODEOWNERS": nil, ".gitmodules": nil, "db/1.sql": {"dba"}} {
		d := b.decide(base, b.submit(base, b.Change(base, gittest.Tree{path: "# changed\n"}), nil))
		require.Equal(t, coordinator.OutcomeConflict, d.Outcome, path)
		require.Equal(t, []coordinator.Code{coordinator.CodeOwnerApproval}, d.Codes())
		require.Equal(t, coordinator.ClassBehavioral, d.Conflict.Class)
		require.Equal(t, path, d.Conflict.Reasons[0].Path)
		require.Equal(t, approvers, d.Conflict.Reasons[0].Approvers)
	}
}

func TestTwoEditsOfOneSymbolAreReviewed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	source := "package p\n\nfunc One() int {\n\ta := 1\n\tb := 2\n\tc := 3\n\td := 4\n\treturn a + b + c + d\n}\n\nfunc Two() int {\n\treturn 2\n}\n"
	base := b.Commit("base", gittest.Tree{"p.go": source})
	one := b.Change(base, gittest.Tree{"p.go": strings.Replace(source, "a := 1", "a := 11", 1)})
	two := b.Change(base, gittest.Tree{"p.go": strings.Replace(source, "return 2", "return 22", 1)})
	target := b.Commit("landed", gittest.Tree{"p.go": strings.Replace(source, "d := 4", "d := 44", 1)})
	d := b.decide(target, b.submit(base, one, nil))
	require.Equal(t, []coordinator.Code{coordinator.CodeSameSymbol}, d.Codes())
	require.Equal(t, coordinator.ClassStructural, d.Conflict.Class)
	require.Equal(t, "One", d.Conflict.Reasons[0].Symbol)
	require.False(t, d.Conflict.Merge.HasMarkers, "the lines merge, and the merge is shown")
	require.Equal(t, coordinator.OutcomeCandidate, b.decide(target, b.submit(base, two, nil)).Outcome, "another symbol of the same file")

	declared := map[string]any{"owned_hunks": []any{map[string]any{"path": "p.go", "start": 3, "end": 13}}}
	d = b.decide(target, b.submit(base, two, declared))
	require.Contains(t, d.Codes(), coordinator.CodeOwnedRangeChanged, "a declared range counts where the diff does not reach")
}

func TestRecordsRoundTripThroughJSON(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	base := b.Commit("base", gittest.Tree{"f": tenLines})
	patch := b.Change(base, gittest.Tree{"f": edited("two", "TWO\n")})
	target := b.Commit("landed", gittest.Tree{"f": edited("two", "2\n")})
	d := b.decide(target, b.submit(base, patch, nil))
	raw, err := json.Marshal(d)
	require.NoError(t, err)
	var back coordinator.Decision
	require.NoError(t, json.Unmarshal(raw, &back))
	digest := back.DecisionDigest
	require.NoError(t, back.SealDecision())
	require.Equal(t, digest, back.DecisionDigest, "a reader can recompute the digest from the record alone")
}
