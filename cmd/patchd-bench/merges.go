package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"patchd/cmd/patchd-bench/internal/history"
	"patchd/coordinator"
	"patchd/worktree/git"
)

type mergesCmd struct {
	Repos    []string `arg:"" name:"repo" type:"existingdir" help:"Repositories whose merges are decided."`
	Limit    int      `default:"100" help:"How many merges of each repository; 0 takes all."`
	Seed     uint64   `default:"1" help:"The merges are shuffled with this seed first."`
	MaxFiles int      `default:"10" help:"Only merges whose patch touches at most so many files; 0 takes all."`
	Patchd   string   `type:"existingfile" placeholder:"FILE" help:"The patchd program; with it a sample is decided by its decide command too, and the digests must be equal."`
	Sample   int      `default:"10" help:"How many merges of each repository are decided by the program too."`
	Policy   []byte   `type:"filecontent" placeholder:"FILE" help:"A .patchd.yml that every merge is decided under: it is committed on top of its target."`
	Verbose  bool     `help:"Name each merge that is not as it should be, and each that goes to people though git merges it."`
}

// Help says what is done.
func (*mergesCmd) Help() string {
	return `Each merge commit with parents T and P, one merge base A and a file that both sides touch is a case: the patch is
"git diff A P", bound to A, and meets the target T. Git's own merge, made in an empty git directory, is the oracle: no candidate may
have another tree, and nothing that git cannot merge may become a candidate. The exit status is 1 where one is.`
}

// mergesReport is what came of one repository.
type mergesReport struct {
	Repo       string         `json:"repo"`
	Cases      int            `json:"cases"`
	Clean      int            `json:"clean"`
	Fixed      int            `json:"fixed"`
	Textual    int            `json:"textual"`
	Candidates int            `json:"candidates"`
	OtherTree  int            `json:"other_tree"`        // candidates whose tree is not git's: must be 0
	Conflicted int            `json:"git_conflicts"`     // candidates where git conflicts: must be 0
	Review     int            `json:"clean_reviewed"`    // git-clean cases that became conflicts by what they change
	SameSymbol int            `json:"clean_same_symbol"` // of these, those in which both sides edit one symbol
	Other      int            `json:"clean_other"`       // those with another reason than that, owned ranges and owners
	Coupled    int            `json:"clean_coupled"`     // git-clean cases with edits that can reach each other
	Owners     int            `json:"clean_owners"`      // git-clean cases that only the repository's own owner rules send to people
	Refused    int            `json:"clean_refused"`     // git-clean cases that were refused or wait
	ByClass    map[string]int `json:"clean_reviewed_by_class"`
	ByCode     map[string]int `json:"clean_by_code"`
	Sampled    int            `json:"sampled"`
	Differ     int            `json:"sample_differs"` // must be 0
	WallMS     int64          `json:"wall_ms"`
	Faults     []string       `json:"faults,omitempty"`
}

// Run decides the merges of each repository.
func (m *mergesCmd) Run(ctx context.Context, b *bench) error {
	var reports []*mergesReport
	bad := 0
	for _, dir := range m.Repos {
		r, err := m.repository(ctx, b, dir)
		if err != nil {
			return fmt.Errorf("measure %s: %w", dir, err)
		}
		reports = append(reports, r)
		bad += r.OtherTree + r.Conflicted + r.Differ
	}
	if err := b.emit(reports, func(w io.Writer) { renderMerges(w, reports) }); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d cases are not as they must be", bad)
	}
	return nil
}

func (m *mergesCmd) repository(ctx context.Context, b *bench, dir string) (r *mergesReport, err error) {
	s, err := b.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	b.say("%s: looking for merges", s.Name)
	cases, err := history.Merges(ctx, s.Scratch, history.MergeOptions{Limit: m.Limit, MaxFiles: m.MaxFiles, Seed: m.Seed})
	if err != nil {
		return nil, err
	}
	b.say("%s: deciding %d merges", s.Name, len(cases))
	r = &mergesReport{Repo: s.Name, Cases: len(cases), ByClass: map[string]int{}, ByCode: map[string]int{}}
	var wall time.Duration
	for i, c := range cases {
		diff, err := s.Diff(ctx, c.Base, c.Patch)
		if err != nil {
			return nil, err
		}
		raw, err := manifest(c.Base, c.Paths, diff, "merge-"+string(c.Commit[:12]), "")
		if err != nil {
			return nil, err
		}
		start := b.clock()
		record, tree, err := m.decide(ctx, s, raw, diff, &c)
		wall += b.clock().Sub(start)
		if err != nil {
			return nil, fmt.Errorf("decide merge %s: %w", c.Commit, err)
		}
		r.count(c, record, tree)
		m.tell(b, c, record)
		if m.Patchd != "" && i < m.Sample {
			if err := m.compare(ctx, b, s, c, [2][]byte{raw, diff}, record, r); err != nil {
				return nil, err
			}
		}
	}
	r.WallMS = wall.Milliseconds()
	return r, nil
}

