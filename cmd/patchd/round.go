package main

import (
	"io"
	"strconv"
	"strings"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/service"
)

// renderRound writes a round for people: how it stands, who is in it, what was tried, whom a failure is blamed on.
func renderRound(w io.Writer, r *service.Round) {
	line(w, "round      %d of %s, %s: %s%s", r.Number, r.Target, r.Repo, r.Status, inParentheses(string(r.Code)))
	if r.Message != "" {
		line(w, "           %s", r.Message)
	}
	if r.On != "" {
		line(w, "on         %s", r.On)
	}
	if r.Head != "" {
		line(w, "head       %s (tree %s)", r.Head, r.Tree)
	}
	for _, m := range r.Members {
		line(w, "patch      %s %s%s", m.Identity.Short(), m.Status, inParentheses(short(m.Commit)))
	}
	for i, p := range r.Passes {
		line(w, "tried      composition %d: %d patches, tree %s", i+1, len(p.Members), short(p.Tree))
		for _, check := range p.Checks {
			line(w, "  check    %s: %s", check.Command, dash(check.Verdict))
		}
		if p.Runs > 0 {
			line(w, "  search   %d questions to checks, asked or remembered", p.Runs)
		}
	}
	for _, b := range r.Blames {
		line(w, "blamed     %s %s %s", b.Identity.Short(), b.Code, blameText(b))
	}
	line(w, "by         %s at %s", r.By, r.CreatedAt.UTC().Format(time.RFC3339))
}

func blameText(b coordinator.RecordedBlame) string {
	if b.Wide {
		return "(the search could not clear it)"
	}
	ids := make([]string, len(b.Subset))
	for i, id := range b.Subset {
		ids[i] = id.Short()
	}
	return strconv.Quote(b.Command) + " fails on " + strings.Join(ids, ", ")
}

func roundTable(w io.Writer, rounds []service.Round) {
	if len(rounds) == 0 {
		line(w, "no rounds")
		return
	}
	rows := [][]string{{"ROUND", "STATUS", "PATCHES", "BLAMED", "HEAD", "BY", "AT", "WHY"}}
	for _, r := range rounds {
		blamed := map[coordinator.Identity]bool{}
		for _, b := range r.Blames {
			blamed[b.Identity] = true
		}
		rows = append(rows, []string{
			strconv.FormatInt(r.Number, 10), r.Status, strconv.Itoa(len(r.Members)), strconv.Itoa(len(blamed)), dash(short(r.Head)), r.By,
			r.CreatedAt.UTC().Format(time.RFC3339), r.Message,
		})
	}
	table(w, rows)
}
