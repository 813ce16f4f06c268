package coordinator

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"math/bits"
	"slices"
)

// memberSet is a set of member indices of one round. All sets of a round have one length; operations return new sets.
type memberSet []uint64

func newMemberSet(n int) memberSet { return make(memberSet, (n+63)/64) }

// add puts i into s itself; only for sets that nobody else holds yet.
func (s memberSet) add(i int) { s[i/64] |= 1 << (i % 64) }

func (s memberSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }

func (s memberSet) union(o memberSet) memberSet {
	out := slices.Clone(s)
	for i, w := range o {
		out[i] |= w
	}
	return out
}

func (s memberSet) minus(o memberSet) memberSet {
	out := slices.Clone(s)
	for i, w := range o {
		out[i] &^= w
	}
	return out
}

func (s memberSet) within(o memberSet) bool {
	for i, w := range s {
		if w&^o[i] != 0 {
			return false
		}
	}
	return true
}

func (s memberSet) meets(o memberSet) bool {
	for i, w := range s {
		if w&o[i] != 0 {
			return true
		}
	}
	return false
}

func (s memberSet) empty() bool { return s.size() == 0 }

func (s memberSet) size() int {
	n := 0
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// all yields the indices, ascending.
func (s memberSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(i*64 + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}

// key is equal for equal sets.
func (s memberSet) key() string {
	out := make([]byte, 0, 8*len(s))
	for _, w := range s {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return string(out)
}

// lattice is the family of dependency-closed subsets of a round.
type lattice struct {
	ids   []Identity // ascending; an index is a place in it
	index map[Identity]int
	down  []memberSet // the member and all that it depends on
	up    []memberSet // the member and all that depend on it
	every memberSet
}

func newLattice(members []BlameMember) (*lattice, error) {
	n := len(members)
	l := &lattice{index: make(map[Identity]int, n), every: newMemberSet(n)}
	sorted := slices.Clone(members)
	slices.SortFunc(sorted, func(a, b BlameMember) int { return cmp.Compare(a.Identity, b.Identity) })
	for i, m := range sorted {
		if _, twice := l.index[m.Identity]; twice {
			return nil, fmt.Errorf("member %q is listed twice", m.Identity)
		}
		l.index[m.Identity] = i
		l.ids = append(l.ids, m.Identity)
		l.every.add(i)
	}
	direct := make([]memberSet, n)
	for i, m := range sorted {
		var err error
		if direct[i], err = l.set(m.DependsOn); err != nil {
			return nil, fmt.Errorf("dependencies of %q: %w", m.Identity, err)
		}
	}
	return l, l.relate(direct)
}

// relate fills down and up from the direct dependencies.
func (l *lattice) relate(direct []memberSet) error {
	n := len(l.ids)
	l.down, l.up = make([]memberSet, n), make([]memberSet, n)
	onPath := newMemberSet(n)
	var visit func(i int) error
	visit = func(i int) error {
		if l.down[i] != nil {
			return nil
		}
		if onPath.has(i) {
			return fmt.Errorf("member %q depends on itself", l.ids[i])
		}
		onPath.add(i)
		down := newMemberSet(n)
		down.add(i)
		for d := range direct[i].all() {
			if err := visit(d); err != nil {
				return err
			}
			down = down.union(l.down[d])
		}
		l.down[i] = down
		return nil
	}
	for i := range n {
		if err := visit(i); err != nil {
			return err
		}
		l.up[i] = newMemberSet(n)
	}
	for i := range n {
		for d := range l.down[i].all() {
			l.up[d].add(i)
		}
	}
	return nil
}

// set turns identities into indices.
func (l *lattice) set(ids []Identity) (memberSet, error) {
	out := newMemberSet(len(l.ids))
	for _, id := range ids {
		i, ok := l.index[id]
		if !ok {
			return nil, fmt.Errorf("%q is no member of the round", id)
		}
		out.add(i)
	}
	return out, nil
}

// identities lists a set, ascending.
func (l *lattice) identities(s memberSet) []Identity {
	out := make([]Identity, 0, s.size())
	for i := range s.all() {
		out = append(out, l.ids[i])
	}
	return out
}

// closed adds to a set all that its members depend on.
func (l *lattice) closed(s memberSet) memberSet {
	out := s
	for i := range s.all() {
		out = out.union(l.down[i])
	}
	return out
}

// dependants is a set with all that depends on it.
func (l *lattice) dependants(s memberSet) memberSet {
	out := s
	for i := range s.all() {
		out = out.union(l.up[i])
	}
	return out
}

// maximal is the members of s on which no other member of s depends.
func (l *lattice) maximal(s memberSet) memberSet {
	out := newMemberSet(len(l.ids))
	for i := range s.all() {
		above := l.up[i].minus(l.down[i])
		if !above.meets(s) {
			out.add(i)
		}
	}
	return out
}

// lineUp orders a closed set so that each prefix is closed, by rank as far as dependencies allow. A member's rank is raised
// to that of all it depends on, so comparing (rank, number of dependencies) puts dependencies first.
func (l *lattice) lineUp(s memberSet, rank func(i int) int) []int {
	raised := make(map[int]int, s.size())
	for i := range s.all() {
		for d := range l.down[i].all() {
			raised[i] = max(raised[i], rank(d))
		}
	}
	out := slices.Collect(s.all())
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(raised[a], raised[b]), cmp.Compare(l.down[a].size(), l.down[b].size()), cmp.Compare(a, b))
	})
	return out
}
