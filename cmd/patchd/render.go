package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"patchd/coordinator"
)

// renderDecision writes a decision record for people: the outcome first, then why, then how to check it.
func renderDecision(w io.Writer, d *coordinator.Decision) {
	line(w, "outcome    %s%s", d.Outcome, inParentheses(decisionCode(d)))
	if d.Target.Commit != "" {
		line(w, "at         %s", d.Target.Commit)
	}
	if d.Candidate != nil && d.Outcome == coordinator.OutcomeCandidate {
		line(w, "candidate  %s (tree %s)", d.Candidate.Commit, d.Candidate.Tree)
	}
	renderReasons(w, d)
	for _, check := range d.Checks {
		line(w, "check      %s: %s (asked for by %s)%s", check.Command, dash(check.Verdict), strings.Join(check.Sources, ", "), onTarget(check))
	}
	if d.Outcome == coordinator.OutcomeCandidate && len(d.Checks) == 0 {
		line(w, "checks     nothing was run")
	}
	for _, f := range d.Degraded {
		line(w, "by lines   %s: %s", f.Path, f.Why)
	}
	if d.Operational != nil {
		for _, m := range d.Operational.Messages {
			renderMessage(w, m)
		}
		renderFailures(w, d.Operational.Checks)
	}
	if d.DecisionDigest != "" {
		line(w, "plan       %s", d.PlanDigest)
		line(w, "decision   %s", d.DecisionDigest)
	}
}

func inParentheses(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

func decisionCode(d *coordinator.Decision) string {
	switch {
	case d.Conflict != nil:
		return string(d.Conflict.Class)
	case d.Rejection != nil:
		return string(d.Rejection.Code)
	case d.Waiting != nil:
		return string(d.Waiting.Code)
	}
	return ""
}

func onTarget(c coordinator.Check) string {
	if c.TargetVerdict == "" {
		return ""
	}
	return "; on the target itself: " + c.TargetVerdict
}

// renderReasons writes one line for each reason of a conflict.
func renderReasons(w io.Writer, d *coordinator.Decision) {
	if d.Conflict == nil {
		return
	}
	for _, r := range d.Conflict.Reasons {
		line(w, "  reason   %s", reasonText(r))
	}
	if m := d.Conflict.Merge; m != nil {
		for _, f := range m.Files {
			state := "merges without markers"
			if f.HasMarkers {
				state = "has conflict markers"
			}
			line(w, "  merge    %s %s", f.Path, state)
		}
	}
}

func reasonText(r coordinator.Reason) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s", r.Class, r.Code)
	if r.Path != "" {
		fmt.Fprintf(&b, " %s", r.Path)
	}
	if r.BaseLines != nil {
		fmt.Fprintf(&b, " base %s", span(r.BaseLines))
	}
	if r.TargetLines != nil {
		fmt.Fprintf(&b, " target %s", span(r.TargetLines))
	}
	if r.Symbol != "" {
		fmt.Fprintf(&b, " symbol %s", r.Symbol)
	}
	if r.Command != "" {
		fmt.Fprintf(&b, " %q", r.Command)
	}
	if r.With != "" {
		fmt.Fprintf(&b, " with %s", short(r.With))
	}
	if len(r.Approvers) > 0 {
		fmt.Fprintf(&b, " to be approved by %s", strings.Join(r.Approvers, ", "))
	}
	return b.String()
}

func span(r *coordinator.LineRange) string {
	if r[1] <= r[0] {
		return fmt.Sprintf("line %d", r[0])
	}
	return fmt.Sprintf("lines %d-%d", r[0], r[1])
}

func renderMessage(w io.Writer, m coordinator.Message) {
	where := ""
	if m.Path != "" {
		where = m.Path
		if m.Line > 0 {
			where += fmt.Sprintf(":%d", m.Line)
		}
		where += ": "
	}
	line(w, "  %s%s", where, m.Text)
	if m.Hint != "" {
		line(w, "  what to do: %s", m.Hint)
	}
}

// renderFailures shows the end of what failing checks printed, of the last run where there were several; it was escaped when
// it was kept.
func renderFailures(w io.Writer, runs []coordinator.CheckEvidence) {
	for i, run := range runs {
		if run.ExitCode == 0 && run.Why == "" || run.Excerpt == "" || hasLater(runs[i+1:], run) {
			continue
		}
		line(w, "  output of %q on tree %s:", run.Command, short(run.Tree))
		for text := range strings.Lines(run.Excerpt) {
			line(w, "    | %s", strings.TrimRight(text, "\n"))
		}
	}
}

func hasLater(runs []coordinator.CheckEvidence, run coordinator.CheckEvidence) bool {
	return slices.ContainsFunc(runs, func(o coordinator.CheckEvidence) bool { return o.Command == run.Command && o.Tree == run.Tree })
}
