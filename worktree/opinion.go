package worktree

import (
	"context"
	"fmt"

	"patchd/worktree/git"
)

// Merger gives git's own three-way merge of trees (*git.Repo does).
type Merger interface {
	MergeTree(ctx context.Context, ov *git.Overlay, base, ours, theirs git.OID) (git.MergeResult, error)
}

// Opinion asks git to merge two sides whose files were compared and composed into tree, and gives a
// placement_ambiguous reason for every path where the lines merge and git conflicts or makes something else.
// Union paths are not asked about. It starts one git process, and none unless c.NeedsOpinion.
func Opinion(ctx context.Context, merger Merger, ov *git.Overlay, c *Comparison, left, right *Side, tree git.OID) ([]Reason, error) {
	if !c.NeedsOpinion() {
		return nil, nil
	}
	got, err := merger.MergeTree(ctx, ov, left.Base, left.Result, right.Result)
	if err != nil {
		return nil, fmt.Errorf("ask git for its merge: %w", err)
	}
	if got.Clean && got.Tree == tree {
		return nil, nil
	}
	differing, err := git.DiffTrees(ctx, got.Reader(ov), tree, got.Tree)
	if err != nil {
		return nil, fmt.Errorf("compare with git's merge: %w", err)
	}
	disagree := map[string]string{}
	for _, d := range differing {
		disagree[d.Path] = "git's merge gives another content"
	}
	for _, conflict := range got.Conflicts {
		disagree[conflict.Path] = "git's merge conflicts"
	}
	return c.disagreements(disagree, got.Clean), nil
}

// disagreements keeps the paths where git's opinion counts.
func (c *Comparison) disagreements(disagree map[string]string, clean bool) []Reason {
	judged, exempt := map[string]bool{}, map[string]bool{}
	var asked []string
	for _, m := range c.meetings {
		for _, path := range m.paths() {
			switch {
			case m.union || m.textual():
				exempt[path] = true
			case m.shared():
				judged[path] = true
				asked = append(asked, path)
			}
		}
	}
	var out []Reason
	blocked := c.textual()
	for _, path := range sortedKeys(disagree) {
		if exempt[path] || blocked && !judged[path] {
			continue
		}
		out = append(out, Reason{Code: PlacementAmbiguous, Path: path, Detail: disagree[path]})
	}
	if len(out) == 0 && !clean && !blocked && len(exempt) == 0 {
		for _, path := range asked {
			out = append(out, Reason{Code: PlacementAmbiguous, Path: path, Detail: "git's merge conflicts"})
		}
	}
	return sortReasons(out)
}
