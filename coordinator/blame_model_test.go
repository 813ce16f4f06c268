package coordinator

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"patchd/checks"
)

// blameModel is a round of few members with everything decided by enumeration: subsets are bit masks, an oracle is a function.
type blameModel struct {
	n        int
	deps     []uint // direct dependencies of each member
	commands []modelCommand
	coupled  [][2]int
}

type modelCommand struct {
	requires uint
	onTarget bool
	verdict  func(mask uint) Verdict // of closed sets
}

// naming gives each member its identity.
type naming []Identity

func names(n int) naming {
	out := make(naming, n)
	for i := range out {
		out[i] = Identity(fmt.Sprintf("%03d", i))
	}
	return out
}

func (n naming) list(mask uint) []Identity {
	var out []Identity
	for i := range n {
		if mask&(1<<i) != 0 {
			out = append(out, n[i])
		}
	}
	slices.Sort(out)
	return out
}

func (n naming) mask(ids []Identity) uint {
	var out uint
	for _, id := range ids {
		out |= 1 << slices.Index(n, id)
	}
	return out
}

func (m *blameModel) input(n naming, budget int) BlameInput {
	in := BlameInput{Budget: budget}
	for i, d := range m.deps {
		in.Members = append(in.Members, BlameMember{n[i], n.list(d)})
	}
	for i, c := range m.commands {
		in.Commands = append(in.Commands, BlameCommand{commandName(i), n.list(c.requires), c.onTarget})
	}
	for _, p := range m.coupled {
		in.Coupled = append(in.Coupled, [2]Identity{n[p[0]], n[p[1]]})
	}
	return in
}

func commandName(i int) string { return fmt.Sprintf("check %d", i) }

func commandIndex(t require.TestingT, name string) int {
	var i int
	_, err := fmt.Sscanf(name, "check %d", &i)
	require.NoError(t, err)
	return i
}

func (m *blameModel) answer(t require.TestingT, n naming, q SubsetQuestion) SubsetAnswer {
	mask, c := n.mask(q.Subset), m.commands[commandIndex(t, q.Command)]
	require.True(t, m.isClosed(mask), "only closed subsets are asked of")
	require.True(t, m.applies(c, mask), "a command is asked only of subsets with a member that requires it")
	return SubsetAnswer{q, c.verdict(mask)}
}

func (m *blameModel) isClosed(mask uint) bool {
	for i, d := range m.deps {
		if mask&(1<<i) != 0 && d&^mask != 0 {
			return false
		}
	}
	return true
}

func (m *blameModel) applies(c modelCommand, mask uint) bool {
	return mask&c.requires != 0 || mask == 0 && c.onTarget
}

func (m *blameModel) every() uint { return 1<<m.n - 1 }

// tops is the members of a closed set that can be left out one by one.
func (m *blameModel) tops(mask uint) uint {
	var out uint
	for i := range m.n {
		if mask&(1<<i) != 0 && m.isClosed(mask&^(1<<i)) {
			out |= 1 << i
		}
	}
	return out
}

func (m *blameModel) fails(c modelCommand, mask uint) bool {
	return m.applies(c, mask) && c.verdict(mask) == checks.VerdictFailed
}

// extremes enumerates all minimal failing and all maximal passing closed sets.
func (m *blameModel) extremes(c modelCommand) (minimal, maximal []uint) {
	for mask := uint(0); mask <= m.every(); mask++ {
		if !m.isClosed(mask) {
			continue
		}
		fails, extreme := m.fails(c, mask), true
		for other := uint(0); other <= m.every() && extreme; other++ {
			if other == mask || !m.isClosed(other) {
				continue
			}
			below, above := other&^mask == 0, mask&^other == 0
			if fails && below && m.fails(c, other) || !fails && above && !m.fails(c, other) {
				extreme = false
			}
		}
		switch {
		case extreme && fails:
			minimal = append(minimal, mask)
		case extreme:
			maximal = append(maximal, mask)
		}
	}
	return minimal, maximal
}

// price is the price list of Blame's documentation, from the extremes alone.
func (m *blameModel) price(c modelCommand) int {
	minimal, maximal := m.extremes(c)
	total := 1
	if c.onTarget {
		total++
	}
	for _, g := range minimal {
		total += 2 + bits.OnesCount(m.tops(g))*(bits.Len(uint(m.n-1))+2)
	}
	for _, p := range maximal {
		if m.applies(c, p) {
			total += 2
		}
	}
	return total
}

// expected is the result by definition: every set enumerated, budgets shared by price.
func (m *blameModel) expected(n naming, budget int) *BlameResult {
	out := &BlameResult{}
	prices := map[int]int{}
	for i, c := range m.commands {
		if c.requires != 0 && m.fails(c, m.every()) {
			prices[i] = m.price(c)
		}
	}
	var blamed uint
	queue := uint(0)
	for i, c := range m.commands {
		price, failing := prices[i]
		total := 0
		for _, p := range prices {
			total += min(p, price)
		}
		switch {
		case !failing:
		case total > budget:
			out.Unfinished = append(out.Unfinished, commandName(i))
			queue = m.every()
		default:
			minimal, _ := m.extremes(c)
			for _, g := range minimal {
				out.Sets = append(out.Sets, FailingSet{commandName(i), n.list(g), n.list(m.tops(g))})
				blamed |= m.tops(g)
			}
		}
	}
	m.divide(n, out, blamed, queue|blamed)
	return out
}

