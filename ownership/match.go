package ownership

import (
	"slices"

	"patchd/ownership/symbols"
)

// Thresholds of the matching, over the share of token runs that two bodies have in common. Calibrated on the last
// commits of six repositories in five languages: of two different functions of one file (4.1 million pairs) the
// share is 0.02 in the median, 0.22 at the 90th, 0.33 at the 95th and 0.62 at the 99th percentile; of a function
// before and after an edit (3,200, overloads included) it is 0.56 in the median and 0.94 at the 75th. Under the same
// name a share is believed that one pair in thirty reaches by chance; under a new one it must lead as well, because
// in a quarter of the cases (tests, mostly) some other function of the file is as like as that.
const (
	// minTokens is the size below which a body says too little to be recognised under another name.
	minTokens = 8
	// movedSimilarity is enough for a body elsewhere under the same name.
	movedSimilarity = 0.4
	// renamedSimilarity is needed for a body under a new name, renamedMargin how far it must lead.
	renamedSimilarity = 0.55
	renamedMargin     = 0.1
	// nearBonus favours a candidate in the same file and container.
	nearBonus = 0.1
)

// match finds where the symbols that lost their path went: outer ones first, so that members follow their class.
func (s *side) match() {
	gone, fresh := s.loose()
	byDepth := func(list []ref, at func(ref) *symbols.Symbol) {
		slices.SortStableFunc(list, func(a, b ref) int { return depth(at(a)) - depth(at(b)) })
	}
	byDepth(gone, s.base)
	used := map[ref]bool{}
	for _, pass := range []func(ref, []ref, map[ref]bool) (ref, bool, bool){s.sameText, s.sameName, s.similar} {
		s.pass(gone, fresh, used, pass)
	}
	for _, b := range gone {
		if _, ok := s.fates[b]; !ok {
			s.fates[b] = fate{kind: fateDeleted, to: ref{b.file, -1}}
		}
	}
}

// pass settles what one rule finds, and the members of what it settles.
func (s *side) pass(gone, fresh []ref, used map[ref]bool, find func(ref, []ref, map[ref]bool) (ref, bool, bool)) {
	for _, b := range gone {
		if f, ok := s.fates[b]; ok && !f.ambiguous {
			continue
		}
		if r, ok := s.follow(b, fresh, used); ok {
			s.settle(b, r, used)
			continue
		}
		r, ok, ambiguous := find(b, fresh, used)
		switch {
		case ok:
			s.settle(b, r, used)
		case ambiguous:
			s.fates[b] = fate{kind: fateDeleted, to: ref{b.file, -1}, ambiguous: true}
		}
	}
}

// depth counts the symbols around one.
func depth(s *symbols.Symbol) int {
	n := 0
	for _, c := range s.Path {
		if c == '.' {
			n++
		}
	}
	return n
}

// loose lists base symbols and result symbols without a counterpart of the same path.
func (s *side) loose() (gone, fresh []ref) {
	for f, c := range s.changes {
		if s.degraded[f] {
			continue
		}
		for b, r := range c.toResult {
			if r < 0 && isCode(c.base.symbol(b).Kind) {
				gone = append(gone, ref{f, b})
			}
		}
		for r, b := range c.toBase {
			if b < 0 && isCode(c.result.symbol(r).Kind) {
				fresh = append(fresh, ref{f, r})
			}
		}
	}
	return gone, fresh
}

// isCode leaves out imports and the entries and sections of data and text, which lines and their own keys tell.
func isCode(k symbols.Kind) bool { return kindGroup(k) >= 1 && kindGroup(k) <= 3 }

func (s *side) settle(b, r ref, used map[ref]bool) {
	from, to := s.base(b), s.result(r)
	fa := fate{kind: fateMoved, to: r, signature: signatureChanged(from, to)}
	if from.Name != to.Name || s.fates[ref{b.file, from.Parent}].kind == fateRenamed {
		fa.kind = fateRenamed // by itself or with what encloses it
	}
	used[r] = true
	s.fates[b] = fa
}

