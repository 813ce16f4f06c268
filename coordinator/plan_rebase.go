package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"patchd/ownership"
	"patchd/worktree"
	"patchd/worktree/git"
)

// sinceBase is what happened to the target from the base to T, as far as the patch needs it.
type sinceBase struct {
	*worktree.Since
	checks []string // the Required-Check trailers of A..T
	landed bool     // one of A..T carries the patch's identity
}

// paths lists what the target touched since the base, sorted.
func (s *sinceBase) paths() []string {
	out := make([]string, len(s.Changes))
	for i, c := range s.Changes {
		out[i] = c.Path
	}
	return out
}

// applicability: the diff applies to its own base exactly; what happened since leaves it something to do; and lines,
// symbols and owners of both sides stand together.
func (p *planner) applicability(ctx context.Context) error {
	if p.applyErr != nil {
		return refusalOf(p.applyErr)
	}
	if err := p.readSince(ctx); err != nil {
		return err
	}
	rebased, err := p.rebase(ctx)
	if err != nil {
		return err
	}
	if p.since.landed || rebased.AlreadyLanded {
		return p.alreadyLanded()
	}
	reasons, err := p.reasons(ctx, rebased)
	if err != nil {
		return err
	}
	if reasons, err = p.unresolved(ctx, reasons, rebased); err != nil {
		return err
	}
	p.out.Checks, err = p.requiredChecks()
	if err != nil {
		return err
	}
	if rebased.Tree != "" {
		p.out.Tree = rebased.Tree
		if err := p.resultPolicy(ctx, rebased.Tree); err != nil {
			return err
		}
	}
	if len(reasons) > 0 {
		return p.conflict(ctx, reasons, rebased)
	}
	return p.candidate(ctx, rebased)
}

func (p *planner) alreadyLanded() *Refusal {
	why := "all its edits are in the target"
	if p.since.landed {
		why = "a commit between base and target carries its identity"
	}
	return &Refusal{
		Code: CodeAlreadyLanded, Value: string(p.submission.Identity), Message: "the patch has landed: " + why,
		Hint: "withdraw it; to land it again after a revert, submit it on a base after the revert",
	}
}

// readSince reads the since-base change and the trailers of what landed.
func (p *planner) readSince(ctx context.Context) error {
	since, err := p.engine.cache.since(ctx, p.objects, p.manifest.BaseCommit, p.ground.tip.OID)
	if err != nil {
		return fmt.Errorf("read changes since the base: %w", err)
	}
	p.since = &sinceBase{Since: since}
	p.out.Decision.Rules.SinceBase = since.Kind
	trailers, err := p.engine.cache.trailers(ctx, p.engine.repo, p.manifest.BaseCommit, p.target)
	if err != nil {
		return fmt.Errorf("read trailers since the base: %w", err)
	}
	p.since.checks = trailers.checks
	p.since.landed, err = p.landedUnder(trailers.landings[p.submission.Identity])
	return err
}

// merger is who gives git's opinion: git, unless many patches ask together.
func (p *planner) merger() worktree.Merger {
	if p.around.merger != nil {
		return p.around.merger
	}
	return p.engine.repo
}

func (p *planner) rebase(ctx context.Context) (*worktree.Result, error) {
	return worktree.Rebase(ctx, worktree.RebaseInput{
		Overlay: p.objects, Merger: p.merger(), Patch: p.side, Since: p.since.Since, Rules: p.rules(),
	})
}

// reasons collects what speaks against the rebased patch: lines, symbols, owners.
func (p *planner) reasons(ctx context.Context, r *worktree.Result) ([]Reason, error) {
	var out []Reason
	for _, x := range r.Reasons {
		class, err := ClassOf(Code(x.Code))
		if err != nil {
			return nil, err
		}
		out = append(out, Reason{Class: class, Code: Code(x.Code), Path: x.Path, BaseLines: lineRange(x.BaseLines), TargetLines: lineRange(x.TargetLines), With: string(p.target)})
		p.note(Code(x.Code), x.Path, x.Detail)
	}
	for _, path := range p.inspected.Retyped {
		out = append(out, Reason{Class: ClassTextual, Code: CodeMode, Path: path, With: string(p.target)})
		p.note(CodeMode, path, fmt.Sprintf("%q turns from a file into a symbolic link, or back", path))
	}
	structural, err := p.structural(ctx, r)
	if err != nil {
		return nil, err
	}
	for _, x := range p.policy.sharedInvariants(p.side.Paths(), p.since.paths()) {
		x.With = string(p.target)
		out = append(out, x)
		p.note(CodeInvariantShared, x.Path, fmt.Sprintf("the target changed other files of the invariant %q since the base", x.Symbol))
	}
	owners, err := p.ownerApprovals(ctx)
	return slices.Concat(out, structural, owners), err
}

