package coordinator

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// rivals count what other ways of finding a culprit would run, on the same verdicts: commands that some member of the set
// requires, each once for each distinct tree.
type rivals struct {
	in     BlameInput
	oracle cores
	runs   int
}

func (r *rivals) red(set []Identity) bool {
	red := false
	for _, c := range r.in.Commands {
		if slices.ContainsFunc(set, func(id Identity) bool { return slices.Contains(c.RequiredBy, id) }) {
			r.runs++
			red = red || r.oracle.answer(SubsetQuestion{c.Command, set}).Verdict == "failed"
		}
	}
	return red
}

// bisect is a merge queue's: a batch that fails is halved, each half is tried on what landed before it, single ones that
// fail are thrown out.
func (r *rivals) bisect(landed, batch []Identity) (after, out []Identity) {
	together := slices.Concat(landed, batch)
	if !r.red(together) {
		return together, nil
	}
	if len(batch) == 1 {
		return landed, batch
	}
	landed, first := r.bisect(landed, batch[:len(batch)/2])
	landed, second := r.bisect(landed, batch[len(batch)/2:])
	return landed, slices.Concat(first, second)
}

// oneByOne tries each patch on what landed before it.
func (r *rivals) oneByOne(all []Identity) (out []Identity) {
	var landed []Identity
	for _, id := range all {
		if next := append(slices.Clone(landed), id); r.red(next) {
			out = append(out, id)
		} else {
			landed = next
		}
	}
	return out
}

// allPairs tries every patch and every pair by itself, which is what finds pairs without a search.
func (r *rivals) allPairs(all []Identity) {
	for i, a := range all {
		r.red([]Identity{a})
		for _, b := range all[:i] {
			r.red([]Identity{b, a})
		}
	}
}

func TestBlameOf32PatchesIsExactWithFewRuns(t *testing.T) {
	t.Parallel()
	all := []Identity(names(32))
	for _, c := range []struct {
		name     string
		own      bool // the broken check is one that only its patch requires
		most     int  // the runs in the worst of the samples
		rounds   int
		expected int // runs that trying all pairs needs
	}{
		{name: "one command for all", most: 40, rounds: 200, expected: 32 + 32*31/2},
		{name: "a command of its own", own: true, most: 33, rounds: 200, expected: 32 + 32*31/2 + 1 + 31},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(1, 2))
			total, worst, levels, bisected, single, wrong := 0, 0, 0, 0, 0, 0
			for range c.rounds {
				shuffled := slices.Clone(all)
				rng.Shuffle(len(all), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
				a, b, x, y := shuffled[0], shuffled[1], shuffled[2], shuffled[3]
				in, oracle := thirtyTwo(all, c.own, a, b, x, y)
				r := blameOf(t, in, oracle.answer)
				requireBlamed(t, r.result, a, b, x, y)
				total, worst, levels = total+r.result.Runs, max(worst, r.result.Runs), levels+r.levels

				halves := &rivals{in: in, oracle: oracle}
				_, out := halves.bisect(nil, all)
				bisected += halves.runs
				if len(out) != 4 {
					wrong++
				}
				steps := &rivals{in: in, oracle: oracle}
				steps.oneByOne(all)
				single += steps.runs
				pairs := &rivals{in: in, oracle: oracle}
				pairs.allPairs(all)
				require.Equal(t, c.expected, pairs.runs)
			}
			t.Logf("runs: blame %.1f (worst %d, in %.1f levels), exact; bisection %.1f and one by one %.1f, who blame the later ones only (%d of %d rounds); all pairs %d",
				mean(total, c.rounds), worst, mean(levels, c.rounds), mean(bisected, c.rounds), mean(single, c.rounds), wrong, c.rounds, c.expected)
			require.LessOrEqual(t, worst, c.most)
			require.Equal(t, c.rounds, wrong, "the others throw out whoever comes later")
		})
	}
}

func thirtyTwo(all []Identity, own bool, a, b, x, y Identity) (BlameInput, cores) {
	in := BlameInput{
		Members: independent(all...), Budget: 100,
		Commands: []BlameCommand{{Command: "test", RequiredBy: all, OnTarget: true}},
	}
	if !own {
		return in, cores{"test": {{a, b}, {x, y}}}
	}
	in.Commands = append(in.Commands, BlameCommand{Command: "test of y", RequiredBy: []Identity{y}})
	return in, cores{"test": {{a, b}}, "test of y": {{x, y}}}
}

func requireBlamed(t *testing.T, r *BlameResult, want ...Identity) {
	t.Helper()
	var got []Identity
	for _, m := range r.Blamed {
		got = append(got, m.Identity)
	}
	require.ElementsMatch(t, want, got)
	require.Empty(t, r.Wide)
	require.Empty(t, r.Unfinished)
}

func mean(total, n int) float64 { return float64(total) / float64(n) }

func TestBlameCostGrowsWithTheLogarithmOfTheRound(t *testing.T) {
	t.Parallel()
	all := []Identity(names(300))
	in := BlameInput{
		Members: independent(all...), Budget: 60,
		Commands: []BlameCommand{{Command: "test", RequiredBy: all, OnTarget: true}},
	}
	r := blameOf(t, in, cores{"test": {{all[17], all[203]}}}.answer)
	requireBlamed(t, r.result, all[17], all[203])
	require.LessOrEqual(t, r.result.Runs, 30)

	in.Coupled = [][2]Identity{{all[17], all[203]}}
	hinted := blameOf(t, in, cores{"test": {{all[17], all[203]}}}.answer)
	sameResult(t, r.result, hinted.result)
	require.LessOrEqual(t, hinted.result.Runs, 8, "a good guess saves the search")
}

func TestBlameOfManyIndependentPairsEndsAtTheBudget(t *testing.T) {
	t.Parallel()
	all := []Identity(names(64))
	var pairs [][]Identity
	for i := 0; i < len(all); i += 2 { // 2^32 maximal passing sets
		pairs = append(pairs, all[i:i+2])
	}
	for _, budget := range []int{50, 300, 900} {
		r := blameOf(t, BlameInput{
			Members: independent(all...), Budget: budget,
			Commands: []BlameCommand{{Command: "test", RequiredBy: all, OnTarget: true}},
		}, cores{"test": pairs}.answer).result
		require.LessOrEqual(t, r.Runs, budget)
		require.Equal(t, all, r.Wide, "wide, never arbitrary")
		require.Equal(t, []string{"test"}, r.Unfinished)
	}
}
