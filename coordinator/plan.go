package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// planner takes one patch through the stages before the checks. A stage returns a *Refusal to stop it there.
type planner struct {
	engine     *Engine
	submission *Submission
	manifest   *Manifest
	target     git.OID
	objects    *git.Overlay
	around     Circumstances
	ground     *ground
	out        *Plan

	baseTree     git.OID
	targetCommit *git.Commit
	policy       *Policy
	policyRaw    []byte
	policyErr    error
	applied      *worktree.Applied
	applyErr     error
	inspected    *worktree.Inspection
	side         *worktree.Side // the patch as edits of its base
	since        *sinceBase
}

// run walks the stages in order.
func (p *planner) run(ctx context.Context) error {
	if err := p.readTarget(ctx); err != nil {
		return err
	}
	for _, stage := range []struct {
		name Stage
		run  func(context.Context) error
	}{
		{StagePrecondition, p.precondition},
		{StageProtocol, p.protocol},
		{StageApplicability, p.applicability},
	} {
		p.out.Decision.Stage = stage.name
		if err := stage.run(ctx); err != nil {
			return err
		}
	}
	return nil
}

// readTarget loads what the target commit says: its tree and its policy. Nothing of it is about the patch, so whatever is
// missing here is an error.
func (p *planner) readTarget(ctx context.Context) error {
	commit, err := p.engine.repo.ReadCommit(ctx, p.target)
	if err != nil {
		return fmt.Errorf("read target: %w", err)
	}
	p.targetCommit = commit
	d := &p.out.Decision
	d.Target.Tree = commit.Tree
	p.policyRaw, p.policy, p.policyErr, err = p.engine.policyIn(ctx, p.engine.repo, commit.Tree)
	if err != nil {
		return err
	}
	if p.policyRaw != nil {
		d.Rules.PolicySHA256 = SHA256(p.policyRaw)
	}
	if p.policyErr != nil {
		if p.policy, err = ParsePolicy(nil); err != nil { // for a patch that mends it
			return err
		}
	}
	p.out.Policy = p.policy
	p.ground, err = p.engine.groundOn(ctx, p.objects, commit, p.around.Under, p.rules())
	if err != nil {
		return fmt.Errorf("compose dependencies: %w", err)
	}
	for _, l := range p.ground.chain {
		d.Dependencies = append(d.Dependencies, Dependency{Identity: l.plan.Identity(), Commit: l.commit})
	}
	return nil
}

// rules are what the target says about merging its paths.
func (p *planner) rules() worktree.Rules {
	return p.engine.rulesOf(p.targetCommit.Tree, p.policy)
}

// rulesOf are what a target's tree and policy say about merging paths.
func (e *Engine) rulesOf(tree git.OID, policy *Policy) worktree.Rules {
	return worktree.Rules{
		Union:       func(path string) bool { return matchesAny(policy.Merge.Union, path) },
		Unmergeable: worktree.NewAttributes(e.repo, tree).Unmergeable,
	}
}

// policyIn reads a tree's policy: its bytes (nil where there is no file), and either the policy or why it does not parse.
func (e *Engine) policyIn(ctx context.Context, r git.Reader, tree git.OID) (raw []byte, p *Policy, invalid, err error) {
	entry, err := git.Lookup(ctx, r, tree, PolicyPath)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("look up %s: %w", PolicyPath, err)
	}
	switch {
	case entry.IsZero():
		p, invalid = ParsePolicy(nil)
		return nil, p, invalid, nil
	case !entry.Mode.IsFile():
		return []byte{}, nil, fmt.Errorf("%s is not a regular file (mode %s)", PolicyPath, entry.Mode), nil
	}
	raw, err = r.ReadBlob(ctx, entry.OID)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read %s: %w", PolicyPath, err)
	}
	p, invalid = e.cache.policy(entry.OID, raw)
	return raw, p, invalid, nil
}

