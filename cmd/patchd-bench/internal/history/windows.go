package history

import (
	"context"
	"fmt"
	"slices"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// Window is a run of consecutive commits taken as patches that are pending at once on the commit before the first of them.
type Window struct {
	Base   git.OID // where all patches start; it holds the policy where one was wanted
	Picks  []Pick
	Builds int // commits that git cannot carry to the base: they edit what an earlier one of the window wrote
}

// WindowOptions choose windows.
type WindowOptions struct {
	Size, N, Skip int
	Policy        []byte // put into each base, where not empty
}

// Windows gives windows that do not overlap, the newest first. A window that needs an object which the repository does not
// hold is left out. repo must be the scratch repository.
func Windows(ctx context.Context, s *Scratch, repo *git.Repo, opt WindowOptions) ([]Window, error) {
	chain, err := s.chain(ctx, opt.Skip+(2*opt.N+1)*opt.Size)
	if err != nil {
		return nil, err
	}
	var out []Window
	for first := opt.Skip; first+opt.Size < len(chain) && len(out) < opt.N; first += opt.Size {
		w, ok, err := s.window(ctx, repo, chain[first:first+opt.Size+1], opt.Policy)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, w)
		}
	}
	return out, nil
}

// window makes patches of all commits of a piece of the chain but the last, which is the base.
func (s *Scratch) window(ctx context.Context, repo *git.Repo, chain []link, policy []byte) (w Window, ok bool, err error) {
	last := len(chain) - 1
	base, tree, err := WithPolicy(ctx, repo, chain[last].commit, policy)
	if err != nil {
		return w, false, err
	}
	w.Base = base
	for i := last - 1; i >= 0; i-- {
		if len(chain[i].paths) == 0 {
			continue
		}
		p := Pick{Commit: chain[i].commit, Base: base, Target: base}
		fits, ok, err := p.carry(ctx, s, repo, chain[i+1].commit, tree)
		if err != nil || !ok {
			return w, false, err
		}
		if !fits {
			w.Builds++
			continue
		}
		w.Picks = append(w.Picks, p)
	}
	return w, true, nil
}

// carry makes the patch of a commit on another base. It is not ok where an object is missing; it does not fit where it edits
// lines that the base does not have, or nothing of it is left.
func (p *Pick) carry(ctx context.Context, s *Scratch, repo *git.Repo, parent, baseTree git.OID) (fits, ok bool, err error) {
	var trees [2]git.OID
	for i, id := range []git.OID{parent, p.Commit} {
		c, err := repo.ReadCommit(ctx, id)
		if err != nil {
			return false, false, fmt.Errorf("read commit: %w", err)
		}
		trees[i] = c.Tree
	}
	merged, err := repo.MergeTree(ctx, nil, trees[0], baseTree, trees[1])
	if err != nil {
		return false, false, ctx.Err()
	}
	over := merged.Reader(repo)
	p.Tree = merged.Tree
	if !merged.Clean {
		if p.Tree, err = insertAnyway(ctx, over, merged, trees[0], baseTree, trees[1]); err != nil || p.Tree == "" {
			return false, err == nil, ctx.Err()
		}
	}
	if p.Tree == baseTree {
		return false, true, nil
	}
	if err := repo.WritePack(ctx, over.Objects()); err != nil {
		return false, false, fmt.Errorf("keep tree at base: %w", err)
	}
	if p.Paths, err = s.Changed(ctx, baseTree, p.Tree); err != nil {
		return false, false, ctx.Err()
	}
	p.Diff, err = s.Diff(ctx, baseTree, p.Tree)
	if err != nil {
		return false, false, ctx.Err()
	}
	return true, true, nil
}

// WithPolicy gives a commit that holds the policy, made on top of the one given, and its tree.
func WithPolicy(ctx context.Context, repo *git.Repo, at git.OID, policy []byte) (commit, tree git.OID, err error) {
	c, err := repo.ReadCommit(ctx, at)
	if err != nil {
		return "", "", fmt.Errorf("read base: %w", err)
	}
	if len(policy) == 0 {
		return at, c.Tree, nil
	}
	over := git.NewOverlay(repo)
	entry := git.Entry{Mode: git.ModeFile, OID: over.PutBlob(slices.Clone(policy))}
	if tree, err = git.EditTree(ctx, over, c.Tree, []git.TreeEdit{{Path: coordinator.PolicyPath, Entry: entry}}); err != nil {
		return "", "", fmt.Errorf("add policy: %w", err)
	}
	commit = over.PutCommit(git.Commit{Tree: tree, Parents: []git.OID{at}, Author: c.Committer, Committer: c.Committer, Message: "policy\n"})
	if err := repo.WritePack(ctx, over.Objects()); err != nil {
		return "", "", fmt.Errorf("keep policy: %w", err)
	}
	return commit, tree, nil
}

// WithPolicyOf gives a tree with the policy file of a commit, or without one where it has none.
func WithPolicyOf(ctx context.Context, over *git.Overlay, tree, commit git.OID) (git.OID, error) {
	c, err := over.ReadCommit(ctx, commit)
	if err != nil {
		return "", fmt.Errorf("read target: %w", err)
	}
	entry, err := git.Lookup(ctx, over, c.Tree, coordinator.PolicyPath)
	if err != nil {
		return "", fmt.Errorf("look for a policy: %w", err)
	}
	tree, err = git.EditTree(ctx, git.NewOverlay(over), tree, []git.TreeEdit{{Path: coordinator.PolicyPath, Entry: entry}})
	if err != nil {
		return "", fmt.Errorf("replace policy: %w", err)
	}
	return tree, nil
}
