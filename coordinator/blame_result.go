package coordinator

import (
	"cmp"
	"slices"

	"patchd/checks"
)

// BlameResult is what came of a search. All lists are sorted, and nothing but Runs depends on how the search went about it.
// Either Stops has entries and nobody is blamed, or the members are divided into those for the queue (Blamed and Wide),
// Held and Cleared.
type BlameResult struct {
	// Stops says why the round stops.
	Stops []BlameStop `json:"stops,omitempty"`
	// Sets are all minimal failing subsets of all commands whose search was finished.
	Sets []FailingSet `json:"sets,omitempty"`
	// Blamed are the maximal members of Sets.
	Blamed []BlamedMember `json:"blamed,omitempty"`
	// Contradictions are verdicts that contradict monotonicity.
	Contradictions []Contradiction `json:"contradictions,omitempty"`
	// Unfinished are the failing commands whose search the budget does not cover.
	Unfinished []string `json:"unfinished,omitempty"`
	// Wide are members that go to the queue without a minimal failing set of their own: involved in a contradiction, or
	// not cleared because a search is unfinished.
	Wide []Identity `json:"wide,omitempty"`
	// Held are members without fault that depend on one for the queue: they are blocked_by it.
	Held []Identity `json:"held,omitempty"`
	// Cleared are the rest, closed under dependencies: they are composed again.
	Cleared []Identity `json:"cleared,omitempty"`
	// Runs is how many questions the search asked, known before or not. It is operational: ties change it.
	Runs int `json:"-"`
}

// BlameStop is a verdict that stops a round and blames nobody: target_red, check_inconclusive or check_nondeterministic,
// with the command and the subset whose tree it was run on, none for the target.
type BlameStop struct {
	Code    Code       `json:"code"`
	Command string     `json:"command"`
	Subset  []Identity `json:"subset,omitempty"`
}

// FailingSet is a minimal failing subset: the command fails on the tree that Subset composes to, and passes, or is not
// asked, without any one of Blamed, the maximal members. All these trees were run.
type FailingSet struct {
	Command string     `json:"command"`
	Subset  []Identity `json:"subset"`
	Blamed  []Identity `json:"blamed"`
}

// Code is check_failed for a set with one maximal member, which fails alone, else composition_failed.
func (f FailingSet) Code() Code {
	if len(f.Blamed) == 1 {
		return CodeCheckFailed
	}
	return CodeCompositionFailed
}

// BlamedMember is a patch with every minimal failing set that it is a maximal member of.
type BlamedMember struct {
	Identity Identity     `json:"identity"`
	Evidence []FailingSet `json:"evidence"`
}

// Reasons are the member's reasons for a conflict record, sorted: check_failed for what it does alone, composition_failed
// with each of the others otherwise.
func (m BlamedMember) Reasons() []Reason {
	var out []Reason
	for _, e := range m.Evidence {
		if e.Code() == CodeCheckFailed {
			out = append(out, Reason{Class: ClassBehavioral, Code: CodeCheckFailed, Command: e.Command})
			continue
		}
		for _, other := range e.Blamed {
			if other != m.Identity {
				out = append(out, Reason{Class: ClassBehavioral, Code: CodeCompositionFailed, With: string(other), Command: e.Command})
			}
		}
	}
	slices.SortFunc(out, compareReasons)
	return slices.CompactFunc(out, func(a, b Reason) bool { return compareReasons(a, b) == 0 })
}

// Contradiction is a command that fails on a subset and passes with more: no set can be blamed for it by itself.
type Contradiction struct {
	Command string     `json:"command"`
	Failed  []Identity `json:"failed"`
	Passed  []Identity `json:"passed"`
}

func newStop(t *trace, stop verdictStop) BlameStop {
	out := BlameStop{Code: CodeCheckInconclusive, Command: t.command.line, Subset: t.lattice.identities(stop.set)}
	switch stop.verdict {
	case checks.VerdictFailed:
		out.Code = CodeTargetRed
	case checks.VerdictNondeterministic:
		out.Code = CodeCheckNondeterministic
	case checks.VerdictPassed, checks.VerdictInconclusive:
	}
	return out
}

func (s *schedule) stopped() *BlameResult {
	out := &BlameResult{Stops: s.stops, Runs: s.runs}
	slices.SortFunc(out.Stops, func(a, b BlameStop) int {
		return cmp.Or(cmp.Compare(a.Command, b.Command), slices.Compare(a.Subset, b.Subset))
	})
	return out
}

// result divides the members. A cut search counts for nothing, except that with it nobody is cleared.
func (s *schedule) result() *BlameResult {
	l := s.blame.lattice
	out := &BlameResult{Runs: s.runs}
	blamed, wide := newMemberSet(len(l.ids)), newMemberSet(len(l.ids))
	for i, t := range s.traces {
		switch {
		case t.end == tracePassed:
		case s.cut[i]:
			out.Unfinished = append(out.Unfinished, t.command.line)
			wide = l.every
		case t.end == traceContradicted:
			for _, c := range t.contradictions {
				wide = wide.union(c.passed)
			}
			out.Contradictions = append(out.Contradictions, t.contradicted()...)
		default:
			for _, tops := range t.tops {
				blamed = blamed.union(tops)
			}
			out.Sets = append(out.Sets, t.failingSets()...)
		}
	}
	out.Blamed = blamedMembers(l.identities(blamed), out.Sets)
	wide = wide.minus(blamed)
	queue := blamed.union(wide)
	held := l.dependants(queue).minus(queue)
	out.Wide, out.Held = l.identities(wide), l.identities(held)
	out.Cleared = l.identities(l.every.minus(queue).minus(held))
	return out
}

func (t *trace) failingSets() []FailingSet {
	out := make([]FailingSet, 0, len(t.found))
	for i, g := range t.found {
		out = append(out, FailingSet{t.command.line, t.lattice.identities(g), t.lattice.identities(t.tops[i])})
	}
	slices.SortFunc(out, func(a, b FailingSet) int { return slices.Compare(a.Subset, b.Subset) })
	return out
}

func (t *trace) contradicted() []Contradiction {
	out := make([]Contradiction, 0, len(t.contradictions))
	for _, c := range t.contradictions {
		out = append(out, Contradiction{t.command.line, t.lattice.identities(c.failed), t.lattice.identities(c.passed)})
	}
	slices.SortFunc(out, func(a, b Contradiction) int {
		return cmp.Or(slices.Compare(a.Failed, b.Failed), slices.Compare(a.Passed, b.Passed))
	})
	return out
}

func blamedMembers(ids []Identity, sets []FailingSet) []BlamedMember {
	var out []BlamedMember
	for _, id := range ids {
		m := BlamedMember{Identity: id}
		for _, f := range sets {
			if slices.Contains(f.Blamed, id) {
				m.Evidence = append(m.Evidence, f)
			}
		}
		out = append(out, m)
	}
	return out
}