// precondition: the base is a commit, and T or an ancestor of it.
func (p *planner) precondition(ctx context.Context) error {
	if r := tooLarge(p.submission.Diff); r != nil {
		return r
	}
	base := p.manifest.BaseCommit
	if base.IsZero() {
		return &Refusal{Code: CodeBaseNotCommit, Field: "/base_commit", Value: string(base), Message: "the base is the zero id, which no commit has"}
	}
	kind, err := p.kindOf(ctx, base)
	var missing *git.MissingError
	switch {
	case errors.As(err, &missing):
		return &Refusal{
			Code: CodeBaseMissing, Field: "/base_commit", Value: string(base), Message: fmt.Sprintf("the repository does not hold base commit %s", base),
			Hint: "fetch or push it there; the patch is decided when it arrives and the target moves, or when it is submitted again",
		}
	case err != nil:
		return fmt.Errorf("read base: %w", err)
	case kind != git.TypeCommit:
		return &Refusal{
			Code: CodeBaseNotCommit, Field: "/base_commit", Value: string(base), Message: fmt.Sprintf("object %s is a %s, not a commit", base, kind),
			Hint: "name the commit itself; a tag must be peeled first",
		}
	}
	commit, err := p.objects.ReadCommit(ctx, base)
	if err != nil {
		return fmt.Errorf("read base: %w", err)
	}
	p.baseTree = commit.Tree
	p.out.Decision.Rules.BaseTree = commit.Tree
	return p.relate(ctx, base)
}

// kindOf is the type of an object of the repository or of a dependency.
func (p *planner) kindOf(ctx context.Context, id git.OID) (git.ObjectType, error) {
	if p.objects.Has(id) {
		object, err := p.objects.Read(ctx, id)
		return object.Type, err
	}
	kind, _, err := p.engine.repo.Stat(ctx, id)
	return kind, err
}

// relate: the base is T or an ancestor of it, or the candidate of a dependency.
func (p *planner) relate(ctx context.Context, base git.OID) error {
	related := slices.Contains(p.around.Bases, base) || slices.ContainsFunc(p.ground.chain, func(l link) bool { return l.commit == base })
	if !related {
		var err error
		if related, err = p.engine.repo.IsAncestor(ctx, base, p.target); err != nil {
			return fmt.Errorf("relate base to target: %w", err)
		}
	}
	if !related {
		return &Refusal{
			Code: CodeBaseUnrelated, Field: "/base_commit", Value: string(base), Message: fmt.Sprintf("base %s is not an ancestor of target %s", base, p.target),
			Hint: "rebase the patch onto a commit of the target's history and submit it again",
		}
	}
	if p.around.InSet || len(p.manifest.DependsOn) == 0 {
		return nil
	}
	return p.landedDependencies(ctx)
}

// landedDependencies holds a patch that is decided without a set against its dependencies: each must have landed.
func (p *planner) landedDependencies(ctx context.Context) error {
	trailers, err := p.engine.cache.trailers(ctx, p.engine.repo, p.manifest.BaseCommit, p.target)
	if err != nil {
		return fmt.Errorf("read trailers since the base: %w", err)
	}
	for i, dep := range p.manifest.DependsOn {
		if len(trailers.landings[Identity(dep)]) == 0 {
			return dependencyUnknown(i, dep)
		}
	}
	return nil
}

func dependencyUnknown(i int, dep string) *Refusal {
	return &Refusal{
		Code: CodeDependencyUnknown, Field: fmt.Sprintf("/depends_on/%d", i), Value: dep, Message: fmt.Sprintf("dependency %q is neither pending nor landed", dep),
		Hint: "submit it first, or name its identity",
	}
}

// protocol: the diff is strict and touches what the manifest says, its result is a safe tree, claims about owned hunks hold,
// and the target's policy allows what it asks for. What no target can change is looked at first.
func (p *planner) protocol(ctx context.Context) error {
	patch, err := p.engine.cache.parse(p.manifest.DiffSHA256, p.submission.Diff)
	if err != nil {
		return refusalOf(err)
	}
	if err := p.comparePaths(patch); err != nil {
		return err
	}
	p.applied, p.applyErr = worktree.Apply(ctx, p.objects, p.baseTree, patch, diff.DefaultLimits())
	if p.applyErr != nil {
		var refusal *Refusal
		if err := refusalOf(p.applyErr); !errors.As(err, &refusal) || refusal.Code != CodePatchDoesNotApply {
			return err
		}
		return nil // the next stage says so
	}
	if err := p.judgeResult(ctx); err != nil {
		return err
	}
	return p.judgeByPolicy(ctx)
}

