package coordinator

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/checks"
)

func TestBlameEqualsEnumerationOfAllSubsets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMonotone(t, 8)
		n := names(m.n)
		sameResult(t, m.expected(n, noBudget), m.run(t, n, noBudget).result)
	})
}

func TestBlameBudgetFinishesExactlyTheSearchesWhosePricesFit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMonotone(t, 7)
		n, budget := names(m.n), rapid.IntRange(0, 150).Draw(t, "budget")
		r := m.run(t, n, budget)
		sameResult(t, m.expected(n, budget), r.result)

		opening, searched := 0, 0
		for _, a := range r.answers {
			c := m.commands[commandIndex(t, a.Command)]
			switch {
			case !m.fails(c, m.every()): // a check of the round itself
			case len(a.Subset) == m.n, len(a.Subset) == 0:
				opening++
			default:
				searched++
			}
		}
		if searched > 0 {
			require.LessOrEqual(t, opening+searched, budget, "no more is asked than the budget allows")
		}
		require.Len(t, r.answers, r.result.Runs)
	})
}

func TestBlamePriceIsThatOfTheExtremesAndNoLessThanTheRuns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMonotone(t, 7)
		n := names(m.n)
		b, err := NewBlame(m.input(n, noBudget))
		require.NoError(t, err)
		answers := b.collect(m.run(t, n, noBudget).answers)
		for _, c := range b.commands {
			tr := newTrace(b, c, answers[c.line])
			tr.run()
			asked := 0
			for _, st := range tr.steps {
				asked += st.size
				require.LessOrEqual(t, asked, st.bound, "a bound covers what was asked")
				require.LessOrEqual(t, st.bound, tr.price(), "and is never above the price")
			}
			if tr.end == traceFinished {
				require.Equal(t, m.price(m.commands[commandIndex(t, c.line)]), tr.price())
			}
		}
	})
}

func TestBlameBoundsOfAllStepsTakenFitTheBudget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMonotone(t, 7)
		n, budget := names(m.n), rapid.IntRange(0, 150).Draw(t, "budget")
		b, err := NewBlame(m.input(n, budget))
		require.NoError(t, err)
		s := &schedule{blame: b}
		answers := b.collect(m.run(t, n, noBudget).answers)
		for _, c := range b.commands {
			tr := newTrace(b, c, answers[c.line])
			tr.run()
			s.traces = append(s.traces, tr)
		}
		if !s.opening() {
			return
		}
		taken := append([]int(nil), s.at...)
		require.True(t, s.levels())
		total, searched := 0, false
		for _, i := range s.failing() {
			total += s.traces[i].steps[s.at[i]-1].bound
			searched = searched || s.at[i] > taken[i]
		}
		require.True(t, !searched || total <= budget, "%d of %d", total, budget)
	})
}

func TestBlameDoesNotDependOnNames(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMonotone(t, 8)
		n, budget := names(m.n), rapid.IntRange(0, 200).Draw(t, "budget")
		renamed := rapid.Permutation(n).Draw(t, "renamed")
		want := m.run(t, n, budget).result
		got := m.run(t, renamed, budget).result
		sameResult(t, translate(m, want, n, renamed), got)
	})
}

// translate spells a result with other names.
func translate(m *blameModel, r *BlameResult, from, to naming) *BlameResult {
	out := &BlameResult{Unfinished: r.Unfinished}
	for _, f := range r.Sets {
		out.Sets = append(out.Sets, FailingSet{f.Command, to.list(from.mask(f.Subset)), to.list(from.mask(f.Blamed))})
	}
	var blamed []Identity
	for _, b := range r.Blamed {
		blamed = append(blamed, b.Identity)
	}
	mask := from.mask(blamed)
	m.divide(to, out, mask, mask|from.mask(r.Wide))
	return out
}

func TestBlameHintsAndOrderOfInputChangeNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMonotone(t, 8)
		n, budget := names(m.n), rapid.IntRange(0, 200).Draw(t, "budget")
		want := m.run(t, n, budget).result

		in := m.input(n, budget)
		in.Coupled = nil
		in.Members = rapid.Permutation(in.Members).Draw(t, "members")
		in.Commands = rapid.Permutation(in.Commands).Draw(t, "commands")
		b, err := NewBlame(in)
		require.NoError(t, err)
		got := drive(t, b, func(q SubsetQuestion) SubsetAnswer { return m.answer(t, n, q) })
		sameResult(t, want, got.result)
	})
}

func TestBlameGoesOnFromAnyAnswersInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawArbitrary(t, 7, checks.VerdictPassed, checks.VerdictFailed, checks.VerdictFailed)
		if rapid.Bool().Draw(t, "monotone") {
			m = drawMonotone(t, 7)
		}
		n, budget := names(m.n), rapid.IntRange(0, 200).Draw(t, "budget")
		straight := m.run(t, n, budget)

		b, err := NewBlame(m.input(n, budget))
		require.NoError(t, err)
		if len(straight.answers) == 0 {
			return
		}
		known := rapid.SliceOfDistinct(rapid.SampledFrom(straight.answers), func(a SubsetAnswer) string {
			return a.Command + string(rune(n.mask(a.Subset)))
		}).Draw(t, "survived")
		for {
			known = rapid.Permutation(known).Draw(t, "order")
			questions, result := b.Next(known)
			if result != nil {
				require.Equal(t, straight.result, result)
				return
			}
			some := rapid.Permutation(questions).Draw(t, "finished first")
			for _, q := range some[:rapid.IntRange(1, len(some)).Draw(t, "before the crash")] {
				known = append(known, m.answer(t, n, q))
			}
		}
	})
}

func TestBlameClaimsOnlyWhatWasRunWhateverTheVerdicts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawArbitrary(t, 8, checks.VerdictPassed, checks.VerdictFailed)
		n := names(m.n)
		r := m.run(t, n, noBudget)
		verdicts := map[string]map[uint]Verdict{}
		for _, a := range r.answers {
			if verdicts[a.Command] == nil {
				verdicts[a.Command] = map[uint]Verdict{}
			}
			verdicts[a.Command][n.mask(a.Subset)] = a.Verdict
		}
		for _, f := range r.result.Sets {
			c, set := m.commands[commandIndex(t, f.Command)], n.mask(f.Subset)
			require.Equal(t, checks.VerdictFailed, verdicts[f.Command][set], "each claimed set was run")
			require.Equal(t, m.tops(set), n.mask(f.Blamed), "the maximal members are blamed")
			for i := range m.n {
				if less := set &^ (1 << i); less != set && m.isClosed(less) && m.applies(c, less) {
					require.Equal(t, checks.VerdictPassed, verdicts[f.Command][less], "each immediate subset was run")
				}
			}
		}
		contradictory := map[string]bool{}
		for _, c := range r.result.Contradictions {
			contradictory[c.Command] = true
			require.Equal(t, checks.VerdictFailed, verdicts[c.Command][n.mask(c.Failed)])
			require.Equal(t, checks.VerdictPassed, verdicts[c.Command][n.mask(c.Passed)])
			for _, id := range c.Passed {
				require.NotContains(t, r.result.Cleared, id, "all involved go to the queue")
			}
		}
		for command, known := range verdicts {
			if !contradictory[command] {
				requireMonotone(t, known)
			}
		}
		requirePassingRest(t, m, n, r.result, verdicts)
	})
}

func requireMonotone(t *rapid.T, known map[uint]Verdict) {
	for small, a := range known {
		for large, b := range known {
			if small&^large == 0 {
				require.False(t, a == checks.VerdictFailed && b == checks.VerdictPassed, "no contradiction is overlooked")
			}
		}
	}
}

// requirePassingRest: where nothing contradicts, a run that passed covers all that is cleared.
func requirePassingRest(t *rapid.T, m *blameModel, n naming, r *BlameResult, verdicts map[string]map[uint]Verdict) {
	if len(r.Contradictions) > 0 {
		return
	}
	rest := n.mask(r.Cleared)
	for i, c := range m.commands {
		if !m.applies(c, rest) || rest == 0 {
			continue
		}
		covered := false
		for mask, v := range verdicts[commandName(i)] {
			covered = covered || v == checks.VerdictPassed && rest&^mask == 0
		}
		require.True(t, covered)
	}
}

func TestBlameStopsOnVerdictsThatSayNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawArbitrary(t, 7, checks.VerdictPassed, checks.VerdictFailed, checks.VerdictFailed, checks.VerdictFailed,
			checks.VerdictInconclusive, checks.VerdictNondeterministic)
		n := names(m.n)
		r := m.run(t, n, noBudget)
		var unclear []BlameStop
		for _, a := range r.answers {
			switch a.Verdict {
			case checks.VerdictInconclusive:
				unclear = append(unclear, BlameStop{CodeCheckInconclusive, a.Command, a.Subset})
			case checks.VerdictNondeterministic:
				unclear = append(unclear, BlameStop{CodeCheckNondeterministic, a.Command, a.Subset})
			case checks.VerdictPassed, checks.VerdictFailed:
			}
		}
		require.ElementsMatch(t, unclear, r.result.Stops, "every such verdict is named, with command and subset")
		if len(unclear) > 0 {
			require.Equal(t, &BlameResult{Stops: r.result.Stops, Runs: r.result.Runs}, r.result, "and nobody is blamed or cleared")
		}
	})
}
