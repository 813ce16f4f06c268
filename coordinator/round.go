package coordinator

import (
	"context"
	"fmt"
	"slices"

	"patchd/worktree/git"
)

// Composition is a dependency-closed set of candidates composed on one target: the tree in which all their edits are applied
// at once, and the chain of commits by which history reaches it.
type Composition struct {
	Target  git.OID
	Commits []RoundCommit // dependencies first, then ascending identity; empty for no members
	Head    git.OID       // the last commit, or the target
	Tree    git.OID
	Objects *git.Overlay
	// Commands is the union of the members' required checks, ascending.
	Commands []BlameCommand
	// Policy is the target's.
	Policy *Policy
}

// RoundCommit is one member as a commit of a round's chain.
type RoundCommit struct {
	Identity Identity `json:"identity"`
	Commit   git.OID  `json:"commit"`
	Tree     git.OID  `json:"tree"`
}

// ComposeRound composes plans at one target. They must be candidates that do not contend, closed under dependency; a
// *NotComposableError says which pair is not.
func (e *Engine) ComposeRound(ctx context.Context, target git.OID, plans []*Plan) (*Composition, error) {
	commit, policy, err := e.policyOf(ctx, target)
	if err != nil {
		return nil, err
	}
	out := &Composition{Target: target, Head: target, Tree: commit.Tree, Objects: git.NewOverlay(e.repo), Policy: policy, Commands: unionOfRound(plans)}
	if len(plans) == 0 {
		return out, nil
	}
	chain, err := e.compose(ctx, out.Objects, commit, plans, e.rulesOf(commit.Tree, policy))
	if err != nil {
		return nil, err
	}
	for _, l := range chain {
		out.Commits = append(out.Commits, RoundCommit{Identity: l.plan.Identity(), Commit: l.commit, Tree: l.tree})
	}
	last := chain[len(chain)-1]
	out.Head, out.Tree = last.commit, last.tree
	return out, nil
}

// PolicyAt is a target commit's policy; that of an empty file where it does not parse.
func (e *Engine) PolicyAt(ctx context.Context, target git.OID) (*Policy, error) {
	_, p, err := e.policyOf(ctx, target)
	return p, err
}

func (e *Engine) policyOf(ctx context.Context, target git.OID) (*git.Commit, *Policy, error) {
	commit, err := e.repo.ReadCommit(ctx, target)
	if err != nil {
		return nil, nil, fmt.Errorf("read target: %w", err)
	}
	_, policy, invalid, err := e.policyIn(ctx, e.repo, commit.Tree)
	if err == nil && invalid != nil {
		policy, err = ParsePolicy(nil)
	}
	return commit, policy, err
}

// unionOfRound merges the members' checks: a command is required by the members that list it, and of the target where policy
// or a landed commit is among its sources.
func unionOfRound(plans []*Plan) []BlameCommand {
	byLine := map[string]*BlameCommand{}
	for _, p := range plans {
		for _, c := range p.Checks {
			b := byLine[c.Command]
			if b == nil {
				b = &BlameCommand{Command: c.Command}
				byLine[c.Command] = b
			}
			b.RequiredBy = append(b.RequiredBy, p.Identity())
			b.OnTarget = b.OnTarget || requiredByTarget(c)
		}
	}
	lines := make([]string, 0, len(byLine))
	for line := range byLine {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out := make([]BlameCommand, 0, len(lines))
	for _, line := range lines {
		b := byLine[line]
		slices.Sort(b.RequiredBy)
		out = append(out, *b)
	}
	return out
}

// BlameMembers are the members of a round as the search for failing subsets sees them.
func BlameMembers(plans []*Plan) []BlameMember {
	in := map[Identity]bool{}
	for _, p := range plans {
		in[p.Identity()] = true
	}
	out := make([]BlameMember, 0, len(plans))
	for _, p := range plans {
		m := BlameMember{Identity: p.Identity()}
		for _, d := range p.Decision.Dependencies {
			if in[d.Identity] {
				m.DependsOn = append(m.DependsOn, d.Identity)
			}
		}
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b BlameMember) int { return compareIdentity(a.Identity, b.Identity) })
	return out
}

// Subset picks the plans of some identities, ascending.
func Subset(plans []*Plan, ids []Identity) []*Plan {
	var out []*Plan
	for _, p := range plans {
		if slices.Contains(ids, p.Identity()) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b *Plan) int { return compareIdentity(a.Identity(), b.Identity()) })
	return out
}

// Closed adds to the chosen members everything that they depend on, ascending.
func Closed(chosen []Identity, states States) []Identity {
	seen := map[Identity]bool{}
	for todo := slices.Clone(chosen); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if seen[id] {
			continue
		}
		seen[id] = true
		if j := states[id]; j != nil && j.Plan != nil {
			for _, d := range j.Plan.Decision.Dependencies {
				todo = append(todo, d.Identity)
			}
		}
	}
	out := make([]Identity, 0, len(seen))
	for id := range seen {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// Sealable lists the members that a default seal takes: uncontended, with a clean plan whose verdicts, as far as there are
// any, do not speak against it. A patch that changes what governs the repository is left out: it is sealed alone.
func Sealable(states States) []Identity {
	var out []Identity
	for id, j := range states {
		if j.Sealable() && !j.Plan.Governs() {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return slices.DeleteFunc(out, func(id Identity) bool {
		return slices.ContainsFunc(states[id].Plan.Decision.Dependencies, func(d Dependency) bool {
			dep := states[d.Identity]
			return dep == nil || !dep.Sealable() || dep.Plan.Governs()
		})
	})
}

// OpenContention lists, in order, the pairs of clean plans that contend once the verdicts are in that are missing of one of the
// two: who composes either waits for these.
func (s States) OpenContention() [][2]Identity {
	var out [][2]Identity
	for id, j := range s {
		for _, other := range j.Meets {
			if id < other {
				out = append(out, [2]Identity{id, other})
			}
		}
	}
	slices.SortFunc(out, func(a, b [2]Identity) int { return slices.Compare(a[:], b[:]) })
	return out
}

// Sealable reports whether a patch may be composed: its plan is clean, nothing contends with it or will when the verdicts are
// in, and no verdict is against it.
func (j *Judged) Sealable() bool {
	return j != nil && j.sound && len(j.Status.Contention) == 0 && len(j.Meets) == 0 && len(j.Status.Blame) == 0
}

// Governs reports whether the patch changes policy, owners or attributes.
func (p *Plan) Governs() bool {
	return slices.ContainsFunc(p.Decision.Patch.Paths, governs)
}
