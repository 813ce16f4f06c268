package coordinator

import (
	"fmt"
	"slices"

	"patchd/checks"
	"patchd/worktree/git"
)

// Verdict is what is known of a command on a tree. Passed and failed are facts of (tree, command, environment) and are
// reused; nondeterministic and inconclusive never decide in anybody's favour or disfavour, and blame nobody.
type Verdict = checks.Verdict

// VerdictAccepted stands where a command came to no verdict and a reviewer took it upon themselves.
const VerdictAccepted Verdict = "accepted"

// Question asks for the verdict of a command on a tree.
type Question struct {
	Tree    git.OID
	Command string
}

// Verdicts is V: the recorded verdicts, for the environment that the policy enumerates.
type Verdicts map[Question]Verdict

// Conclude turns a plan and what is known of its checks into the decision. Where a verdict is missing that the decision
// needs, it returns the questions to ask, sorted, and no decision: ask them, record the answers and conclude again.
//
// A command that fails is asked of the target's own tree too. Where policy or a landed commit requires it and the target
// fails as well, the target is red and the patch waits; where only the patch asks for it, it is check_failed with the
// target's verdict as evidence.
func Conclude(p *Plan, known Verdicts) (*Decision, []Question, error) {
	d := p.Decision
	d.Operational = p.Decision.Operational.clone()
	if !p.Due() {
		return &d, nil, d.SealDecision()
	}
	found, questions := gather(p, known)
	if len(questions) > 0 {
		return nil, questions, nil
	}
	d.Checks = found
	d.Stage = StageChecks
	if err := judge(&d); err != nil {
		return nil, nil, err
	}
	return &d, nil, d.SealDecision()
}

// gather collects the verdicts that the plan's checks have, and the questions that are open.
func gather(p *Plan, known Verdicts) ([]Check, []Question) {
	var out []Check
	var open []Question
	for _, c := range p.Checks {
		verdict, ok := known[Question{p.Tree, c.Command}]
		if !ok {
			open = append(open, Question{p.Tree, c.Command})
			continue
		}
		c.Verdict = string(verdict)
		if verdict == checks.VerdictFailed {
			onTarget, asked := known[Question{p.Decision.Target.Tree, c.Command}]
			if !asked {
				open = append(open, Question{p.Decision.Target.Tree, c.Command})
				continue
			}
			c.TargetVerdict = string(onTarget)
		}
		out = append(out, c)
	}
	return out, open
}

// judge sets outcome and validity from the checks of a record.
func judge(d *Decision) error {
	var failed []Reason
	for _, c := range d.Checks {
		switch Verdict(c.Verdict) {
		case checks.VerdictPassed, VerdictAccepted, checks.VerdictInconclusive:
		case checks.VerdictNondeterministic:
			failed = append(failed, Reason{Class: ClassBehavioral, Code: CodeCheckNondeterministic, Command: c.Command})
		case checks.VerdictFailed:
			if c.TargetVerdict != string(checks.VerdictPassed) && c.TargetVerdict != string(VerdictAccepted) && requiredByTarget(c) {
				d.wait(&Refusal{
					Code: targetCode(c), Value: c.Command, Message: fmt.Sprintf("%q fails on the target's own tree %s too: %s there", c.Command, d.Target.Tree, c.TargetVerdict),
					Hint: "mend the target first; the patch is decided again when the target moves",
				})
				return nil
			}
			failed = append(failed, Reason{Class: ClassBehavioral, Code: CodeCheckFailed, Command: c.Command})
		default:
			return fmt.Errorf("verdict %q of command %q is unknown", c.Verdict, c.Command)
		}
	}
	if len(failed) > 0 {
		d.Outcome, d.Validity.ChecksValid = OutcomeConflict, new(false)
		d.Conflict = newConflict(failed, nil)
		return nil
	}
	return judgeInconclusive(d)
}

func judgeInconclusive(d *Decision) error {
	i := slices.IndexFunc(d.Checks, func(c Check) bool { return Verdict(c.Verdict) == checks.VerdictInconclusive })
	if i >= 0 {
		c := d.Checks[i]
		d.wait(&Refusal{
			Code: CodeCheckInconclusive, Value: c.Command, Message: fmt.Sprintf("%q came to no verdict", c.Command),
			Hint: "look at the kept output; raise the time-out or the memory, or have a reviewer accept this tree and command",
		})
		return nil
	}
	d.Outcome, d.Stage, d.Validity.ChecksValid = OutcomeCandidate, StageAccepted, new(true)
	return nil
}

// targetCode says that the target is red where it fails, and inconclusive where it has no one verdict.
func targetCode(c Check) Code {
	if c.TargetVerdict == string(checks.VerdictFailed) {
		return CodeTargetRed
	}
	return CodeCheckInconclusive
}

func requiredByTarget(c Check) bool {
	return slices.Contains(c.Sources, "policy") || slices.Contains(c.Sources, "landed")
}

// wait makes the record wait; the prose goes to the messages.
func (d *Decision) wait(r *Refusal) {
	d.Outcome, d.Waiting = OutcomeWaiting, &Refusal{Code: r.Code, Path: r.Path, Line: r.Line}
	d.say(r)
}

// say keeps the prose of a refusal.
func (d *Decision) say(r *Refusal) {
	if d.Operational == nil {
		d.Operational = &Operational{}
	}
	d.Operational.Messages = append(d.Operational.Messages, Message{
		Code: r.Code, Path: r.Path, Line: r.Line, Field: r.Field, Value: r.Value, Text: r.Message, Hint: r.Hint,
	})
}

func (o *Operational) clone() *Operational {
	if o == nil {
		return nil
	}
	c := *o
	c.Messages, c.Checks, c.PatchIDs, c.Evidence = slices.Clone(o.Messages), slices.Clone(o.Checks), slices.Clone(o.PatchIDs), slices.Clone(o.Evidence)
	return &c
}
