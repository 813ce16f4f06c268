package coordinator

import (
	"fmt"
	"slices"
)

// Member is one patch of the set S with the labels of its submissions.
type Member struct {
	Submission *Submission
	Labels     []PatchID
}

// Identity is the member's patch.
func (m Member) Identity() Identity { return m.Submission.Identity }

// Landing is a recorded landing. It counts while its commit is an ancestor of the target. Supersedes is what the landed
// patch's manifest says: what it replaced does not come back when it lands.
type Landing struct {
	Identity   Identity
	Labels     []PatchID
	Supersedes []string
	Commit     string
	Counts     bool
}

// links is how the patches of a set refer to each other, with names looked up.
type links struct {
	names     map[string][]Identity // what each identity and label stands for, ascending
	pending   map[Identity]bool
	landed    map[Identity]bool
	over      map[Identity][]Identity // of superseded patches: those that supersede them, ascending; none of them in a circle
	depends   map[Identity][]Identity // direct, pending ones only, ascending
	refused   map[Identity]*Refusal   // dependencies that cannot be looked up, or go round in a circle
	closures  map[Identity][]Identity
	depths    map[Identity]int
	satisfied func(Identity, string) bool
}

// linkSet looks up what the members depend on and supersede. implicit names dependencies that a base implies; satisfied tells
// whether the target's own history since the member's base carries a patch that nobody here knows.
func linkSet(members []Member, landings []Landing, implicit map[Identity][]Identity, satisfied func(Identity, string) bool) *links {
	l := &links{
		names: nameSet(members, landings), pending: map[Identity]bool{}, landed: map[Identity]bool{}, over: map[Identity][]Identity{},
		depends: map[Identity][]Identity{}, refused: map[Identity]*Refusal{}, closures: map[Identity][]Identity{}, depths: map[Identity]int{},
		satisfied: satisfied,
	}
	for _, m := range members {
		l.pending[m.Identity()] = true
	}
	for _, x := range landings {
		l.landed[x.Identity] = l.landed[x.Identity] || x.Counts
	}
	l.supersede(members, landings)
	for _, m := range members {
		if refusal := l.depend(m, implicit[m.Identity()]); refusal != nil {
			l.refused[m.Identity()] = refusal
		}
	}
	l.refuseCycles(members)
	for _, m := range members {
		l.measure(m.Identity())
	}
	return l
}

// nameSet lists what each label stands for, ascending. An identity stands for itself, whoever uses it as a label.
func nameSet(members []Member, landings []Landing) map[string][]Identity {
	names := map[string][]Identity{}
	known := map[Identity]bool{}
	add := func(id Identity, labels []PatchID) {
		known[id] = true
		for _, label := range labels {
			names[string(label)] = append(names[string(label)], id)
		}
	}
	for _, m := range members {
		add(m.Identity(), m.Labels)
	}
	for _, x := range landings {
		if x.Counts {
			add(x.Identity, x.Labels)
		}
	}
	for id := range known {
		names[string(id)] = []Identity{id}
	}
	for name, ids := range names {
		slices.Sort(ids)
		names[name] = slices.Compact(ids)
	}
	return names
}

// supersede finds the patches that leave the set: those that another one, pending or landed, names without doubt. Patches that
// supersede each other in a circle stay, all of them.
func (l *links) supersede(members []Member, landings []Landing) {
	all := map[Identity][]Identity{}
	note := func(by Identity, names []string) {
		for _, name := range names {
			ids := slices.DeleteFunc(slices.Clone(l.names[name]), func(id Identity) bool { return id == by })
			if len(ids) == 1 && l.pending[ids[0]] {
				all[ids[0]] = append(all[ids[0]], by)
			}
		}
	}
	for _, m := range members {
		note(m.Identity(), m.Submission.Manifest.Supersedes)
	}
	for _, x := range landings {
		if x.Counts {
			note(x.Identity, x.Supersedes)
		}
	}
	for id, by := range all {
		if !reaches(all, id, id) {
			slices.Sort(by)
			l.over[id] = slices.Compact(by)
		}
	}
}

// reaches reports whether a walk along next from the successors of start comes to goal.
func reaches(next map[Identity][]Identity, start, goal Identity) bool {
	return slices.Contains(reachable(next, start), goal)
}

// reachable lists everything that a walk along next comes to from start, ascending; start itself only where the walk returns.
func reachable(next map[Identity][]Identity, start Identity) []Identity {
	seen := map[Identity]bool{}
	var out []Identity
	for todo := slices.Clone(next[start]); len(todo) > 0; {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[id] {
			seen[id] = true
			out = append(out, id)
			todo = append(todo, next[id]...)
		}
	}
	slices.Sort(out)
	return out
}

