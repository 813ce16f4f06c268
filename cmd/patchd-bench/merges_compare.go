package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/program"
	"patchd/coordinator"
)

// compare decides a case with the program and holds its record against the engine's.
func (m *mergesCmd) compare(ctx context.Context, b *bench, s *stand, c history.Merge, patch [2][]byte, want *coordinator.Decision, r *mergesReport) error {
	files := [2]string{filepath.Join(b.scratch, "manifest.json"), filepath.Join(b.scratch, "patch.diff")}
	for i, name := range files {
		if err := os.WriteFile(name, patch[i], 0o600); err != nil {
			return fmt.Errorf("write patch: %w", err)
		}
	}
	out, err := program.At(m.Patchd, b.searchPath).JSON(ctx, "decide", "--repo", s.Dir, "--target", string(c.Target),
		"--manifest", files[0], "--diff", files[1], "--skip-checks")
	if err != nil {
		return err
	}
	var got coordinator.Decision
	if err := json.Unmarshal(out, &got); err != nil {
		return fmt.Errorf("read record of merge %s: %w", c.Commit, err)
	}
	r.Sampled++
	if got.PlanDigest != want.PlanDigest || got.DecisionDigest != want.DecisionDigest {
		r.Differ++
		r.Faults = append(r.Faults, fmt.Sprintf("merge %s: the program's record has digest %s, the engine's %s", c.Commit, got.DecisionDigest, want.DecisionDigest))
	}
	return nil
}

func renderMerges(w io.Writer, reports []*mergesReport) {
	rows := [][]string{{"repository", "cases", "clean", "fixed", "textual", "candidates", "other tree", "git conflicts", "to review", "of git-clean", "same symbol", "other", "coupled", "owners only", "refused", "sample", "differs", "ms/decision"}}
	for _, r := range reports {
		gitClean := r.Clean + r.Fixed
		rows = append(rows, []string{
			r.Repo, strconv.Itoa(r.Cases), strconv.Itoa(r.Clean), strconv.Itoa(r.Fixed), strconv.Itoa(r.Textual), strconv.Itoa(r.Candidates),
			strconv.Itoa(r.OtherTree), strconv.Itoa(r.Conflicted), strconv.Itoa(r.Review), percent(r.Review, gitClean), percent(r.SameSymbol, gitClean), percent(r.Other, gitClean), percent(r.Coupled, gitClean), strconv.Itoa(r.Owners), strconv.Itoa(r.Refused),
			strconv.Itoa(r.Sampled), strconv.Itoa(r.Differ), fmt.Sprintf("%.1f", float64(r.WallMS)/float64(max(r.Cases, 1))),
		})
	}
	table(w, rows)
	for _, r := range reports {
		line(w, "%s: git-clean cases that are no candidates: by class %s; by code %s", r.Repo, counts(r.ByClass), counts(r.ByCode))
		for _, f := range r.Faults {
			line(w, "FAULT %s: %s", r.Repo, f)
		}
	}
}

// counts writes a tally in the order of its names.
func counts(tally map[string]int) string {
	if len(tally) == 0 {
		return "none"
	}
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(tally)) {
		parts = append(parts, k+" "+strconv.Itoa(tally[k]))
	}
	return strings.Join(parts, ", ")
}
