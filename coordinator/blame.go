package coordinator

import (
	"cmp"
	"fmt"
	"slices"

	"patchd/checks"
)

// BlameMember is one patch of a round. DependsOn names only members of the same round: what has landed is satisfied.
type BlameMember struct {
	Identity  Identity
	DependsOn []Identity
}

// BlameCommand is one command of the union of required checks. RequiredBy are the members that ask for it, themselves or
// through the policy's rules for what they touch. OnTarget says that policy or the trailers of landed commits ask for it,
// so that the target itself has to pass it.
type BlameCommand struct {
	Command    string
	RequiredBy []Identity
	OnTarget   bool
}

// BlameInput is a round whose composed tree failed. Budget is how many questions the search may cost, counted as [Blame]
// says. Coupled are pairs that somebody suspects of reaching each other: they change what the search costs, never what it
// finds nor whether it is finished within the budget.
type BlameInput struct {
	Members  []BlameMember
	Commands []BlameCommand
	Coupled  [][2]Identity
	Budget   int
}

// SubsetQuestion asks for the verdict of a command on the tree that a dependency-closed subset of the round composes to.
// The empty subset is the target itself. Subset is ascending.
type SubsetQuestion struct {
	Command string     `json:"command"`
	Subset  []Identity `json:"subset"`
}

// SubsetAnswer is a question with its verdict.
type SubsetAnswer struct {
	SubsetQuestion
	Verdict Verdict `json:"verdict"`
}

// Blame finds, for each command that fails on the composed tree of a round, all minimal failing dependency-closed subsets.
// It is a pure function of the answers given so far and holds no state of its own, so a search that was cut off anywhere
// goes on from the recorded verdicts. A Blame may be used by several goroutines.
//
// # Search
//
// Let a command fail on closed sets only upwards: what fails within a set fails with more. Its minimal failing sets M and
// maximal passing sets P then determine each other: a set passes if and only if it leaves out a member of each set of M. The
// search (dualise and advance; Gunopulos et al., "Discovering all most specific sentences", 2003) takes a failing set,
// shrinks it to a minimal one by binary search, and then runs the largest sets that contain no known minimal one: where
// all pass, nothing is left to find; where one fails, it holds another minimal failing set. A set without a member that
// requires the command is not run and counts as passing. Each claimed set is run and so is each of its immediate subsets,
// also where the answer is implied.
//
// # What no order can change
//
// Ties (which half is run first, which minimal set is found first) are broken by identity, which changes what is asked. It
// cannot change the result: M and P belong to the command alone, and a search is used when both are complete or not at all.
// Nor could it say less: a member is cleared only when it is in no set of M, that is when it is in every set of P, so
// before P is complete nobody is cleared. A whole level of the search, between which the budget stops, is
// therefore the search of one command.
//
// The budget counts by a price that M and P fix, not by the questions that happened to be asked: with n members, each
// minimal failing set of k maximal members costs 2 + k·(⌈log2 n⌉ + 2), each run maximal passing set 2, the composed tree and the
// target 1 each. No more questions are ever asked than that. A command is finished if and only if the prices of all
// failing commands, each counted up to the price of this one, fit into the budget; cheap commands thus come before
// expensive ones and equal ones are treated alike. Composed tree and target are asked whatever the budget, because a
// red target blames nobody.
//
// Where verdicts contradict monotonicity, M and P are no longer unique. What is claimed then still was run, and what is
// seen to contradict goes to the queue whole; the rest is composed and run again.
type Blame struct {
	lattice  *lattice
	commands []blameCommand // ascending by line
	suspects []memberSet    // closed, one for each coupled pair
	budget   int
}

type blameCommand struct {
	line     string
	requires memberSet
	onTarget bool
}

// NewBlame checks that a round is well formed: members and commands named once, dependencies and requirers within the
// round, no cycle.
func NewBlame(in BlameInput) (*Blame, error) {
	l, err := newLattice(in.Members)
	if err != nil {
		return nil, fmt.Errorf("blame round: %w", err)
	}
	b := &Blame{lattice: l, budget: in.Budget}
	for _, c := range in.Commands {
		requires, err := l.set(c.RequiredBy)
		if err != nil {
			return nil, fmt.Errorf("blame round: requirers of %q: %w", c.Command, err)
		}
		if !requires.empty() {
			b.commands = append(b.commands, blameCommand{c.Command, requires, c.OnTarget})
		}
	}
	slices.SortFunc(b.commands, func(x, y blameCommand) int { return cmp.Compare(x.line, y.line) })
	for i := range b.commands[min(1, len(b.commands)):] {
		if b.commands[i].line == b.commands[i+1].line {
			return nil, fmt.Errorf("blame round: command %q is listed twice", b.commands[i].line)
		}
	}
	for _, pair := range in.Coupled {
		s, err := l.set(pair[:])
		if err != nil {
			return nil, fmt.Errorf("blame round: coupled pair: %w", err)
		}
		b.suspects = append(b.suspects, l.closed(s))
	}
	return b, nil
}

// Next returns either the questions of the next step, which may be run in any order and side by side, or the result. The
// answers may be given in any order, repeated, and with others among them that were not asked: only those that the search
// asks for count. Questions already answered are not asked again. What is said of one question twice is joined:
// a pass beside a failure is nondeterministic, a verdict replaces an inconclusive try, and a reviewer's acceptance
// stands where there is no verdict.
func (b *Blame) Next(known []SubsetAnswer) ([]SubsetQuestion, *BlameResult) {
	answers := b.collect(known)
	traces := make([]*trace, 0, len(b.commands))
	for _, c := range b.commands {
		t := newTrace(b, c, answers[c.line])
		t.run()
		traces = append(traces, t)
	}
	s := &schedule{blame: b, traces: traces}
	if s.opening() && s.levels() {
		return nil, s.result()
	}
	if len(s.open) > 0 {
		return s.open, nil
	}
	return nil, s.stopped()
}

// collect sorts answers by command and subset. Answers about sets that this round does not have are left out.
func (b *Blame) collect(known []SubsetAnswer) map[string]map[string]Verdict {
	out := make(map[string]map[string]Verdict, len(b.commands))
	for _, c := range b.commands {
		out[c.line] = map[string]Verdict{}
	}
	for _, a := range known {
		of := out[a.Command]
		set, err := b.lattice.set(a.Subset)
		if of == nil || err != nil {
			continue
		}
		if before, ok := of[set.key()]; ok {
			a.Verdict = joinVerdicts(before, a.Verdict)
		}
		of[set.key()] = a.Verdict
	}
	return out
}

// joinVerdicts is what two records of one question say together. It is commutative and associative: passed and failed
// are nondeterministic, and otherwise the stronger one holds.
func joinVerdicts(a, b Verdict) Verdict {
	if (a == checks.VerdictPassed && b == checks.VerdictFailed) || (a == checks.VerdictFailed && b == checks.VerdictPassed) {
		return checks.VerdictNondeterministic
	}
	if verdictStrength(a) >= verdictStrength(b) {
		return a
	}
	return b
}

func verdictStrength(v Verdict) int {
	switch v {
	case checks.VerdictNondeterministic:
		return 3
	case checks.VerdictPassed, checks.VerdictFailed:
		return 2
	case VerdictAccepted:
		return 1
	case checks.VerdictInconclusive:
		return 0
	}
	return 0
}
