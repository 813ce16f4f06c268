package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"

	"patchd/cmd/patchd-bench/internal/baseline"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/worktree"
	"patchd/worktree/git"
)

// poolReport compares moving a pooled worktree to the next tree with adding a worktree there.
type poolReport struct {
	First measure.Summary `json:"first"` // the pool's first use, which adds the worktree
	Move  measure.Summary `json:"move"`  // lease and release
	Add   measure.Summary `json:"add"`   // git worktree add
	Ratio float64         `json:"ratio"`
}

// worktrees walks back through the targets of the patches, once with the pool and once with git.
func (d *decideCmd) worktrees(ctx context.Context, b *bench, s *stand) (r *poolReport, err error) {
	moving := *d
	moving.Back, moving.N = 0, max(1, d.Trees-warmUps+1)
	trials, err := moving.trials(ctx, s, true)
	if err != nil {
		return nil, err
	}
	pool, err := worktree.NewPool(ctx, s.repo, filepath.Join(b.scratch, "pool"), worktree.PoolOptions{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, pool.Close(ctx)) }()
	script, err := baseline.New(s.Git, filepath.Join(b.scratch, "added"))
	if err != nil {
		return nil, err
	}
	var first, moves, adds measure.Sample
	b.say("%s: moving and adding worktrees", s.Name)
	for i, t := range trials {
		start := b.clock()
		if err := lease(ctx, s.repo, pool, t.Target); err != nil {
			return nil, err
		}
		if took := b.clock().Sub(start); i == 0 {
			first = append(first, took)
		} else {
			moves = append(moves, took)
		}
		start = b.clock()
		dir, err := script.Add(ctx, t.Target)
		adds = append(adds, b.clock().Sub(start))
		if err != nil {
			return nil, err
		}
		if err := script.Remove(ctx, dir); err != nil {
			return nil, err
		}
	}
	return &poolReport{first.Summary(), moves.Summary(), adds.Summary(), measure.Ratio(adds.Median(), moves.Median())}, nil
}

// lease takes a worktree at a commit and gives it back.
func lease(ctx context.Context, repo *git.Repo, pool *worktree.Pool, at git.OID) error {
	commit, err := repo.ReadCommit(ctx, at)
	if err != nil {
		return err
	}
	l, err := pool.Acquire(ctx, worktree.LeaseRequest{Tree: commit.Tree, Commit: at})
	if err != nil {
		return err
	}
	l.Release() //nolint:contextcheck // what it cleans up is done whether or not the measurement goes on
	return nil
}

func (doc *decideDocument) render(w io.Writer) {
	line(w, "%s: %d files, git %s", doc.Repo, doc.Files, doc.Git)
	rows := [][]string{{"patches", "way", "at once", "n", "median ms", "p99 ms", "times faster"}}
	add := func(kind, way string, at int, s measure.Summary, ratio float64) {
		if s.N == 0 {
			return
		}
		faster := "-"
		if ratio > 0 {
			faster = fmt.Sprintf("%.0f", ratio)
		}
		rows = append(rows, []string{kind, way, strconv.Itoa(at), strconv.Itoa(s.N), measure.Format(s.MedianMS), measure.Format(s.P99MS), faster})
	}
	for _, r := range doc.Kinds {
		add(r.Kind, "worktree add, apply --3way, commit, remove", 1, r.Script, 0)
		add(r.Kind, "decision", 1, r.Warm, r.Ratio)
		add(r.Kind, "decision, objects kept", 1, r.Kept, r.RatioKept)
		add(r.Kind, "worktree add, apply --3way, commit, remove", r.At, r.ScriptAt, 0)
		add(r.Kind, "decision", r.At, r.WarmAt, r.RatioAt)
	}
	if p := doc.Worktrees; p != nil {
		add("trees", "git worktree add", 1, p.Add, 0)
		add("trees", "pooled worktree, first use", 1, p.First, 0)
		add("trees", "pooled worktree, moved", 1, p.Move, p.Ratio)
	}
	table(w, rows)
	for _, r := range doc.Kinds {
		s := r.StagesMS
		line(w, "%s: outcomes %s; same tree as git %d, other %d; script found conflicts in %d, lost races %d", r.Kind, counts(r.Outcomes), r.SameTree, r.OtherTree, r.Failed, r.Retries)
		line(w, "%s: git processes per decision %.2f (most %d); first decision of an empty engine %s ms", r.Kind, r.Processes, r.MostProcs, measure.Format(r.Cold))
		line(w, "%s: mean %.2f ms = reads %.2f (%.0f calls) + ancestry %.2f + git merge %.2f + outlines %.2f (%.1f calls, %.1f files, %.0f KiB) + computing %.2f; writing the objects %.2f",
			r.Kind, s.Whole, s.Reads, s.ReadCalls, s.Ancestry, s.Merge, s.Outlines, s.OutlineCalls, s.OutlineFiles, s.OutlineKiB, s.Compute, s.Pack)
		line(w, "%s: processor time of a decision %s ms, of the script %s ms: %.0f times less", r.Kind, measure.Format(r.WarmCPU), measure.Format(r.ScriptCPU), r.RatioCPU)
		line(w, "%s: peak memory %s, and %s in git readers and parsers", r.Kind, mib(r.Memory.Peak), mib(r.Children.Peak))
	}
}
