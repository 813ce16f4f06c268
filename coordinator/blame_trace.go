package coordinator

import (
	"math/bits"
	"slices"

	"patchd/checks"
)

// traceEnd says how far the search of one command came with the answers there are.
type traceEnd int

const (
	traceOpen         traceEnd = iota // questions are open
	traceStopped                      // an answer blames nobody and stops the round
	traceContradicted                 // answers contradict monotonicity
	tracePassed                       // the composed tree passes
	traceFinished                     // all minimal failing sets are known
)

// step is one batch of questions of a trace. Bound is a lower bound of the command's price that counts the batch, and is never less than
// the number of questions asked up to and with it.
type step struct {
	bound int
	size  int
	open  []memberSet
	stops []verdictStop
}

type verdictStop struct {
	set     memberSet
	verdict Verdict
}

// contradiction is a failing set within a passing one.
type contradiction struct{ failed, passed memberSet }

// trace is the search of one command, gone through from the start as far as the answers carry. A method that returns
// false has met the end, and end says which.
type trace struct {
	lattice  *lattice
	suspects []memberSet
	command  blameCommand
	known    map[string]Verdict

	asked          map[string]bool // of sets asked so far: whether the command fails
	failed, passed []memberSet
	steps          []step

	paid  int         // the price of what is established
	spent int         // questions of the shrinking under way
	found []memberSet // minimal failing sets
	tops  []memberSet // maximal members of each
	clear []memberSet // maximal passing sets

	end            traceEnd
	contradictions []contradiction
}

func newTrace(b *Blame, c blameCommand, known map[string]Verdict) *trace {
	return &trace{lattice: b.lattice, suspects: b.suspects, command: c, known: known, asked: map[string]bool{}}
}

// run goes through the search: composed tree, target, then shrinking and probing in turn.
func (t *trace) run() {
	l := t.lattice
	if !t.ask(1, l.every) {
		return
	}
	t.paid = 1
	if fails := t.asked[l.every.key()]; !fails {
		t.end = tracePassed
		return
	}
	if t.command.onTarget {
		if !t.ask(t.paid+1, newMemberSet(len(l.ids))) {
			return
		}
		t.paid++
	}
	for failing := []memberSet{l.every}; len(failing) > 0; {
		for _, x := range failing {
			if !t.holdsFound(x) && !t.shrink(x) {
				return
			}
		}
		var ok bool
		if failing, ok = t.probe(); !ok {
			return
		}
	}
	t.end = traceFinished
}

// price is what the command costs as far as it is known: exact at the end, a lower bound before.
func (t *trace) price() int {
	if n := len(t.steps); n > 0 {
		return max(t.paid, t.steps[n-1].bound)
	}
	return t.paid
}

// setPrice is what a minimal failing set with k maximal members costs: the failing set that it is found in, one probe of
// suspects, for each maximal member a binary search and a look at what is found so far, and the immediate subsets.
func (t *trace) setPrice(k int) int {
	return 2 + k*(bits.Len(uint(len(t.lattice.ids)-1))+2)
}

// applies reports whether the command is asked of a set at all.
func (t *trace) applies(s memberSet) bool {
	if s.empty() {
		return t.command.onTarget
	}
	return s.meets(t.command.requires)
}

// ask records a batch of questions, without those asked before and those that do not apply, and reports whether all have
// answers to go on with. The bound is that of the step.
func (t *trace) ask(bound int, sets ...memberSet) bool {
	st := step{bound: bound}
	var fresh []memberSet
	verdicts := map[string]Verdict{}
	for _, s := range sets {
		key := s.key()
		_, before := t.asked[key]
		if _, twice := verdicts[key]; twice || before || !t.applies(s) {
			continue
		}
		v, ok := t.known[key]
		verdicts[key] = v
		fresh = append(fresh, s)
		switch {
		case !ok:
			st.open = append(st.open, s)
		case v != checks.VerdictPassed && v != checks.VerdictFailed && v != VerdictAccepted:
			st.stops = append(st.stops, verdictStop{s, v})
		case v == checks.VerdictFailed && s.empty():
			st.stops = append(st.stops, verdictStop{s, v})
		}
	}
	if len(fresh) == 0 {
		return true
	}
	st.size = len(fresh)
	t.steps = append(t.steps, st)
	if len(st.open) > 0 {
		return false
	}
	if len(st.stops) > 0 {
		t.end = traceStopped
		return false
	}
	for _, s := range fresh {
		t.record(s, verdicts[s.key()] == checks.VerdictFailed)
	}
	return t.end != traceContradicted
}

// record notes an answer and holds it against all earlier ones.
func (t *trace) record(s memberSet, fails bool) {
	t.asked[s.key()] = fails
	if fails {
		t.failed = append(t.failed, s)
		for _, p := range t.passed {
			if s.within(p) {
				t.contradict(contradiction{failed: s, passed: p})
			}
		}
		return
	}
	t.passed = append(t.passed, s)
	for _, f := range t.failed {
		if f.within(s) {
			t.contradict(contradiction{failed: f, passed: s})
		}
	}
}

func (t *trace) contradict(c contradiction) {
	t.contradictions = append(t.contradictions, c)
	t.end = traceContradicted
}

// fails answers one question, from what earlier answers imply where they do, else by asking. For use while shrinking.
func (t *trace) fails(s memberSet) (fails, ok bool) {
	if !t.applies(s) {
		return false, true
	}
	if fails, before := t.asked[s.key()]; before {
		return fails, true
	}
	if slices.ContainsFunc(t.failed, func(f memberSet) bool { return f.within(s) }) {
		return true, true
	}
	if slices.ContainsFunc(t.passed, s.within) {
		return false, true
	}
	if !t.buy(s) {
		return false, false
	}
	return t.asked[s.key()], true
}

// buy asks on the account of the shrinking under way.
func (t *trace) buy(sets ...memberSet) bool {
	fresh := map[string]bool{}
	for _, s := range sets {
		if _, before := t.asked[s.key()]; !before && t.applies(s) {
			fresh[s.key()] = true
		}
	}
	t.spent += len(fresh)
	return t.ask(t.paid+1+t.spent, sets...)
}

// holdsFound reports whether a set contains a known minimal failing set.
func (t *trace) holdsFound(x memberSet) bool {
	return slices.ContainsFunc(t.found, func(g memberSet) bool { return g.within(x) })
}
