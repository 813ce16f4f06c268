package coordinator

import (
	"context"
	"fmt"
	"slices"

	"patchd/worktree"
	"patchd/worktree/git"
)

// unresolved drops the reasons that people have taken upon themselves in exactly this case: owners who approved, reviewers who
// accepted the mechanical merge. What they judged moves to the record's list of resolved reasons.
func (p *planner) unresolved(ctx context.Context, reasons []Reason, r *worktree.Result) ([]Reason, error) {
	if len(reasons) == 0 || r.Tree == "" {
		return reasons, nil
	}
	var approvals, others []Reason
	for _, x := range reasons {
		if x.Code == CodeOwnerApproval {
			approvals = append(approvals, x)
		} else {
			others = append(others, x)
		}
	}
	var open []Reason
	for _, part := range []struct {
		action  Action
		reasons []Reason
	}{{ActionAccept, others}, {ActionApprove, approvals}} {
		if len(part.reasons) == 0 {
			continue
		}
		c, err := p.caseAt(ctx, part.reasons, r.Tree)
		if err != nil {
			return nil, err
		}
		holds, err := p.around.Rulings.holds(part.action, p.submission.Identity, c)
		if err != nil {
			return nil, err
		}
		if holds {
			p.out.Decision.Resolved = append(p.out.Decision.Resolved, part.reasons...)
		} else {
			open = append(open, part.reasons...)
		}
		p.out.cases = append(p.out.cases, openCase{action: part.action, c: c, holds: holds})
	}
	slices.SortFunc(p.out.Decision.Resolved, compareReasons)
	return open, nil
}

// openCase is a case of a plan that an action may settle.
type openCase struct {
	action Action
	c      Case
	holds  bool
}

// CaseFor is the case that an action on this plan's own reasons would bind; false where there is nothing to do for it.
func (p *Plan) CaseFor(action Action) (Case, bool) {
	for _, o := range p.cases {
		if o.action == action && !o.holds {
			return o.c, true
		}
	}
	return Case{}, false
}

// caseAt is the case of reasons whose result is a tree.
func (p *planner) caseAt(ctx context.Context, reasons []Reason, tree git.OID) (Case, error) {
	blobs, err := blobsAt(ctx, p.objects, tree, reasons)
	if err != nil {
		return Case{}, err
	}
	return caseOf(p.submission.Identity, reasons, blobs), nil
}

// landedUnder reports whether the patch counts as landed: a commit since the base carries it, and nobody reopened it. What a
// person reopens is the patch with exactly the landings that it had then; what lands and is taken back after that is for a
// person again.
func (p *planner) landedUnder(commits []git.OID) (bool, error) {
	if len(commits) == 0 && len(p.around.Reverted) == 0 {
		return false, nil
	}
	c := reopenCase(p.submission.Identity, slices.Concat(commits, p.around.Reverted))
	reopened, err := p.around.Rulings.holds(ActionReopen, p.submission.Identity, c)
	if err != nil {
		return false, err
	}
	p.out.cases = append(p.out.cases, openCase{action: ActionReopen, c: c, holds: reopened})
	if reopened {
		return false, nil
	}
	if len(p.around.Reverted) > 0 {
		return false, &Refusal{
			Code: CodeLandingReverted, Value: string(p.submission.Identity), Message: "the patch has landed, and the target no longer holds its commit",
			Hint: "reopen it to have it decided again, or withdraw it",
		}
	}
	return true, nil
}

func reopenCase(id Identity, commits []git.OID) Case {
	return Case{Identities: []Identity{id}, Landings: commits}.Sorted()
}

// ReopenCase is what reopen binds of a patch that has landed: the commits since its base that carry it, and those of its
// recorded landings where none of them counts any more.
func (e *Engine) ReopenCase(ctx context.Context, target git.OID, s *Submission, landings []Landing) (Case, error) {
	t, err := e.cache.trailers(ctx, e.repo, s.Manifest.BaseCommit, target)
	if err != nil {
		return Case{}, fmt.Errorf("read trailers since the base: %w", err)
	}
	commits := slices.Clone(t.landings[s.Identity])
	counts := slices.ContainsFunc(landings, func(l Landing) bool { return l.Identity == s.Identity && l.Counts })
	for _, l := range landings {
		if l.Identity == s.Identity && !counts {
			commits = append(commits, git.OID(l.Commit))
		}
	}
	return reopenCase(s.Identity, commits), nil
}
