package coordinator

import (
	"context"
	"errors"
	"fmt"

	"patchd/ownership"
	"patchd/ownership/symbols"
	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// Repository is what an engine needs of a git repository: objects, ancestry, and git's own merge as second opinion.
// *git.Repo is one; it is safe for concurrent use.
type Repository interface {
	git.Reader
	worktree.Merger
	MergeTrees(ctx context.Context, ov *git.Overlay, merges []git.Merge) ([]git.MergeResult, error)
	Stat(ctx context.Context, id git.OID) (git.ObjectType, int64, error)
	IsAncestor(ctx context.Context, a, b git.OID) (bool, error)
}

// EngineConfig wires an engine.
type EngineConfig struct {
	Repo     Repository
	Outlines symbols.Outliner // nil: every file is degraded to its lines
}

// Engine decides patches of one repository. What it keeps between decisions is cached by content and changes no answer.
// It is safe for concurrent use.
type Engine struct {
	repo     Repository
	outlines symbols.Outliner
	loading  *ownership.Loading
	cache    *caches
}

// NewEngine makes an engine over a repository.
func NewEngine(c EngineConfig) *Engine {
	outlines := c.Outlines
	if outlines == nil {
		outlines = byLines{}
	}
	return &Engine{repo: c.Repo, outlines: outlines, loading: ownership.NewLoading(), cache: newCaches()}
}

// Plan is a patch as the applicability stage leaves it, and what the later stages need.
type Plan struct {
	Decision Decision        // sealed with its plan digest
	Checks   []Check         // the union of required checks, sorted, without verdicts
	Tree     git.OID         // the rebased tree that the checks run on; empty where there is none
	Side     *worktree.Side  // the patch's edits of the target; nil where it is not a candidate
	Objects  *git.Overlay    // the objects that the candidate needs and the repository lacks
	Policy   *Policy         // the target's
	Merge    []MergedContent // the contents behind Decision.Conflict.Merge

	meta  worktree.CandidateMeta
	owned []ownership.Hunk // what the manifest declares, in the lines of Side's base
	cases []openCase
	names *ownership.Names // by which it can matter to files that it does not touch
}

// Identity is what the plan is of.
func (p *Plan) Identity() Identity { return p.Decision.Patch.Identity }

// MergedContent is the text of one file of a mechanical merge.
type MergedContent struct {
	Path       string  `json:"path"`
	Blob       git.OID `json:"blob"`
	Content    []byte  `json:"content"`
	HasMarkers bool    `json:"has_markers"`
}

// Due reports whether the checks stage is reached.
func (p *Plan) Due() bool {
	return p.Decision.Candidate != nil && p.Decision.Outcome == OutcomeCandidate
}

// Checker answers questions about trees. It runs the command or recalls the verdict of an earlier run, and returns its evidence.
type Checker interface {
	Ask(ctx context.Context, p *Plan, q Question) (Verdict, []CheckEvidence, error)
}

// Decide is D(T, p): the plan, the checks that it needs, the decision. A nil checker leaves the checks out: the record then
// stays as the applicability stage left it. An error is never a decision: objects that are needed and absent, a repository
// that cannot be read.
func (e *Engine) Decide(ctx context.Context, target git.OID, s *Submission, checker Checker) (*Decision, *Plan, error) {
	p, err := e.Plan(ctx, target, s)
	if err != nil {
		return nil, nil, err
	}
	if checker == nil {
		d := p.Decision
		return &d, p, d.SealDecision()
	}
	known, evidence := Verdicts{}, []CheckEvidence(nil)
	for {
		d, questions, err := Conclude(p, known)
		if err != nil {
			return nil, nil, err
		}
		if len(questions) == 0 {
			d.addEvidence(evidence)
			return d, p, nil
		}
		for _, q := range questions {
			verdict, seen, err := checker.Ask(ctx, p, q)
			if err != nil {
				return nil, nil, fmt.Errorf("check %q on tree %s: %w", q.Command, q.Tree, err)
			}
			known[q] = verdict
			evidence = append(evidence, seen...)
		}
	}
}

func (d *Decision) addEvidence(evidence []CheckEvidence) {
	if len(evidence) == 0 {
		return
	}
	if d.Operational == nil {
		d.Operational = &Operational{}
	}
	d.Operational.Checks = append(d.Operational.Checks, evidence...)
}

// Circumstances are what a decision takes from the pending set around a patch.
type Circumstances struct {
	// Under lists the plans of the patch's dependency closure at the same target, all of them candidates that do not contend.
	Under []*Plan
	// Bases are commits that a patch may build on though the target's history does not hold them: candidates of dependencies,
	// which D at their parents reproduces.
	Bases []git.OID
	// InSet says that the patch's dependencies were looked up in the set; else each must have landed since the base.
	InSet bool
	// Reverted lists the commits of the patch's recorded landings where none of them is an ancestor of the target.
	Reverted []git.OID
	// Rulings is R.
	Rulings Rulings

	merger worktree.Merger // git where it is nil
}

// Plan decides a patch that depends on nothing pending as far as it goes without running anything.
func (e *Engine) Plan(ctx context.Context, target git.OID, s *Submission) (*Plan, error) {
	return e.PlanIn(ctx, target, s, Circumstances{})
}

// PlanIn is Plan within a set: on the target composed with the patch's dependency closure, and with what people resolved.
func (e *Engine) PlanIn(ctx context.Context, target git.OID, s *Submission, around Circumstances) (*Plan, error) {
	objects := git.NewOverlay(e.repo)
	p := &planner{
		engine: e, submission: s, manifest: s.Manifest, target: target, objects: objects, around: around,
		out: &Plan{Decision: newRecord(s, target), Objects: objects},
	}
	err := p.run(ctx)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		p.refuse(refusal)
	case err != nil:
		return nil, fmt.Errorf("decide patch %s at %s: %w", s.Identity.Short(), target, err)
	}
	if err := p.out.Decision.sealPlan(); err != nil {
		return nil, err
	}
	return p.out, nil
}

func newRecord(s *Submission, target git.OID) Decision {
	return Decision{
		Schema: SchemaDecision, Stage: StagePrecondition, Validity: Validity{Semantic: notEvaluated},
		Patch:  PatchRecord{Identity: s.Identity, BaseCommit: s.Manifest.BaseCommit, DiffSHA256: s.Manifest.DiffSHA256, Paths: sortedSet(s.Manifest.Paths)},
		Target: TargetRecord{Commit: target},
		Rules:  Rules{Protocol: ProtocolVersion, Diff: diff.DiffVersion, Symbols: SymbolsVersion},
	}
}