// structural compares both sides by their symbols.
func (p *planner) structural(ctx context.Context, r *worktree.Result) ([]Reason, error) {
	in := ownership.Input{
		LeftOwned: p.declared(), LeftName: "the patch", RightName: "the target",
		SameSymbol: ownership.SameSymbol(p.policy.Ownership.SameSymbol), ReviewCoupled: p.policy.Ownership.Coupled == "review",
	}
	chosen := p.engine.loading.Files(p.side.Paths(), p.since.paths(), relatedFiles)
	target, err := p.sinceSide(ctx, r.Target, chosen)
	if err != nil {
		return nil, err
	}
	if in.Files, err = comparedFiles(ctx, p.objects, p.side, target, chosen, p.policy); err != nil || len(in.Files) == 0 {
		return nil, err
	}
	found, err := ownership.Classify(ctx, p.engine.outlines, in)
	if err != nil {
		return nil, fmt.Errorf("compare symbols: %w", err)
	}
	return p.adopt(found)
}

// sinceSide is what happened to the target in the files that the patch meets and in those that were chosen beside them.
func (p *planner) sinceSide(ctx context.Context, met *worktree.Side, chosen []string) (*worktree.Side, error) {
	more, err := p.since.SideOf(ctx, p.objects, func(path string) bool {
		_, known := met.File(path)
		return !known && slices.Contains(chosen, path)
	})
	if err != nil {
		return nil, fmt.Errorf("read files beside the patch's: %w", err)
	}
	return &worktree.Side{Base: met.Base, Result: met.Result, Files: slices.Concat(met.Files, more.Files)}, nil
}

// adopt turns ownership's words into the record's.
func (p *planner) adopt(found *ownership.Result) ([]Reason, error) {
	var out []Reason
	for _, x := range found.Reasons {
		class, err := ClassOf(Code(x.Code))
		if err != nil {
			return nil, err
		}
		out = append(out, Reason{
			Class: class, Code: Code(x.Code), Path: x.Path, Symbol: x.Symbol, BaseLines: lineRange(x.BaseLines), TargetLines: lineRange(x.RightLines), With: string(p.target),
		})
		p.note(Code(x.Code), x.Path, x.Detail)
		p.evidence(x)
	}
	d := &p.out.Decision
	for _, x := range found.Coupled {
		d.Coupled = append(d.Coupled, Coupling{Path: x.Path, Symbol: x.Symbol, BaseLines: lineRange(x.BaseLines), TargetLines: lineRange(x.RightLines)})
	}
	for _, x := range found.Degraded {
		d.Degraded = append(d.Degraded, Degraded{Path: x.Path, Why: string(x.Why)})
	}
	d.Degraded = sortDegraded(d.Degraded)
	return out, nil
}

// evidence keeps where the symbol of a reason stands in each version.
func (p *planner) evidence(x ownership.Reason) {
	d := &p.out.Decision
	if d.Operational == nil {
		d.Operational = &Operational{}
	}
	d.Operational.Evidence = append(d.Operational.Evidence, Evidence{
		Code: Code(x.Code), Path: x.Path, Symbol: x.Symbol, Base: placeOf(x.Base), Patch: placeOf(x.Left), Target: placeOf(x.Right), Sentence: x.Detail,
	})
}

func placeOf(p *ownership.Place) *Place {
	if p == nil {
		return nil
	}
	return &Place{Path: p.Path, Lines: LineRange{p.Lines.Start, p.Lines.End}, Header: p.Header}
}

// ownerApprovals asks the target's owner rules, its CODEOWNERS file, and patchd's own rule: what governs the repository is
// changed with an approval only.
func (p *planner) ownerApprovals(ctx context.Context) ([]Reason, error) {
	owners, err := p.engine.ownersAt(ctx, p.targetCommit.Tree, p.policy)
	if err != nil {
		return nil, err
	}
	var out []Reason
	for _, path := range p.side.Paths() {
		approvers := owners.Required(path)
		if len(approvers) == 0 && !governs(path) {
			continue
		}
		out = append(out, Reason{Class: ClassBehavioral, Code: CodeOwnerApproval, Path: path, Approvers: approvers, With: string(p.target)})
		p.note(CodeOwnerApproval, path, fmt.Sprintf("%q is changed with an approval only", path))
	}
	return out, nil
}