// decide decides a case, under the policy if there is one, and gives the candidate's tree without it.
func (m *mergesCmd) decide(ctx context.Context, s *stand, raw, diff []byte, c *history.Merge) (*coordinator.Decision, git.OID, error) {
	submission, err := coordinator.Admit(raw, diff)
	if err != nil {
		return nil, "", err
	}
	original := c.Target
	if c.Target, _, err = history.WithPolicy(ctx, s.repo, c.Target, m.Policy); err != nil {
		return nil, "", err
	}
	record, plan, err := s.engine.Decide(ctx, c.Target, submission, nil)
	if err != nil || record.Candidate == nil || len(m.Policy) == 0 {
		return record, treeOf(record), err
	}
	tree, err := history.WithPolicyOf(ctx, plan.Objects, record.Candidate.Tree, original)
	return record, tree, err
}

func treeOf(d *coordinator.Decision) git.OID {
	if d == nil || d.Candidate == nil {
		return ""
	}
	return d.Candidate.Tree
}

// count takes one decision into the report, with the tree of its candidate.
func (r *mergesReport) count(c history.Merge, d *coordinator.Decision, tree git.OID) {
	switch c.Kind {
	case history.KindClean:
		r.Clean++
	case history.KindFixed:
		r.Fixed++
	case history.KindTextual:
		r.Textual++
	}
	if c.Kind != history.KindTextual && len(d.Coupled) > 0 {
		r.Coupled++
	}
	if d.Outcome == coordinator.OutcomeCandidate {
		r.Candidates++
		switch {
		case c.Kind == history.KindTextual:
			r.Conflicted++
			r.Faults = append(r.Faults, fmt.Sprintf("merge %s: a candidate where git conflicts", c.Commit))
		case tree != c.GitTree:
			r.OtherTree++
			r.Faults = append(r.Faults, fmt.Sprintf("merge %s: tree %s, git's is %s", c.Commit, tree, c.GitTree))
		}
		return
	}
	if c.Kind == history.KindTextual {
		return
	}
	for _, code := range d.Codes() {
		r.ByCode[string(code)]++
	}
	if d.Outcome == coordinator.OutcomeConflict {
		if slices.Equal(d.Codes(), []coordinator.Code{coordinator.CodeOwnerApproval}) {
			r.Owners++
			return
		}
		r.Review++
		if slices.Contains(d.Codes(), coordinator.CodeSameSymbol) {
			r.SameSymbol++
		}
		if slices.ContainsFunc(d.Codes(), otherwise) {
			r.Other++
		}
		r.ByClass[string(d.Conflict.Class)]++
		return
	}
	r.Refused++
}

// otherwise reports whether a code says more than that both sides edit one symbol or what somebody owns.
func otherwise(code coordinator.Code) bool {
	return code != coordinator.CodeSameSymbol && code != coordinator.CodeOwnedRangeChanged && code != coordinator.CodeOwnerApproval
}

// tell names a case that people may want to look at.
func (m *mergesCmd) tell(b *bench, c history.Merge, d *coordinator.Decision) {
	if !m.Verbose || d.Outcome == coordinator.OutcomeCandidate || c.Kind == history.KindTextual {
		return
	}
	b.say("merge %s (%s): %s %v", c.Commit, c.Kind, d.Outcome, d.Codes())
	if d.Conflict == nil {
		return
	}
	for _, x := range d.Conflict.Reasons {
		b.say("    %s %s %s base %v target %v", x.Code, x.Path, x.Symbol, show(x.BaseLines), show(x.TargetLines))
	}
}

func show(r *coordinator.LineRange) string {
	if r == nil {
		return "-"
	}
	return fmt.Sprintf("%d-%d", r[0], r[1])
}
