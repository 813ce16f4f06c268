package coordinator

import (
	"context"
	"fmt"
	"slices"

	"patchd/worktree"
	"patchd/worktree/git"
)

// ground is what a patch is rebased onto: the target, with the candidates of the patch's dependencies composed on top. Its
// tip is the parent of the patch's candidate.
type ground struct {
	target *git.Commit
	tip    *git.Commit
	chain  []link // dependencies first, then ascending identity; empty for a patch that depends on nothing pending
}

// link is one patch as a commit of a chain.
type link struct {
	plan   *Plan
	commit git.OID
	tree   git.OID
}

// NotComposableError says that two patches that were to be composed do not lie apart. Who composes only what does not
// contend never sees it.
type NotComposableError struct {
	Left, Right Identity
	Reasons     []worktree.Reason
}

// Error names the two patches.
func (e *NotComposableError) Error() string {
	return fmt.Sprintf("patches %s and %s do not compose: %d reasons", e.Left.Short(), e.Right.Short(), len(e.Reasons))
}

// groundOn composes the target with a closed set of plans. Objects of the plans and of the chain go to ov.
func (e *Engine) groundOn(ctx context.Context, ov *git.Overlay, target *git.Commit, plans []*Plan, rules worktree.Rules) (*ground, error) {
	g := &ground{target: target, tip: target}
	if len(plans) == 0 {
		return g, nil
	}
	chain, err := e.compose(ctx, ov, target, plans, rules)
	if err != nil {
		return nil, err
	}
	g.chain = chain
	g.tip, err = ov.ReadCommit(ctx, chain[len(chain)-1].commit)
	if err != nil {
		return nil, fmt.Errorf("read composed dependency: %w", err)
	}
	return g, nil
}

// compose makes the chain of commits by which history reaches the composition of a dependency-closed set of plans on a
// target. The plans' edits are applied to the target at once, dependency level after dependency level, so that the tree
// does not depend on the order of the chain; the chain is dependencies first, then ascending identity.
func (e *Engine) compose(ctx context.Context, ov *git.Overlay, target *git.Commit, plans []*Plan, rules worktree.Rules) ([]link, error) {
	c := &composer{engine: e, ov: ov, target: target, rules: rules, parent: target, trees: map[Identity]git.OID{}}
	for _, p := range plans {
		ov.Adopt(p.Objects)
	}
	current := target.Tree
	for _, level := range levels(plans) {
		var err error
		if current, err = c.addLevel(ctx, current, level); err != nil {
			return nil, err
		}
	}
	return c.chain, nil
}

// composer is one run of compose.
type composer struct {
	engine *Engine
	ov     *git.Overlay
	target *git.Commit
	rules  worktree.Rules
	parent *git.Commit
	chain  []link
	trees  map[Identity]git.OID
}

// addLevel applies the plans of one level to the tree at once, and extends the chain by one commit a plan.
func (c *composer) addLevel(ctx context.Context, tree git.OID, level []*Plan) (git.OID, error) {
	sides := make([]*worktree.Side, len(level))
	for i, p := range level {
		side, err := c.engine.carryTo(ctx, c.ov, p.Side, tree, c.rules)
		if err != nil {
			return "", fmt.Errorf("carry patch %s: %w", p.Identity().Short(), err)
		}
		sides[i] = side
	}
	trees, contacts, err := worktree.ComposeChain(ctx, c.ov, tree, sides, c.rules)
	if err != nil {
		return "", fmt.Errorf("compose: %w", err)
	}
	if len(contacts) > 0 {
		x := contacts[0]
		return "", &NotComposableError{Left: level[x.Left].Identity(), Right: level[x.Right].Identity(), Reasons: x.Reasons}
	}
	for i, p := range level {
		commit := candidateCommit(c.ov, c.parent, trees[i], p)
		if c.parent, err = c.ov.ReadCommit(ctx, commit); err != nil {
			return "", fmt.Errorf("read composed commit: %w", err)
		}
		c.chain = append(c.chain, link{plan: p, commit: commit, tree: trees[i]})
	}
	return trees[len(trees)-1], nil
}

// carryTo expresses a side of one tree as a side of another that holds its base's content and more. The edits were found to
// lie apart from what the other tree adds before anything is composed; what meets all the same is a failure.
func (e *Engine) carryTo(ctx context.Context, ov *git.Overlay, side *worktree.Side, tree git.OID, rules worktree.Rules) (*worktree.Side, error) {
	if side.Base == tree {
		return side, nil
	}
	other, err := worktree.NewSide(ctx, ov, side.Base, tree)
	if err != nil {
		return nil, err
	}
	return carryThrough(ctx, ov, side, other, rules)
}

// carryThrough expresses a side through another change of the tree that it is a side of.
func carryThrough(ctx context.Context, ov *git.Overlay, side, change *worktree.Side, rules worktree.Rules) (*worktree.Side, error) {
	r, err := worktree.RebaseSides(ctx, worktree.SidesInput{Overlay: ov, Patch: side, Target: change, Rules: rules})
	if err != nil {
		return nil, err
	}
	if r.Tree == "" {
		return nil, &NotComposableError{Reasons: r.Reasons}
	}
	return worktree.Carry(ctx, ov, r)
}

// levels sorts a dependency-closed set of plans: each level depends on earlier ones only, and is ascending by identity.
func levels(plans []*Plan) [][]*Plan {
	depth := map[Identity]int{}
	byID := map[Identity]*Plan{}
	for _, p := range plans {
		byID[p.Identity()] = p
	}
	var measure func(p *Plan) int
	measure = func(p *Plan) int {
		if d, ok := depth[p.Identity()]; ok {
			return d
		}
		d := 0
		for _, dep := range p.Decision.Dependencies {
			if q := byID[dep.Identity]; q != nil {
				d = max(d, measure(q)+1)
			}
		}
		depth[p.Identity()] = d
		return d
	}
	var out [][]*Plan
	for _, p := range plans {
		d := measure(p)
		for len(out) <= d {
			out = append(out, nil)
		}
		out[d] = append(out[d], p)
	}
	for _, level := range out {
		slices.SortFunc(level, func(a, b *Plan) int { return compareIdentity(a.Identity(), b.Identity()) })
	}
	return out
}

func compareIdentity(a, b Identity) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
