package coordinator

// schedule puts the searches of all commands side by side, level by level, within the budget. It replays the traces, so what
// it decides depends on the answers alone.
type schedule struct {
	blame  *Blame
	traces []*trace
	at     []int  // the next step of each trace
	cut    []bool // the budget does not reach to the end of the trace
	runs   int

	open  []SubsetQuestion
	stops []BlameStop
}

// opening asks every command of the composed tree, and then those that fail of the target where it has to pass them. It
// returns false when questions are open or the round stops.
func (s *schedule) opening() bool {
	s.at = make([]int, len(s.traces))
	s.cut = make([]bool, len(s.traces))
	all := make([]int, 0, len(s.traces))
	for i := range s.traces {
		all = append(all, i)
	}
	if !s.advance(all) {
		return false
	}
	var onTarget []int
	for _, i := range s.failing() {
		if s.traces[i].command.onTarget {
			onTarget = append(onTarget, i)
		}
	}
	return s.advance(onTarget)
}

// failing lists the traces whose command fails on the composed tree.
func (s *schedule) failing() []int {
	var out []int
	for i, t := range s.traces {
		if t.end != tracePassed {
			out = append(out, i)
		}
	}
	return out
}

// levels goes on until every search is finished or cut. It returns false when questions are open or the round stops.
//
// A search is cut when the prices of all, each counted up to its own, exceed the budget. Bounds only grow towards the prices,
// so a cut is never premature, and a search that is not cut at the end has all others at their price or above its own:
// the same searches are finished in whatever order steps are taken.
func (s *schedule) levels() bool {
	failing := s.failing()
	for {
		s.trim(failing)
		next := s.chosen(failing)
		if len(next) == 0 {
			return true
		}
		if !s.advance(next) {
			return false
		}
	}
}

// bound is what a trace costs at least: up to and with its next step, or in all where it has none left.
func (s *schedule) bound(i int) int {
	if t := s.traces[i]; s.at[i] < len(t.steps) {
		return t.steps[s.at[i]].bound
	}
	return s.traces[i].price()
}

// trim cuts the searches that the budget cannot finish.
func (s *schedule) trim(failing []int) {
	for _, i := range failing {
		total := 0
		for _, j := range failing {
			total += min(s.bound(i), s.bound(j))
		}
		if total > s.blame.budget {
			s.cut[i] = true
		}
	}
}

// chosen lists the traces to take a step: those within an equal share of the budget, and the cheapest so far. No other may
// run ahead, or what it asked could be wanting when the cheaper ones finish.
func (s *schedule) chosen(failing []int) []int {
	var active, out []int
	lowest := 0
	for _, i := range failing {
		if !s.cut[i] && s.at[i] < len(s.traces[i].steps) {
			if len(active) == 0 || s.bound(i) < lowest {
				lowest = s.bound(i)
			}
			active = append(active, i)
		}
	}
	for _, i := range active {
		if b := s.bound(i); b == lowest || b*len(failing) <= s.blame.budget {
			out = append(out, i)
		}
	}
	return out
}

// advance takes the next step of each given trace, all as one level. It returns false when answers are missing or one of
// the level stops the round.
func (s *schedule) advance(traces []int) bool {
	for _, i := range traces {
		t := s.traces[i]
		st := t.steps[s.at[i]]
		s.at[i]++
		s.runs += st.size
		for _, set := range st.open {
			s.open = append(s.open, SubsetQuestion{t.command.line, t.lattice.identities(set)})
		}
		for _, stop := range st.stops {
			s.stops = append(s.stops, newStop(t, stop))
		}
	}
	return len(s.open) == 0 && len(s.stops) == 0
}
