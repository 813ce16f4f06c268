package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"patchd/worktree"
	"patchd/worktree/git"
)

// maxImplied bounds how many candidates may stand on each other below one base.
const maxImplied = 64

// impliedByBases finds the members whose base is no commit of the target's history but the candidate of another patch: the
// base's trailer names a patch, and D at the base's parent reproduces the base. Such a base is a dependency on that patch, and
// on those whose candidates it stands on in turn.
func (r *stateRun) impliedByBases(ctx context.Context) (map[Identity][]Identity, error) {
	implied := map[Identity][]Identity{}
	known := map[git.OID][]Identity{}
	for _, id := range r.ids {
		base := r.members[id].Submission.Manifest.BaseCommit
		of, done := known[base]
		if !done {
			var err error
			of, err = r.foundation(ctx, base)
			if ctx.Err() != nil {
				return nil, err
			}
			if err != nil {
				r.out[id].Err = fmt.Errorf("look at base %s: %w", base, err)
				continue
			}
			known[base] = of
		}
		if len(of) > 0 && !slices.Contains(of, id) {
			implied[id], r.bases[id] = of, []git.OID{base}
		}
	}
	return implied, nil
}

// foundation lists the patches whose candidates a base stands on, from the base down to the first commit that is none.
func (r *stateRun) foundation(ctx context.Context, base git.OID) ([]Identity, error) {
	var out []Identity
	for range maxImplied {
		of, parent, err := r.reproduced(ctx, base, maxImplied)
		if err != nil || of == "" {
			return out, err
		}
		out, base = append(out, of), parent
	}
	return out, nil
}

// reproduced gives the patch that a commit is the candidate of, and the commit's parent; nothing where it is none, or stands
// in the target's history.
func (r *stateRun) reproduced(ctx context.Context, id git.OID, depth int) (of Identity, parent git.OID, err error) {
	commit, err := r.engine.repo.ReadCommit(ctx, id)
	var missing *git.MissingError
	var wrong *git.TypeError
	if errors.As(err, &missing) || errors.As(err, &wrong) || depth == 0 {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	if of = patchOf(commit); of == "" || len(commit.Parents) != 1 {
		return "", "", nil
	}
	parent = commit.Parents[0]
	if landed, err := r.engine.repo.IsAncestor(ctx, id, r.in.Target); err != nil || landed {
		return "", "", err
	}
	s, err := r.submission(ctx, of)
	if err != nil || s == nil {
		return "", "", err
	}
	around := Circumstances{InSet: true, Rulings: r.in.Rulings}
	below, _, err := r.reproduced(ctx, s.Manifest.BaseCommit, depth-1)
	if err != nil {
		return "", "", err
	}
	if below != "" {
		around.Bases = []git.OID{s.Manifest.BaseCommit}
	}
	plan, err := r.engine.planCached(ctx, parent, s, around)
	if err != nil || !plan.IsCandidate(id) {
		return "", "", err
	}
	return of, parent, nil
}

func (r *stateRun) submission(ctx context.Context, id Identity) (*Submission, error) {
	if m, ok := r.members[id]; ok {
		return m.Submission, nil
	}
	if r.in.Lookup == nil {
		return nil, nil //nolint:nilnil // nobody knows it
	}
	return r.in.Lookup(ctx, id)
}

// patchOf is the identity that a commit's trailer names.
func patchOf(c *git.Commit) Identity {
	for _, t := range worktree.Trailers(c.Message) {
		if t.Key == TrailerIdentity && Digest(t.Value).Valid() {
			return Identity(t.Value)
		}
	}
	return ""
}

// IsCandidate reports whether a commit is the plan's candidate.
func (p *Plan) IsCandidate(id git.OID) bool {
	return p.Decision.Candidate != nil && p.Decision.Candidate.Commit == id
}

// planCached is PlanIn, remembered by everything that it is a function of.
func (e *Engine) planCached(ctx context.Context, target git.OID, s *Submission, around Circumstances) (*Plan, error) {
	around.Rulings = around.Rulings.of(s.Identity)
	key, err := planKey(target, s, around)
	if err != nil {
		return nil, err
	}
	if p, ok := e.cache.plans.Get(key); ok {
		return p, nil
	}
	p, err := e.PlanIn(ctx, target, s, around)
	if err != nil {
		return nil, err
	}
	if w := p.Decision.Waiting; w == nil || w.Code != CodeBaseMissing { // what is missing may arrive
		e.cache.plans.Add(key, p)
	}
	return p, nil
}

func planKey(target git.OID, s *Submission, around Circumstances) (Digest, error) {
	under := make([]Digest, len(around.Under))
	for i, p := range around.Under {
		under[i] = p.Decision.PlanDigest
	}
	return DigestOf(map[string]any{
		"target": target, "identity": s.Identity, "under": under, "bases": around.Bases, "in_set": around.InSet,
		"reverted": around.Reverted, "rulings": around.Rulings,
	})
}

// of keeps what is resolved about one patch.
func (r Rulings) of(id Identity) Rulings {
	var out Rulings
	for _, x := range r {
		if x.Identity == id {
			out = append(out, x)
		}
	}
	return out
}
