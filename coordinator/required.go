package coordinator

import (
	"errors"
	"fmt"
	"slices"

	"patchd/checks"
	"patchd/ownership"
)

// touchedBy is what the union of checks looks at: paths that the patch or the target since the base touched.
type touchedBy struct {
	patch []string
	since []string
}

// requiredChecks is the union of the commands that a patch, the target's policy and the commits landed since the base ask
// for. A command of the patch that the policy does not allow makes it wait; one of a landed commit is left out.
func requiredChecks(p *Policy, m *Manifest, touched touchedBy, landed []string) ([]Check, error) {
	allow, err := checks.ParsePatterns(p.Checks.Allow)
	if err != nil {
		return nil, fmt.Errorf("checks.allow: %w", err)
	}
	attached, all, err := p.Checks.commands(touched)
	if err != nil {
		return nil, err
	}
	invariants, every, err := p.invariantChecks(touched.patch)
	if err != nil {
		return nil, err
	}
	attached, all = append(attached, invariants...), append(all, every...)
	own, refusal := ownChecks(m, allow, all)
	if refusal != nil {
		return nil, refusal
	}
	var past []checks.Command
	for _, line := range landed {
		if cmd, err := checks.ParseCommand(line); err == nil && permitted(allow, all, cmd) == nil {
			past = append(past, cmd)
		}
	}
	var out []Check
	for _, r := range checks.Union(own, attached, past) {
		c := Check{Command: r.Command.Line}
		for _, s := range r.Sources {
			c.Sources = append(c.Sources, string(s))
		}
		out = append(out, c)
	}
	return out, nil
}

func ownChecks(m *Manifest, allow []checks.Pattern, policy []checks.Command) ([]checks.Command, *Refusal) {
	var out []checks.Command
	for i, line := range m.RequiredChecks {
		cmd, err := checks.ParseCommand(line)
		if err != nil {
			return nil, malformed(fmt.Sprintf("/required_checks/%d", i), line, "required check %q: %v", line, err)
		}
		if err := permitted(allow, policy, cmd); err != nil {
			hint := "add it to checks.allow in " + PolicyPath + " of the target"
			if len(allow) == 0 && len(policy) == 0 {
				hint = "the target has no check policy yet: run `patchd init` and land the " + PolicyPath + " that it writes"
			}
			return nil, &Refusal{Code: CodeCheckNotAllowed, Field: fmt.Sprintf("/required_checks/%d", i), Value: line, Message: err.Error(), Hint: hint}
		}
		out = append(out, cmd)
	}
	return out, nil
}

// permitted allows what a pattern covers and what the policy itself runs.
func permitted(allow []checks.Pattern, policy []checks.Command, cmd checks.Command) error {
	for _, c := range policy {
		if c.Line == cmd.Line {
			return nil
		}
	}
	return checks.Allowed(allow, cmd)
}

// commands lists what the rules attach to the touched paths, and all that the policy ever runs.
func (p *CheckPolicy) commands(touched touchedBy) (attached, all []checks.Command, err error) {
	for i, r := range p.Rules {
		hit := slices.ContainsFunc(touched.patch, func(path string) bool { return matchesAny(r.Paths, path) }) ||
			slices.ContainsFunc(touched.since, func(path string) bool { return matchesAny(r.Paths, path) })
		for _, line := range r.Run {
			cmd, err := checks.ParseCommand(line)
			if err != nil {
				return nil, nil, fmt.Errorf("checks.rules[%d].run: %w", i, err)
			}
			all = append(all, cmd)
			if hit {
				attached = append(attached, cmd)
			}
		}
	}
	return attached, all, nil
}

// invariantChecks lists the checks of the invariants that a patch touches, and those of all: an invariant's own check shows
// whether it still holds.
func (p *Policy) invariantChecks(paths []string) (attached, all []checks.Command, err error) {
	for i, inv := range p.Invariants {
		if inv.Run == "" {
			continue
		}
		cmd, err := checks.ParseCommand(inv.Run)
		if err != nil {
			return nil, nil, fmt.Errorf("invariants[%d].run: %w", i, err)
		}
		all = append(all, cmd)
		if slices.ContainsFunc(paths, func(path string) bool { return matchesAny(inv.Paths, path) }) {
			attached = append(attached, cmd)
		}
	}
	return attached, all, nil
}

// sharedInvariants are the invariants without a check of their own of which two changes touch different files: only a person
// can say whether they still hold.
func (p *Policy) sharedInvariants(left, right []string) []Reason {
	var list []ownership.Invariant
	for _, inv := range p.Invariants {
		if inv.Run == "" {
			list = append(list, ownership.Invariant{Name: inv.Name, Paths: inv.Paths})
		}
	}
	var out []Reason
	for _, s := range ownership.SharedInvariants(list, left, right) {
		out = append(out, Reason{Class: ClassBehavioral, Code: CodeInvariantShared, Path: min(s.Left[0], s.Right[0]), Symbol: s.Name})
	}
	return out
}

// validate holds a check policy against what protocol 1 allows.
func (p *CheckPolicy) validate() error {
	if _, err := checks.ParsePatterns(p.Allow); err != nil {
		return fmt.Errorf("checks.allow: %w", err)
	}
	if _, _, err := p.commands(touchedBy{}); err != nil {
		return err
	}
	for i, r := range p.Rules {
		if len(r.Paths) == 0 || len(r.Run) == 0 {
			return fmt.Errorf("checks.rules[%d]: needs paths and run", i)
		}
	}
	switch {
	case p.Timeout > Duration(MaxCheckTimeout):
		return fmt.Errorf("checks.timeout: longer than %s", MaxCheckTimeout)
	case p.Confirm < 0 || p.Confirm > 100:
		return errors.New("checks.confirm: not between 0 and 100")
	case p.Retries != nil && (*p.Retries < 0 || *p.Retries > 100):
		return errors.New("checks.retries: not between 0 and 100")
	}
	return nil
}

// sameCommand spells a command canonically, so that two spellings of one command are one.
func sameCommand(line string) string {
	if cmd, err := checks.ParseCommand(line); err == nil {
		return cmd.Line
	}
	return line
}

// CheckRules says how often a command is run before its verdict stands.
func (p *Policy) CheckRules() checks.Rules {
	return checks.Rules{ConfirmPasses: p.Checks.Confirm, Tries: *p.Checks.Retries + 1}
}
