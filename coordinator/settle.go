package coordinator

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"patchd/worktree/git"
)

// settlement is what contention comes to once people's resolutions are applied.
type settlement struct {
	reasons  map[Identity][]Reason // of those that still contend, each with the other's identity
	resolved map[Identity][]Case
	open     map[Identity][]Case
	together map[Identity][]Case
	accepted map[[2]Identity]bool
}

func (s *settlement) contended() map[Identity]bool {
	out := map[Identity]bool{}
	for id := range s.reasons {
		out[id] = true
	}
	return out
}

// settle applies what people resolved to pairs that meet: a pair that was accepted together does not contend, and a patch that
// was chosen over exactly those that it contends with goes ahead, unless one of these was chosen over it. The rest contends.
func (r *stateRun) settle(ctx context.Context, found encounters) (*settlement, error) {
	s := &settlement{
		reasons: map[Identity][]Reason{}, resolved: map[Identity][]Case{}, open: map[Identity][]Case{}, together: map[Identity][]Case{},
		accepted: map[[2]Identity]bool{},
	}
	if err := r.acceptPairs(s, found); err != nil {
		return nil, err
	}
	for pair, e := range found {
		if s.accepted[pair] {
			continue
		}
		for i, id := range pair {
			for _, x := range e.reasons {
				x.With = string(pair[1-i])
				s.reasons[id] = append(s.reasons[id], x)
			}
		}
	}
	for id := range s.reasons {
		s.reasons[id] = sortedReasons(s.reasons[id])
	}
	return s, r.choose(ctx, s)
}

// acceptPairs finds the pairs that a person accepted together; those that could be are cases of both.
func (r *stateRun) acceptPairs(s *settlement, found encounters) error {
	for _, pair := range sortedPairs(found) {
		c := pairCase(pair, found[pair])
		if !Composable(c.Codes) {
			continue
		}
		for _, id := range pair {
			holds, err := r.in.Rulings.holds(ActionAccept, id, c)
			if err != nil {
				return err
			}
			s.accepted[pair] = s.accepted[pair] || holds
		}
		for _, id := range pair {
			if s.accepted[pair] {
				s.resolved[id] = append(s.resolved[id], c)
			} else {
				s.together[id] = append(s.together[id], c)
			}
		}
	}
	return nil
}

func sortedPairs(found encounters) [][2]Identity {
	return slices.SortedFunc(maps.Keys(found), func(a, b [2]Identity) int { return slices.Compare(a[:], b[:]) })
}

// choose lets the chosen go ahead. Two that were chosen over each other contradict each other: neither goes.
func (r *stateRun) choose(ctx context.Context, s *settlement) error {
	cases, chosen := map[Identity]Case{}, map[Identity]bool{}
	for _, id := range slices.Sorted(maps.Keys(s.reasons)) {
		c, err := r.chooseCase(ctx, id, s.reasons[id])
		if err != nil {
			return err
		}
		cases[id] = c
		if chosen[id], err = r.in.Rulings.holds(ActionChoose, id, c); err != nil {
			return err
		}
	}
	for id, c := range cases {
		if chosen[id] && !slices.ContainsFunc(c.Contenders, func(other Identity) bool { return chosen[other] }) {
			s.resolved[id] = append(s.resolved[id], c)
			delete(s.reasons, id)
		} else {
			s.open[id] = append(s.open[id], c)
		}
	}
	return nil
}

// chooseCase is one patch against all that it contends with: what choose binds, with what the patch makes of the paths.
func (r *stateRun) chooseCase(ctx context.Context, id Identity, reasons []Reason) (Case, error) {
	blobs, err := blobsAt(ctx, r.judged[id].plan.Objects, r.judged[id].plan.Tree, reasons)
	if err != nil {
		return Case{}, err
	}
	c := caseOf(id, reasons, blobs)
	for _, x := range reasons {
		c.Contenders = append(c.Contenders, Identity(x.With))
	}
	return c.Sorted(), nil
}

// pairCase is two patches that meet: what accept binds. It is the same from both sides.
func pairCase(pair [2]Identity, e *encounter) Case {
	c := caseOf(pair[0], e.reasons, e.blobs)
	c.Identities = []Identity{pair[0], pair[1]}
	return c
}

// Composable reports whether patches that meet for these reasons can be applied at once all the same: their lines lie apart,
// and only what the lines mean is in question. Others can be chosen between, or rebased one onto the other.
func Composable(codes []Code) bool {
	return !slices.ContainsFunc(codes, func(c Code) bool {
		class, err := ClassOf(c)
		return err != nil || class == ClassTextual || c == CodePlacementAmbiguous || c == CodeFileRenamed
	})
}

func pairOf(a, b Identity) [2]Identity { return [2]Identity{min(a, b), max(a, b)} }

// blobsAt looks up what a tree holds at the paths that reasons name.
func blobsAt(ctx context.Context, objects git.Reader, tree git.OID, reasons []Reason) (map[string]git.OID, error) {
	blobs := map[string]git.OID{}
	for _, x := range reasons {
		if _, done := blobs[x.Path]; done || x.Path == "" || tree == "" {
			continue
		}
		entry, err := git.Lookup(ctx, objects, tree, x.Path)
		if err != nil {
			return nil, fmt.Errorf("look up %q: %w", x.Path, err)
		}
		blobs[x.Path] = entry.OID
	}
	return blobs, nil
}

// PairCase is the case of this patch and one that it contends with, applied at once: what accept binds. It is false for a pair
// that does not contend, or whose lines meet.
func (j *Judged) PairCase(other Identity) (Case, bool) {
	i := slices.IndexFunc(j.Together, func(c Case) bool { return slices.Contains(c.Identities, other) })
	if i < 0 || other == j.Status.Identity {
		return Case{}, false
	}
	return j.Together[i], true
}
