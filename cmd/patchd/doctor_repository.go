package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/worktree/git"
)

// examineRepository looks at one repository and the branch to be guarded.
func (d *doctorCmd) examineRepository(ctx context.Context, a *app) []finding {
	const name = "repository"
	dir := a.path(d.Repo)
	if dir == "" {
		dir = a.dir
	}
	repo, err := git.Open(ctx, dir, git.Options{Logger: a.log, UserEnv: a.environ()})
	var none *git.NotRepositoryError
	var unsupported *git.UnsupportedError
	switch {
	case errors.As(err, &none) && d.Repo == "":
		return []finding{warn(name, dir+" is in no git repository", "run it in one, or name one: patchd doctor DIR")}
	case errors.As(err, &unsupported):
		return []finding{bad(name, dir+": patchd does not serve "+unsupported.What, unsupported.Hint)}
	case err != nil:
		return []finding{bad(name, err.Error(), "name a directory of a git repository")}
	}
	defer func() { _ = repo.Close() }()
	out := []finding{good(name, repo.Dir()), examineLocks(repo)}
	ref := api.FullRef(d.Target)
	if ref == "" {
		if ref, err = defaultTarget(ctx, repo); err != nil {
			return append(out, bad("target", err.Error(), "name the branch: --target BRANCH"))
		}
	}
	tip, found, err := repo.Resolve(ctx, ref)
	if err != nil || !found {
		return append(out, bad("target", fmt.Sprintf("there is no branch %s", ref), "create it, or name another: --target BRANCH"))
	}
	return append(out, good("target", fmt.Sprintf("%s at %s", ref, short(tip))), examinePolicy(ctx, repo, tip), examineCheckouts(ctx, repo, ref), examinePools(ctx, repo))
}

func examineLocks(repo *git.Repo) finding {
	const name = "locks"
	locks, err := repo.StaleLocks()
	if err != nil {
		return warn(name, err.Error(), "make the repository readable")
	}
	if len(locks) == 0 {
		return good(name, "none is held")
	}
	return warn(name, "held or left behind: "+strings.Join(locks, ", "), "when no git runs in this repository, remove them: rm "+strings.Join(locks, " "))
}

func examinePolicy(ctx context.Context, repo *git.Repo, tip git.OID) finding {
	const name = "policy"
	commit, err := repo.ReadCommit(ctx, tip)
	if err != nil {
		return bad(name, err.Error(), "run git fsck")
	}
	entry, err := git.Lookup(ctx, repo, commit.Tree, coordinator.PolicyPath)
	if err != nil {
		return bad(name, err.Error(), "run git fsck")
	}
	if entry.IsZero() {
		return warn(name, "no "+coordinator.PolicyPath+" at the target: patches that ask for checks wait", "run patchd init and commit the file to the target")
	}
	raw, err := repo.ReadBlob(ctx, entry.OID)
	if err == nil {
		_, err = coordinator.ParsePolicy(raw)
	}
	if err != nil {
		return bad(name, err.Error(), "mend the file on the target; until then every patch waits with policy_invalid")
	}
	return good(name, coordinator.PolicyPath+" at the target is valid")
}

// examineCheckouts looks whether somebody works on the guarded branch itself.
func examineCheckouts(ctx context.Context, repo *git.Repo, ref git.Ref) finding {
	const name = "checkouts"
	all, err := repo.Worktrees(ctx)
	if err != nil {
		return warn(name, err.Error(), "run git worktree prune")
	}
	for _, t := range all {
		if t.Branch != ref || t.Bare || t.Prunable {
			continue
		}
		dirty, err := isDirty(ctx, repo, t)
		switch {
		case err != nil:
			return warn(name, fmt.Sprintf("%s is checked out in %s, whose state cannot be read: %v", ref, t.Path, err), "make the worktree readable")
		case dirty:
			return warn(name, fmt.Sprintf("%s is checked out in %s with changes that are not committed", ref, t.Path), "work on another branch: git -C "+t.Path+" switch -c NAME")
		}
		return good(name, fmt.Sprintf("%s is checked out in %s, without changes", ref, t.Path))
	}
	return good(name, fmt.Sprintf("%s is checked out nowhere", ref))
}

func isDirty(ctx context.Context, repo *git.Repo, t git.Worktree) (bool, error) {
	tree, err := repo.WorktreeTree(ctx, t.Path, t.Head)
	if err != nil {
		return false, err
	}
	commit, err := repo.ReadCommit(ctx, t.Head)
	if err != nil {
		return false, err
	}
	return tree != commit.Tree, nil
}

// examinePools looks for worktrees that a crash left behind.
func examinePools(ctx context.Context, repo *git.Repo) finding {
	const name = "worktrees"
	list, err := listWorktrees(ctx, repo)
	if err != nil {
		return warn(name, err.Error(), "run git worktree prune")
	}
	var pooled, gone []string
	for _, t := range list {
		if t.Prunable {
			gone = append(gone, t.Path)
		}
		if t.Pooled {
			pooled = append(pooled, filepath.Dir(t.Path))
		}
	}
	if len(gone) > 0 {
		return warn(name, "git lists worktrees that are gone: "+strings.Join(gone, ", "), "git worktree prune")
	}
	if len(pooled) > 0 {
		return good(name, fmt.Sprintf("%d are patchd's; after a crash: patchd worktree prune", len(pooled)))
	}
	return good(name, fmt.Sprintf("%d, all yours", len(list)))
}
