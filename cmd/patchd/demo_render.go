package main

import (
	"io"
	"slices"
	"strings"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// render writes the demo's story as a table.
func (d demoDocument) render(w io.Writer) {
	line(w, "Commit A is %s. P1 changed parseHeader and landed: main is at %s.", short(d.Base), short(d.Target))
	line(w, "P2 changes other lines of parseHeader, P3 changes another file; both start from A.")
	line(w, "")
	rows := [][]string{{"", ""}}
	for _, r := range d.Runs {
		rows[0] = append(rows[0], r.Name)
	}
	rows[0] = append(rows[0], "SAME")
	for i, decision := range d.Runs[0].Decisions {
		rows = append(rows, d.rows(i, decision)...)
	}
	table(w, rows)
	line(w, "")
	for _, decision := range d.Runs[0].Decisions {
		line(w, "%s %q: %s", decision.Patch, decision.Title, meaning(decision))
	}
	line(w, "")
	if landed := d.Runs[0].Landed; landed != "" {
		line(w, "What is ready was sealed as a round and landed: main is at %s in both orders%s.", short(landed), d.sameAsCandidate(landed))
	}
	if d.Agree {
		line(w, "Every id is the same in both orders and without a daemon (git %s, %.1f s).", d.GitVersion, d.Seconds)
	}
	line(w, "Next, in a repository of your own:")
	line(w, "  patchd doctor                       what is missing, and how to mend it")
	line(w, "  patchd init && patchd serve --repo .")
	line(w, "  patchd submit --base main --wait    from another worktree or branch")
	line(w, "  patchd land --when-green            seal what is ready, check it as one, land it")
}

func (d demoDocument) rows(i int, first demoDecision) [][]string {
	fields := []struct {
		name string
		get  func(demoDecision) string
	}{
		{"outcome", func(x demoDecision) string { return string(x.Outcome) }},
		{"candidate", func(x demoDecision) string { return short(x.Candidate) }},
		{"tree", func(x demoDecision) string { return short(x.Tree) }},
		{"plan digest", func(x demoDecision) string { return short(x.PlanDigest) }},
		{"decision digest", func(x demoDecision) string { return short(x.DecisionDigest) }},
	}
	var rows [][]string
	for _, f := range fields {
		if f.get(first) == "" {
			continue
		}
		row := []string{first.Patch, f.name}
		var values []string
		for _, r := range d.Runs {
			values = append(values, dash(f.get(r.Decisions[i])))
		}
		same := "yes"
		if len(slices.Compact(slices.Clone(values))) > 1 {
			same = "NO"
		}
		rows = append(rows, append(append(row, values...), same))
	}
	return rows
}

// sameAsCandidate says whether what landed is a candidate as it was decided.
func (d demoDocument) sameAsCandidate(landed git.OID) string {
	for _, decision := range d.Runs[0].Decisions {
		if decision.Candidate == landed {
			return ", the very candidate of " + decision.Patch
		}
	}
	return ""
}

// meaning says in a sentence what a decision comes to.
func meaning(d demoDecision) string {
	switch d.Outcome {
	case coordinator.OutcomeCandidate:
		return "rebased onto main as commit " + short(d.Candidate)
	case coordinator.OutcomeConflict:
		return "a person must look: " + strings.Join(d.Reasons, "; ")
	case coordinator.OutcomeWaiting, coordinator.OutcomeRejected:
	}
	return string(d.Outcome)
}
