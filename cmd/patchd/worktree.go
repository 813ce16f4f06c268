package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"patchd/worktree"
	"patchd/worktree/git"
)

type worktreeCmd struct {
	List  worktreeListCmd  `cmd:"" help:"List the repository's worktrees and whose they are."`
	Prune worktreePruneCmd `cmd:"" help:"Remove check worktrees that a crash left behind; those in use stay."`
}

type worktreeListCmd struct {
	Repo string `arg:"" optional:"" placeholder:"DIR" help:"The repository; default: that of the working directory."`
}

// worktreeInfo is one worktree as it is listed.
type worktreeInfo struct {
	Path     string  `json:"path"`
	Head     git.OID `json:"head,omitempty"`
	Branch   git.Ref `json:"branch,omitempty"`
	Pooled   bool    `json:"pooled"` // patchd's own, for checks
	Locked   bool    `json:"locked,omitzero"`
	Prunable bool    `json:"prunable,omitzero"`
}

type worktreeDocument struct {
	Worktrees []worktreeInfo `json:"worktrees"`
	Removed   []string       `json:"removed,omitempty"`
}

// poolDir is the directory of the pool that a worktree belongs to, empty for a user's own.
func poolDir(path string) string {
	dir := filepath.Dir(path)
	if strings.HasPrefix(filepath.Base(dir), "patchd-pool-") {
		return dir
	}
	return ""
}

// Run lists worktrees, the main one first.
func (c *worktreeListCmd) Run(ctx context.Context, a *app) error {
	repo, err := a.openRepository(ctx, c.Repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	list, err := listWorktrees(ctx, repo)
	if err != nil {
		return err
	}
	return a.emit(worktreeDocument{Worktrees: list}, func(w io.Writer) {
		rows := [][]string{{"PATH", "HEAD", "BRANCH", "WHOSE"}}
		for _, t := range list {
			rows = append(rows, []string{t.Path, short(t.Head), dash(strings.TrimPrefix(string(t.Branch), "refs/heads/")), whose(t)})
		}
		table(w, rows)
	})
}

func listWorktrees(ctx context.Context, repo *git.Repo) ([]worktreeInfo, error) {
	all, err := repo.Worktrees(ctx)
	if err != nil {
		return nil, err
	}
	list := []worktreeInfo{}
	for _, t := range all {
		list = append(list, worktreeInfo{t.Path, t.Head, t.Branch, poolDir(t.Path) != "", t.Locked, t.Prunable})
	}
	return list, nil
}

func whose(t worktreeInfo) string {
	s := "yours"
	if t.Pooled {
		s = "patchd's, for checks"
	}
	if t.Prunable {
		s += " (gone)"
	}
	return s
}

type worktreePruneCmd struct {
	Repo string `arg:"" optional:"" placeholder:"DIR" help:"The repository; default: that of the working directory."`
}

// Run removes what pools of killed processes left: opening a pool beside them does so, and leaves live ones alone.
func (c *worktreePruneCmd) Run(ctx context.Context, a *app) error {
	repo, err := a.openRepository(ctx, c.Repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	before, err := listWorktrees(ctx, repo)
	if err != nil {
		return err
	}
	for _, parent := range poolParents(before) {
		pool, err := worktree.NewPool(ctx, repo, parent, worktree.PoolOptions{Logger: a.log})
		if err != nil {
			return fmt.Errorf("prune %s: %w", parent, err)
		}
		if err := pool.Close(ctx); err != nil {
			return fmt.Errorf("prune %s: %w", parent, err)
		}
	}
	after, err := listWorktrees(ctx, repo)
	if err != nil {
		return err
	}
	removed := []string{}
	for _, t := range before {
		if !slices.ContainsFunc(after, func(o worktreeInfo) bool { return o.Path == t.Path }) {
			removed = append(removed, t.Path)
		}
	}
	return a.emit(worktreeDocument{after, removed}, func(w io.Writer) {
		line(w, "removed %d worktrees that a crash left behind", len(removed))
		for _, path := range removed {
			line(w, "  %s", path)
		}
	})
}

// poolParents are the directories that hold pools.
func poolParents(list []worktreeInfo) []string {
	var parents []string
	for _, t := range list {
		if dir := poolDir(t.Path); dir != "" {
			parents = append(parents, filepath.Dir(dir))
		}
	}
	slices.Sort(parents)
	return slices.Compact(parents)
}