// comparePaths holds the manifest's paths against what the diff touches, both sides of a rename.
func (p *planner) comparePaths(patch *diff.Patch) error {
	touched := touchedPaths(patch)
	declared := sortedSet(p.manifest.Paths)
	for _, path := range touched {
		if _, ok := slices.BinarySearch(declared, path); !ok {
			return &Refusal{
				Code: CodePathsMismatch, Path: path, Field: "/paths", Value: path, Message: fmt.Sprintf("the diff touches %q, which paths does not name", path),
				Hint: "paths is exactly what the diff touches, both sides of a rename",
			}
		}
	}
	for _, path := range declared {
		if _, ok := slices.BinarySearch(touched, path); !ok {
			return &Refusal{
				Code: CodePathsMismatch, Path: path, Field: "/paths", Value: path, Message: fmt.Sprintf("paths names %q, which the diff does not touch", path),
				Hint: "paths is exactly what the diff touches, both sides of a rename",
			}
		}
	}
	return nil
}

// touchedPaths is what a diff touches, sorted: both sides of a rename, of a copy the new one only.
func touchedPaths(patch *diff.Patch) []string {
	var out []string
	for _, f := range patch.Files {
		if f.Old != "" && f.Op != diff.OpCopy {
			out = append(out, f.Old)
		}
		if f.New != "" {
			out = append(out, f.New)
		}
	}
	return sortedSet(out)
}

// judgeResult looks at the tree that came out, whatever the parser believed, and at the manifest's claims about the base.
func (p *planner) judgeResult(ctx context.Context) error {
	found, err := worktree.Inspect(ctx, p.objects, p.baseTree, p.applied.Tree, p.applied.Changes, p.applied.Lines)
	if err != nil {
		return refusalOf(err)
	}
	p.inspected = found
	side, err := worktree.SideOf(ctx, p.objects, p.baseTree, p.applied.Tree, p.applied.Changes)
	if err != nil {
		return fmt.Errorf("read edits: %w", err)
	}
	p.side = side
	return p.checkOwnedHunks(ctx)
}

// judgeByPolicy asks the target's policy: it parses, submodules and checks are allowed.
func (p *planner) judgeByPolicy(ctx context.Context) error {
	if p.policyErr != nil && !p.mendsPolicy(ctx) {
		return &Refusal{
			Code: CodePolicyInvalid, Path: PolicyPath, Message: fmt.Sprintf("the target's policy cannot be read: %v", p.policyErr),
			Hint: "mend " + PolicyPath + " on the target; until then nothing else is decided",
		}
	}
	for _, path := range p.inspected.Gitlinks {
		if !matchesAny(p.policy.Submodules.Allow, path) {
			return &Refusal{
				Code: CodeSubmoduleNotAllowed, Path: path, Value: path, Message: fmt.Sprintf("the patch changes a submodule at %q", path),
				Hint: "name the path under submodules.allow in " + PolicyPath + " of the target",
			}
		}
	}
	if p.policyErr != nil {
		return nil //nolint:nilerr // no policy allows a check, and none is run
	}
	_, err := requiredChecks(p.policy, p.manifest, touchedBy{}, nil)
	return err
}

// mendsPolicy reports whether the patch leaves a policy that can be read.
func (p *planner) mendsPolicy(ctx context.Context) bool {
	if !slices.Contains(p.side.Paths(), PolicyPath) {
		return false
	}
	_, _, invalid, err := p.engine.policyIn(ctx, p.objects, p.applied.Tree)
	return err == nil && invalid == nil
}

// refusalOf turns the typed failure of a leaf package into the contract's answer; other errors stay errors.
func refusalOf(err error) error {
	var bad *diff.Error
	if !errors.As(err, &bad) {
		return err
	}
	return &Refusal{Code: Code(bad.Code), Path: bad.Path, Line: bad.Line, Value: bad.Value, Message: bad.Message, Hint: bad.Hint}
}

// refuse closes the record with an answer.
func (p *planner) refuse(r *Refusal) {
	d := &p.out.Decision
	d.Operational = nil // what was noted on the way explains reasons that no longer count
	switch r.Outcome() {
	case OutcomeRejected:
		d.Outcome, d.Rejection = OutcomeRejected, &Refusal{Code: r.Code, Path: r.Path, Line: r.Line}
		d.say(r)
	case OutcomeWaiting, OutcomeCandidate, OutcomeConflict:
		d.wait(r)
	}
	switch d.Stage {
	case StageProtocol:
		d.Validity.ProtocolValid = new(false)
	case StageApplicability:
		d.Validity.ProtocolValid, d.Validity.PatchValid = new(true), new(r.Code == CodeAlreadyLanded)
	case StagePrecondition, StageChecks, StageCommit, StageAccepted:
	}
}