// follow finds the member of the same name in what its container became.
func (s *side) follow(b ref, fresh []ref, used map[ref]bool) (ref, bool) {
	parent := s.base(b).Parent
	if parent < 0 {
		return ref{}, false
	}
	f, ok := s.fates[ref{b.file, parent}]
	if !ok || f.to.symbol < 0 {
		return ref{}, false
	}
	for _, r := range fresh {
		to := s.result(r)
		if r.file == f.to.file && to.Parent == f.to.symbol && to.Name == s.base(b).Name && !used[r] && alikeKinds(s.base(b).Kind, to.Kind) {
			return r, true
		}
	}
	return ref{}, false
}

// sameText finds the one new symbol that says exactly the same, its own name aside.
func (s *side) sameText(b ref, fresh []ref, used map[ref]bool) (ref, bool, bool) {
	from := s.base(b)
	var found []ref
	for _, r := range fresh {
		to := s.result(r)
		if used[r] || to.Exact != from.Exact || !alikeKinds(from.Kind, to.Kind) {
			continue
		}
		if to.Name == from.Name {
			return r, true, false
		}
		found = append(found, r)
	}
	if from.Tokens < minTokens && len(found) > 0 && !s.onlyNear(b, found) {
		return ref{}, false, false
	}
	if len(found) == 1 {
		return found[0], true, false
	}
	return ref{}, false, len(found) > 1
}

// onlyNear reports whether a small body has one candidate, and that in its own file and container.
func (s *side) onlyNear(b ref, found []ref) bool { return len(found) == 1 && s.near(b, found[0]) }

func (s *side) near(b, r ref) bool {
	return b.file == r.file && container(s.base(b)) == container(s.result(r))
}

func container(s *symbols.Symbol) string { return s.Path[:len(s.Path)-len(s.Name)] }

// sameName finds a similar body elsewhere under the same name.
func (s *side) sameName(b ref, fresh []ref, used map[ref]bool) (ref, bool, bool) {
	from := s.base(b)
	best, score := ref{}, 0.0
	for _, r := range fresh {
		to := s.result(r)
		if used[r] || to.Name != from.Name || !alikeKinds(from.Kind, to.Kind) {
			continue
		}
		if x := symbols.Similarity(from.Shape, to.Shape); x > score {
			best, score = r, x
		}
	}
	return best, score >= movedSimilarity, false
}

// similar finds a similar body under a new name that leads clearly over every other.
func (s *side) similar(b ref, fresh []ref, used map[ref]bool) (ref, bool, bool) {
	from := s.base(b)
	if from.Tokens < minTokens {
		return ref{}, false, false
	}
	best, score, second := ref{}, 0.0, 0.0
	for _, r := range fresh {
		to := s.result(r)
		if used[r] || to.Tokens < minTokens || !alikeKinds(from.Kind, to.Kind) {
			continue
		}
		x := symbols.Similarity(from.Shape, to.Shape)
		if s.near(b, r) {
			x += nearBonus
		}
		if x > score {
			best, score, second = r, x, score
		} else {
			second = max(second, x)
		}
	}
	if score < renamedSimilarity {
		return ref{}, false, false
	}
	return best, score-second >= renamedMargin, score-second < renamedMargin
}

// alikeKinds reports whether a change could turn the one kind into the other.
func alikeKinds(a, b symbols.Kind) bool { return kindGroup(a) == kindGroup(b) }

func kindGroup(k symbols.Kind) int {
	switch k {
	case symbols.KindFunction, symbols.KindMethod, symbols.KindMacro:
		return 1
	case symbols.KindClass, symbols.KindInterface, symbols.KindType, symbols.KindEnum, symbols.KindImpl:
		return 2
	case symbols.KindVariable, symbols.KindConstant:
		return 3
	case symbols.KindImport:
		return 4
	case symbols.KindModule:
		return 5
	case symbols.KindSection, symbols.KindRule, symbols.KindEntry, symbols.KindTable:
		return 6
	}
	return 0
}
