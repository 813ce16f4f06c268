package worktree

import (
	"context"
	"fmt"
	"slices"

	"patchd/worktree/git"
)

// Rules are what the target says about its paths.
type Rules struct {
	// Union names the union paths; nil means none.
	Union func(path string) bool
	// Unmergeable names paths whose contents are never merged (Attributes.Unmergeable of the target's tree); nil
	// means none.
	Unmergeable func(ctx context.Context, path string) (bool, error)
}

func (r Rules) union(path string) bool { return r.Union != nil && r.Union(path) }

func (r Rules) unmergeable(ctx context.Context, path string) (bool, error) {
	if r.Unmergeable == nil {
		return false, nil
	}
	return r.Unmergeable(ctx, path)
}

// Comparison is how two sides of one base tree meet.
type Comparison struct {
	Reasons []Reason // sorted; git's opinion is not among them
	Shared  []string // paths that both sides touch and do not leave alike, sorted
	Alike   []string // paths that both sides leave alike, sorted

	meetings    []*meeting
	needOpinion bool
}

// NeedsOpinion reports whether git is to be asked: the sides share a path outside union paths whose lines merge,
// or both delete a file that one of them may have renamed.
func (c *Comparison) NeedsOpinion() bool { return c.needOpinion }

// textual reports whether some reason is of the textual class.
func (c *Comparison) textual() bool {
	return slices.ContainsFunc(c.Reasons, func(r Reason) bool { return r.Code.Textual() })
}

// merges reports whether every file merges without markers.
func (c *Comparison) merges() bool {
	return !slices.ContainsFunc(c.Reasons, func(r Reason) bool { return !r.Code.Merges() })
}

// meeting is one file that one side or both change, and what becomes of it.
type meeting struct {
	left, right *FileChange
	reasons     []Reason
	union       bool
	lines       *lineMerge
	dst         string    // where the file stands afterwards, "" when it is gone
	entry       git.Entry // what stands there, unless lines has to be written first
	write       bool      // the entry's content is lines applied to the base
}

// shared reports whether both sides change the file.
func (m *meeting) shared() bool { return m.left != nil && m.right != nil }

// blocked reports whether the file cannot be composed.
func (m *meeting) blocked() bool {
	return slices.ContainsFunc(m.reasons, func(r Reason) bool { return !r.Code.Merges() })
}

// textual reports whether the file has a textual reason.
func (m *meeting) textual() bool {
	return slices.ContainsFunc(m.reasons, func(r Reason) bool { return r.Code.Textual() })
}

// paths gives every path that the file has on any side.
func (m *meeting) paths() []string {
	set := map[string]bool{}
	for _, f := range []*FileChange{m.left, m.right} {
		if f != nil {
			set[f.Src], set[f.Dst] = true, true
		}
	}
	delete(set, "")
	return sortedKeys(set)
}

// add notes a reason about the file.
func (m *meeting) add(code ReasonCode, path, detail string) {
	m.reasons = append(m.reasons, Reason{Code: code, Path: path, Detail: detail})
}

// Compare compares two sides of one base tree by lines and file operations. It is symmetric: swapping the sides
// changes nothing but TargetLines, which are the right side's. Git is not asked (see Opinion).
func Compare(ctx context.Context, r git.Reader, left, right *Side, rules Rules) (*Comparison, error) {
	c := &Comparison{}
	pairs, alike := match(left, right)
	for _, m := range pairs {
		if m.shared() {
			if err := m.meet(ctx, rules); err != nil {
				return nil, err
			}
			c.Shared = append(c.Shared, m.paths()...)
		} else {
			m.alone()
		}
	}
	createdTwice(pairs)
	c.meetings = pairs
	c.Alike = alike
	if err := c.movedDirs(ctx, r, left, right); err != nil {
		return nil, err
	}
	c.Reasons = collisions(left, right)
	deletedAlike, bySrc := false, left.bySrc()
	for _, path := range alike {
		f, ok := bySrc[path]
		deletedAlike = deletedAlike || ok && f.Dst == ""
	}
	c.needOpinion = deletedAlike && (left.adds || right.adds)
	for _, m := range pairs {
		c.Reasons = append(c.Reasons, m.reasons...)
		c.needOpinion = c.needOpinion || m.shared() && !m.union && !m.textual()
	}
	c.Reasons = sortReasons(c.Reasons)
	slices.Sort(c.Shared)
	c.Shared = slices.Compact(c.Shared)
	return c, nil
}

// match pairs the two sides' changes of one file, without those that leave it alike.
func match(left, right *Side) (pairs []*meeting, alike []string) {
	rawLeft, rawRight := left.raw(), right.raw()
	srcLeft, srcRight := left.bySrc(), right.bySrc()
	same := map[string]bool{}
	byKey := map[string]*meeting{}
	for i := range left.Files {
		f := &left.Files[i]
		if isAlike(f, srcRight, rawLeft, rawRight) {
			same[f.Path()] = true
			continue
		}
		byKey[f.key()] = &meeting{left: f}
	}
	for i := range right.Files {
		f := &right.Files[i]
		if isAlike(f, srcLeft, rawRight, rawLeft) {
			same[f.Path()] = true
			continue
		}
		if m := byKey[f.key()]; m != nil {
			m.right = f
		} else {
			byKey[f.key()] = &meeting{right: f}
		}
	}
	for _, key := range sortedKeys(byKey) {
		pairs = append(pairs, byKey[key])
	}
	return pairs, sortedKeys(same)
}