// requiredChecks is the union of checks; none for a patch that mends the policy, which nobody can ask for one.
func (p *planner) requiredChecks() ([]Check, error) {
	if p.policyErr != nil {
		return nil, nil //nolint:nilerr // it is the refusal of an earlier stage
	}
	return requiredChecks(p.policy, p.manifest, touchedBy{patch: p.side.Paths(), since: p.since.paths()}, p.since.checks)
}

// resultPolicy refuses a patch after which the target would have no readable policy.
func (p *planner) resultPolicy(ctx context.Context, tree git.OID) error {
	if !slices.Contains(p.side.Paths(), PolicyPath) {
		return nil
	}
	entry, err := git.Lookup(ctx, p.objects, tree, PolicyPath)
	if err != nil || entry.IsZero() {
		return err
	}
	raw, err := p.objects.ReadBlob(ctx, entry.OID)
	if err != nil {
		return fmt.Errorf("read resulting policy: %w", err)
	}
	if _, err := ParsePolicy(raw); err != nil {
		return &Refusal{Code: CodePolicyInvalid, Path: PolicyPath, Message: fmt.Sprintf("the policy that the patch leaves cannot be read: %v", err), Hint: "correct the patch"}
	}
	return nil
}

// conflict closes the record with reasons and the mechanical merge of the paths that they are about.
func (p *planner) conflict(ctx context.Context, reasons []Reason, r *worktree.Result) error {
	d := &p.out.Decision
	files := map[string]MergedContent{}
	for _, f := range r.Files {
		files[f.Path] = MergedContent{Path: f.Path, Blob: f.Blob, Content: f.Content, HasMarkers: f.HasMarkers}
	}
	for _, x := range reasons {
		if err := p.addMerged(ctx, files, x, r.Tree); err != nil {
			return err
		}
	}
	var merge *Merge
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if merge == nil {
			merge = &Merge{}
		}
		f := files[path]
		merge.HasMarkers = merge.HasMarkers || f.HasMarkers
		merge.Files = append(merge.Files, MergeFile{Path: f.Path, Blob: f.Blob, HasMarkers: f.HasMarkers})
		p.out.Merge = append(p.out.Merge, f)
	}
	d.Conflict = newConflict(reasons, merge)
	d.Outcome = OutcomeConflict
	d.Validity.ProtocolValid, d.Validity.PatchValid = new(true), new(d.Conflict.Class == ClassBehavioral)
	return nil
}

// addMerged adds the merged file that a structural reason is about: its lines merge, so it stands in the rebased tree.
func (p *planner) addMerged(ctx context.Context, files map[string]MergedContent, x Reason, tree git.OID) error {
	if _, known := files[x.Path]; known || x.Class != ClassStructural || tree == "" || x.Path == "" {
		return nil
	}
	entry, err := git.Lookup(ctx, p.objects, tree, x.Path)
	if err != nil || !entry.Mode.IsFile() {
		return err
	}
	content, err := p.objects.ReadBlob(ctx, entry.OID)
	if err != nil {
		return fmt.Errorf("read merged %q: %w", x.Path, err)
	}
	files[x.Path] = MergedContent{Path: x.Path, Blob: entry.OID, Content: content}
	return nil
}

// candidate closes the record with the commit that the patch becomes.
func (p *planner) candidate(ctx context.Context, r *worktree.Result) error {
	d := &p.out.Decision
	var err error
	if p.out.meta, err = p.commitMeta(ctx); err != nil {
		return err
	}
	commit := candidateCommit(p.objects, p.ground.tip, r.Tree, p.out)
	d.Candidate = &Candidate{Commit: commit, Tree: r.Tree, Parent: p.ground.tip.OID}
	if p.out.Side, err = worktree.Carry(ctx, p.objects, r); err != nil {
		return err
	}
	p.out.owned = carryHunks(p.declared(), r.Target)
	d.Outcome = OutcomeCandidate
	d.Validity.ProtocolValid, d.Validity.PatchValid = new(true), new(true)
	if len(p.out.Checks) == 0 {
		d.Stage = StageAccepted
		p.note("", "", "no checks are required: nothing was run")
	}
	return nil
}

// note keeps prose that explains a reason.
func (p *planner) note(code Code, path, text string) {
	if text == "" {
		return
	}
	p.out.Decision.say(&Refusal{Code: code, Path: path, Message: text})
}

func lineRange(r [2]int) *LineRange {
	if r == [2]int{} {
		return nil
	}
	out := LineRange(r)
	return &out
}
