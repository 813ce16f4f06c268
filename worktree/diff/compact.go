package diff

// Canonical position of slides. An insertion or deletion inside repeated lines can be drawn at several places
// with the same result. The one chosen here is git's without its indentation heuristic: each group of changed
// lines is pushed up as far as it goes and then down as far as it goes, joining every group that it meets; it
// rests at the lowest place, unless on the way it met a group of the other side, with which it then makes one
// replacement. Deletions are placed first, then insertions.

// alignment pairs unchanged lines: a[i] of the base is b[i] of the result. Between pairs lie the slots, in which
// each side has a possibly empty group of changed lines.
type alignment struct {
	a, b       []int // positions of the pairs, each ended by the length of its sequence
	base, next []int32
	work       int
}

// align builds the alignment of two marked sequences.
func align(base, result []int32, changedA, changedB []bool) *alignment {
	m := &alignment{base: base, next: result, work: workBase + workPerLine*(len(base)+len(result))}
	for i := range base {
		if !changedA[i] {
			m.a = append(m.a, i)
		}
	}
	for i := range result {
		if !changedB[i] {
			m.b = append(m.b, i)
		}
	}
	m.a, m.b = append(m.a, len(base)), append(m.b, len(result))
	return m
}

// compact moves every group to its canonical position.
func (m *alignment) compact() {
	m.settle(m.base, m.a, m.b)
	m.settle(m.next, m.b, m.a)
}

// start gives the first line of slot i's group.
func start(at []int, i int) int {
	if i == 0 {
		return 0
	}
	return at[i-1] + 1
}

// settle places the groups of one side; other holds the pairs of the other side.
func (m *alignment) settle(lines []int32, at, other []int) {
	last := len(at) - 1
	for i := 0; i <= last; i++ {
		if start(at, i) == at[i] {
			continue
		}
		met := -1
		for m.work > 0 {
			size := at[i] - start(at, i)
			i = m.up(lines, at, i, 0)
			met = -1
			if start(other, i) < other[i] {
				met = i
			}
			for i < last && lines[start(at, i)] == lines[at[i]] && m.work > 0 {
				at[i] = start(at, i)
				i++
				m.work--
				if start(other, i) < other[i] {
					met = i
				}
			}
			if at[i]-start(at, i) == size {
				break
			}
		}
		if met >= 0 {
			i = m.up(lines, at, i, met)
		}
	}
}

// up pushes slot i's group up, to slot stop at the furthest, and gives the slot it reached.
func (m *alignment) up(lines []int32, at []int, i, stop int) int {
	for i > stop && lines[at[i-1]] == lines[at[i]-1] && m.work > 0 {
		at[i-1] = at[i] - 1
		i--
		m.work--
	}
	return i
}

// edits reads the edits off the alignment.
func (m *alignment) edits(result [][]byte) []Edit {
	var out []Edit
	for i := range m.a {
		a0, b0 := start(m.a, i), start(m.b, i)
		if a0 < m.a[i] || b0 < m.b[i] {
			e := Edit{Start: a0, End: m.a[i]}
			if b0 < m.b[i] {
				e.New = result[b0:m.b[i]:m.b[i]]
			}
			out = append(out, e)
		}
	}
	return out
}

// intern numbers the lines of both sequences, equal lines alike.
func intern(base, result [][]byte) (a, b []int32, ids int) {
	seen := make(map[string]int32, len(base))
	number := func(lines [][]byte) []int32 {
		out := make([]int32, len(lines))
		for i, line := range lines {
			id, ok := seen[string(line)]
			if !ok {
				id = int32(len(seen)) //nolint:gosec // fewer than 2^31 lines: their bytes are bounded
				seen[string(line)] = id
			}
			out[i] = id
		}
		return out
	}
	a, b = number(base), number(result)
	return a, b, len(seen)
}