// raw gives what each touched path holds in the side's result.
func (s *Side) raw() map[string]git.Entry {
	out := map[string]git.Entry{}
	for i := range s.Files {
		if f := &s.Files[i]; f.Src != "" && f.Src != f.Dst {
			out[f.Src] = git.Entry{}
		}
	}
	for i := range s.Files {
		if f := &s.Files[i]; f.Dst != "" {
			out[f.Dst] = f.New
		}
	}
	return out
}

// isAlike reports whether the other side leaves the file as f does. A deletion that is the other side's rename
// is alike only when f's side has the renamed file too, and a rename only when the other side has no other name
// for the file.
func isAlike(f *FileChange, other map[string]*FileChange, own, theirs map[string]git.Entry) bool {
	if !holds(f, theirs) {
		return false
	}
	g, ok := other[f.Src]
	switch {
	case f.Dst == "":
		return ok && (g.Dst == "" || holds(g, own))
	case f.IsRename():
		return ok && (!g.IsRename() || g.Dst == f.Dst)
	}
	return true
}

// holds reports whether the raw result has what f leaves.
func holds(f *FileChange, raw map[string]git.Entry) bool {
	if f.Src != "" && f.Src != f.Dst {
		if e, ok := raw[f.Src]; !ok || !e.IsZero() {
			return false
		}
	}
	if f.Dst == "" {
		return true
	}
	e, ok := raw[f.Dst]
	return ok && e == f.New
}

// bySrc gives the changes of base paths.
func (s *Side) bySrc() map[string]*FileChange {
	out := make(map[string]*FileChange, len(s.Files))
	for i := range s.Files {
		if f := &s.Files[i]; f.Src != "" {
			out[f.Src] = f
		}
	}
	return out
}

// alone takes the one side's change as it is.
func (m *meeting) alone() {
	f := m.left
	if f == nil {
		f = m.right
	}
	m.dst, m.entry = f.Dst, f.New
}

// createdTwice finds paths that two different files come to stand at.
func createdTwice(pairs []*meeting) {
	type claim struct {
		m *meeting
		f *FileChange
	}
	claims := map[string][]claim{}
	for _, m := range pairs {
		for _, f := range []*FileChange{m.left, m.right} {
			if f != nil && f.Dst != "" && f.Dst != f.Src {
				claims[f.Dst] = append(claims[f.Dst], claim{m, f})
			}
		}
	}
	for _, path := range sortedKeys(claims) {
		for i, x := range claims[path] {
			for _, y := range claims[path][:i] {
				if x.m != y.m && x.f.New != y.f.New {
					x.m.add(AddAdd, path, "both sides put a file there")
					y.m.add(AddAdd, path, "both sides put a file there")
				}
			}
		}
	}
}

// movedDirs notes additions under a directory that the other side moved away whole.
func (c *Comparison) movedDirs(ctx context.Context, r git.Reader, left, right *Side) error {
	for _, sides := range [][2]*Side{{left, right}, {right, left}} {
		mover, adder := sides[0], sides[1]
		dirs, err := mover.vacatedDirs(ctx, r)
		if err != nil {
			return err
		}
		if len(dirs) == 0 {
			continue
		}
		for _, m := range c.meetings {
			f := m.left
			if adder == right {
				f = m.right
			}
			if f != nil && f.Dst != "" && f.Dst != f.Src && under(f.Dst, dirs) {
				m.add(FileRenamed, f.Dst, "the other side moved the directory away")
			}
		}
	}
	return nil
}

// collisions finds created paths of the two sides that cannot stand beside each other on every file system.
func collisions(left, right *Side) []Reason {
	type place struct {
		path string
		dir  bool
	}
	places := map[string][]place{} // folded path → how the right side's created paths spell and use it
	add := func(path string, dir bool) {
		key := FoldPath(path)
		if !slices.Contains(places[key], place{path, dir}) {
			places[key] = append(places[key], place{path, dir})
		}
	}
	for _, path := range right.created() {
		add(path, false)
		for dir := range parents(path) {
			add(dir, true)
		}
	}
	var out []Reason
	check := func(path string, dir bool) {
		for _, p := range places[FoldPath(path)] {
			if p.path != path || p.dir != dir {
				first, second := min(p.path, path), max(p.path, path)
				out = append(out, Reason{Code: AddAdd, Path: first, Detail: fmt.Sprintf("%q and %q cannot stand side by side", first, second)})
			}
		}
	}
	for _, path := range left.created() {
		check(path, false)
		for dir := range parents(path) {
			check(dir, true)
		}
	}
	return out
}

// created gives the paths that the side adds, sorted.
func (s *Side) created() []string {
	set := map[string]bool{}
	for i := range s.Files {
		if f := &s.Files[i]; f.Dst != "" && f.Dst != f.Src {
			set[f.Dst] = true
		}
	}
	return sortedKeys(set)
}