func (m *blameModel) divide(n naming, out *BlameResult, blamed, queue uint) {
	slices.SortFunc(out.Sets, func(a, b FailingSet) int {
		if d := strings.Compare(a.Command, b.Command); d != 0 {
			return d
		}
		return slices.Compare(a.Subset, b.Subset)
	})
	for _, id := range n.list(blamed) {
		member := BlamedMember{Identity: id}
		for _, f := range out.Sets {
			if slices.Contains(f.Blamed, id) {
				member.Evidence = append(member.Evidence, f)
			}
		}
		out.Blamed = append(out.Blamed, member)
	}
	cleared := m.every() &^ queue
	for changed := true; changed; {
		changed = false
		for i, d := range m.deps {
			if cleared&(1<<i) != 0 && d&^cleared != 0 {
				cleared &^= 1 << i
				changed = true
			}
		}
	}
	out.Wide, out.Cleared, out.Held = n.list(queue&^blamed), n.list(cleared), n.list(m.every()&^queue&^cleared)
}

// blameRun asks until there is a result, and keeps what was asked.
type blameRun struct {
	result  *BlameResult
	answers []SubsetAnswer
	levels  int
}

func (m *blameModel) run(t require.TestingT, n naming, budget int) blameRun {
	b, err := NewBlame(m.input(n, budget))
	require.NoError(t, err)
	return drive(t, b, func(q SubsetQuestion) SubsetAnswer { return m.answer(t, n, q) })
}

func drive(t require.TestingT, b *Blame, answer func(SubsetQuestion) SubsetAnswer) blameRun {
	var r blameRun
	seen := map[string]bool{}
	for {
		questions, result := b.Next(r.answers)
		if result != nil {
			r.result = result
			return r
		}
		require.NotEmpty(t, questions)
		r.levels++
		for _, q := range questions {
			key := fmt.Sprint(q.Command, q.Subset)
			require.False(t, seen[key], "nothing is asked twice")
			seen[key] = true
			r.answers = append(r.answers, answer(q))
		}
	}
}

// sameResult compares everything but the operational number of runs.
func sameResult(t require.TestingT, want, got *BlameResult) {
	a, b := *want, *got
	a.Runs, b.Runs = 0, 0
	for _, r := range []*BlameResult{&a, &b} {
		if len(r.Wide) == 0 {
			r.Wide = nil
		}
		if len(r.Held) == 0 {
			r.Held = nil
		}
		if len(r.Cleared) == 0 {
			r.Cleared = nil
		}
	}
	require.Equal(t, a, b)
}

// drawRound draws members with dependencies, commands without verdicts, and hints.
func drawRound(t *rapid.T, most int) *blameModel {
	m := &blameModel{n: rapid.IntRange(1, most).Draw(t, "members")}
	for i := range m.n {
		var deps uint
		if i > 0 && rapid.IntRange(0, 2).Draw(t, "dependent") == 0 {
			deps = rapid.UintRange(0, 1<<i-1).Draw(t, "dependencies") & rapid.UintRange(0, 1<<i-1).Draw(t, "fewer")
		}
		m.deps = append(m.deps, deps)
	}
	for range rapid.IntRange(1, 3).Draw(t, "commands") {
		c := modelCommand{requires: m.every(), onTarget: rapid.Bool().Draw(t, "on target")}
		if rapid.Bool().Draw(t, "some require") {
			c.requires = rapid.UintRange(0, m.every()).Draw(t, "requirers")
		}
		m.commands = append(m.commands, c)
	}
	for range rapid.IntRange(0, 2).Draw(t, "pairs") {
		member := rapid.IntRange(0, m.n-1)
		m.coupled = append(m.coupled, [2]int{member.Draw(t, "one"), member.Draw(t, "other")})
	}
	return m
}

// drawMonotone adds verdicts that random sets fix: who holds one of them fails.
func drawMonotone(t *rapid.T, most int) *blameModel {
	m := drawRound(t, most)
	for i := range m.commands {
		cores := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) uint {
			core := uint(0)
			for range rapid.IntRange(1, 3).Draw(t, "size") {
				core |= 1 << rapid.IntRange(0, m.n-1).Draw(t, "member")
			}
			return core
		}), 0, 4).Draw(t, "cores")
		m.commands[i].verdict = func(mask uint) Verdict {
			for _, core := range cores {
				if core&^mask == 0 {
					return checks.VerdictFailed
				}
			}
			return checks.VerdictPassed
		}
	}
	return m
}

// drawArbitrary adds verdicts that follow no rule, from the given ones; the target passes.
func drawArbitrary(t *rapid.T, most int, from ...Verdict) *blameModel {
	m := drawRound(t, most)
	for i := range m.commands {
		salt := rapid.Uint64().Draw(t, "salt")
		m.commands[i].verdict = func(mask uint) Verdict {
			if mask == 0 {
				return checks.VerdictPassed
			}
			x := (uint64(mask) + salt) * 0x9E3779B97F4A7C15
			x ^= x >> 29
			x *= 0xBF58476D1CE4E5B9
			return from[(x>>33)%uint64(len(from))]
		}
	}
	return m
}

const noBudget = 1 << 30