// successor names a patch that stands in the place of a superseded one; false for a patch that is in the set. Where several
// do, it is the smallest, which is shown and decides nothing.
func (l *links) successor(id Identity) (Identity, bool) {
	if len(l.over[id]) == 0 {
		return "", false
	}
	return l.heirs(id)[0], true
}

// heirs go from a superseded patch to those that stand for it now, ascending; a patch that is not superseded is its own.
func (l *links) heirs(id Identity) []Identity {
	if len(l.over[id]) == 0 {
		return []Identity{id}
	}
	return slices.DeleteFunc(reachable(l.over, id), func(x Identity) bool { return len(l.over[x]) > 0 })
}

// standing lists what a name stands for once superseded patches are followed to their successors.
func (l *links) standing(name string) []Identity {
	var out []Identity
	for _, id := range l.names[name] {
		out = append(out, l.heirs(id)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// depend looks up a member's dependencies; what has landed is satisfied.
func (l *links) depend(m Member, implicit []Identity) *Refusal {
	id := m.Identity()
	if len(l.over[id]) > 0 {
		return nil // it is not in the set
	}
	var out []Identity
	for i, name := range m.Submission.Manifest.DependsOn {
		found := l.standing(name)
		switch {
		case len(found) == 0 && l.satisfied(id, name):
			continue
		case len(found) == 0:
			return dependencyUnknown(i, name)
		case len(found) > 1:
			return &Refusal{
				Code: CodeDependencyAmbiguous, Field: fmt.Sprintf("/depends_on/%d", i), Value: name,
				Message: fmt.Sprintf("dependency %q stands for %d patches", name, len(found)), Hint: "name the identity, or withdraw all but one",
			}
		}
		out = append(out, found[0])
	}
	for _, base := range implicit {
		found := l.standing(string(base))
		if len(found) != 1 {
			return baseOfNobody(m.Submission.Manifest, base, len(found))
		}
		out = append(out, found[0])
	}
	slices.Sort(out)
	l.depends[id] = slices.DeleteFunc(slices.Compact(out), func(dep Identity) bool { return l.landed[dep] })
	return nil
}

// baseOfNobody refuses a patch that builds on a candidate whose patch is gone, or has several successors.
func baseOfNobody(m *Manifest, of Identity, found int) *Refusal {
	r := &Refusal{
		Code: CodeDependencyUnknown, Field: "/base_commit", Value: string(m.BaseCommit),
		Message: fmt.Sprintf("the base is a candidate of patch %s, which is neither pending nor landed", of.Short()),
		Hint:    "rebase the patch onto a commit of the target's history and submit it again",
	}
	if found > 1 {
		r.Code, r.Message = CodeDependencyAmbiguous, fmt.Sprintf("the base is a candidate of patch %s, which %d patches supersede", of.Short(), found)
	}
	return r
}

func (l *links) refuseCycles(members []Member) {
	var circle []Identity
	for _, m := range members {
		if id := m.Identity(); reaches(l.depends, id, id) {
			circle = append(circle, id)
		}
	}
	for _, id := range circle {
		delete(l.depends, id)
		l.refused[id] = &Refusal{
			Code: CodeDependencyCycle, Value: string(id), Message: "the patch depends on itself through what it depends on",
			Hint: "withdraw one of the patches in the circle, or submit it without the dependency",
		}
	}
}

// measure remembers how far a patch is from patches that depend on nothing.
func (l *links) measure(id Identity) int {
	if d, ok := l.depths[id]; ok {
		return d
	}
	d := 0
	for _, dep := range l.depends[id] {
		d = max(d, l.measure(dep)+1)
	}
	l.depths[id], l.closures[id] = d, reachable(l.depends, id)
	return d
}

// closure lists everything that a patch depends on, ascending.
func (l *links) closure(id Identity) []Identity { return l.closures[id] }

// related reports whether one of the two depends on the other.
func (l *links) related(a, b Identity) bool {
	_, ab := slices.BinarySearch(l.closures[a], b)
	_, ba := slices.BinarySearch(l.closures[b], a)
	return ab || ba
}

// flat reports whether no patch depends on another that is pending.
func (l *links) flat() bool {
	for _, closure := range l.closures {
		if len(closure) > 0 {
			return false
		}
	}
	return true
}
