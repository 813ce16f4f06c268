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

// Landing is a recorded landing. It counts while its commit is an ancestor of the target.
type Landing struct {
	Identity Identity
	Labels   []PatchID
	Commit   string
	Counts   bool
}

// links is how the patches of a set refer to each other, with names looked up.
type links struct {
	depends   map[Identity][]Identity // direct, pending ones only, ascending
	refused   map[Identity]*Refusal   // dependencies that cannot be looked up, or go round in a circle
	successor map[Identity]Identity   // of superseded patches: the smallest of those that supersede it
}

// linkSet looks up what the members depend on and supersede. implicit names dependencies that a base implies.
func linkSet(members []Member, landings []Landing, implicit map[Identity][]Identity) *links {
	l := &links{depends: map[Identity][]Identity{}, refused: map[Identity]*Refusal{}, successor: map[Identity]Identity{}}
	names := nameSet(members, landings)
	pending := map[Identity]bool{}
	for _, m := range members {
		pending[m.Identity()] = true
	}
	l.supersede(members, names, pending)
	landed := map[Identity]bool{}
	for _, x := range landings {
		landed[x.Identity] = landed[x.Identity] || x.Counts
	}
	for _, m := range members {
		l.depend(m, names, pending, landed, implicit[m.Identity()])
	}
	l.refuseCycles(members)
	return l
}

// nameSet lists what each label stands for, ascending.
func nameSet(members []Member, landings []Landing) map[string][]Identity {
	names := map[string][]Identity{}
	add := func(id Identity, labels []PatchID) {
		names[string(id)] = []Identity{id}
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
	for name, ids := range names {
		slices.Sort(ids)
		names[name] = slices.Compact(ids)
	}
	return names
}

// supersede finds the patches that leave the set: those that another member names without doubt. Members that supersede each
// other in a circle stay, all of them.
func (l *links) supersede(members []Member, names map[string][]Identity, pending map[Identity]bool) {
	over := map[Identity][]Identity{}
	for _, m := range members {
		for _, name := range m.Submission.Manifest.Supersedes {
			ids := slices.DeleteFunc(slices.Clone(names[name]), func(id Identity) bool { return id == m.Identity() })
			if len(ids) == 1 && pending[ids[0]] {
				over[ids[0]] = append(over[ids[0]], m.Identity())
			}
		}
	}
	for id, by := range over {
		slices.Sort(by)
		if !reaches(over, id, id) {
			l.successor[id] = by[0]
		}
	}
}

// reaches reports whether a walk along next from the successors of start comes to goal.
func reaches(next map[Identity][]Identity, start, goal Identity) bool {
	seen := map[Identity]bool{}
	todo := slices.Clone(next[start])
	for len(todo) > 0 {
		id := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if id == goal {
			return true
		}
		if !seen[id] {
			seen[id] = true
			todo = append(todo, next[id]...)
		}
	}
	return false
}

// follow goes from a superseded patch to the one that stands for it now.
func (l *links) follow(id Identity) Identity {
	for {
		next, ok := l.successor[id]
		if !ok {
			return id
		}
		id = next
	}
}

func (l *links) depend(m Member, names map[string][]Identity, pending, landed map[Identity]bool, implicit []Identity) {
	id := m.Identity()
	var out []Identity
	add := func(dep Identity) {
		if dep = l.follow(dep); pending[dep] && !landed[dep] {
			out = append(out, dep)
		}
	}
	for i, name := range m.Submission.Manifest.DependsOn {
		switch found := names[name]; len(found) {
		case 0:
			l.refused[id] = dependencyUnknown(i, name)
			return
		case 1:
			add(found[0])
		default:
			l.refused[id] = &Refusal{
				Code: CodeDependencyAmbiguous, Field: fmt.Sprintf("/depends_on/%d", i), Value: name,
				Message: fmt.Sprintf("dependency %q stands for %d patches", name, len(found)), Hint: "name the identity",
			}
			return
		}
	}
	for _, dep := range implicit {
		add(dep)
	}
	slices.Sort(out)
	l.depends[id] = slices.Compact(out)
}

func (l *links) refuseCycles(members []Member) {
	for _, m := range members {
		if id := m.Identity(); l.refused[id] == nil && reaches(l.depends, id, id) {
			l.refused[id] = &Refusal{
				Code: CodeDependencyCycle, Value: string(id), Message: "the patch depends on itself through what it depends on",
				Hint: "withdraw one of the patches in the circle, or submit it without the dependency",
			}
		}
	}
	for _, m := range members {
		if l.refused[m.Identity()] != nil && l.refused[m.Identity()].Code == CodeDependencyCycle {
			l.depends[m.Identity()] = nil
		}
	}
}

// closure lists everything that a patch depends on, ascending.
func (l *links) closure(id Identity) []Identity {
	seen := map[Identity]bool{}
	todo := slices.Clone(l.depends[id])
	for len(todo) > 0 {
		dep := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !seen[dep] {
			seen[dep] = true
			todo = append(todo, l.depends[dep]...)
		}
	}
	out := make([]Identity, 0, len(seen))
	for dep := range seen {
		out = append(out, dep)
	}
	slices.Sort(out)
	return out
}
