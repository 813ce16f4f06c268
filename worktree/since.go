package worktree

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// How the since-base change was read.
const (
	SinceCommits   = "commits"   // commit by commit along the first-parent chain
	SinceAggregate = "aggregate" // as one difference of the two trees
)

// ChainLimit is the longest first-parent chain that is read commit by commit (protocol 1).
const ChainLimit = 512

// Since is what happened to the target from A to T. It is safe for concurrent use and can be shared: line edits
// are worked out on demand, once a path, and depend on A and T only.
type Since struct {
	A, T         git.OID // commits
	BaseTree     git.OID
	TargetTree   git.OID
	Kind         string       // SinceCommits or SinceAggregate
	Chain        []git.OID    // the commits after A up to T, oldest first, when Kind is SinceCommits
	Changes      []git.Change // the raw difference of the two trees, sorted by path
	trees        []git.OID    // the trees along the chain, A's first
	mu           sync.Mutex
	files        map[string]FileChange
	changeByPath map[string]git.Change
}

// ReadSince reads the since-base change of two commits. Contents are not read here.
func ReadSince(ctx context.Context, r git.Reader, a, t git.OID) (*Since, error) {
	s := &Since{A: a, T: t, Kind: SinceCommits, files: map[string]FileChange{}, changeByPath: map[string]git.Change{}}
	for id, tree := range map[git.OID]*git.OID{a: &s.BaseTree, t: &s.TargetTree} {
		commit, err := r.ReadCommit(ctx, id)
		if err != nil {
			return nil, fmt.Errorf("read since-base change: %w", err)
		}
		*tree = commit.Tree
	}
	if a == t {
		s.BaseTree = s.TargetTree
	}
	chain, found, err := git.FirstParents(ctx, r, t, a, ChainLimit)
	if err != nil {
		return nil, fmt.Errorf("read since-base change: %w", err)
	}
	if found {
		slices.Reverse(chain)
		s.Chain = chain
		err = s.readTrees(ctx, r)
	} else {
		s.Kind = SinceAggregate
		s.trees = []git.OID{s.BaseTree, s.TargetTree}
	}
	if err != nil {
		return nil, err
	}
	if s.Changes, err = git.DiffTrees(ctx, r, s.BaseTree, s.TargetTree); err != nil {
		return nil, fmt.Errorf("read since-base change: %w", err)
	}
	for _, c := range s.Changes {
		s.changeByPath[c.Path] = c
	}
	return s, nil
}

// readTrees lists the trees along the chain, without repeats.
func (s *Since) readTrees(ctx context.Context, r git.Reader) error {
	s.trees = []git.OID{s.BaseTree}
	for _, id := range s.Chain {
		commit, err := r.ReadCommit(ctx, id)
		if err != nil {
			return fmt.Errorf("read since-base change: %w", err)
		}
		if commit.Tree != s.trees[len(s.trees)-1] {
			s.trees = append(s.trees, commit.Tree)
		}
	}
	return nil
}

// Change gives the raw change of one path; ok is false when the path is as it was at A.
func (s *Since) Change(path string) (git.Change, bool) {
	c, ok := s.changeByPath[path]
	return c, ok
}

// SideFor reads the since-base change as far as a patch can meet it: the files that the patch touches, files
// created under a directory that the patch moves away, and the renames that explain what the patch's files
// became.
func (s *Since) SideFor(ctx context.Context, r git.Reader, patch *Side) (*Side, error) {
	movedAway, err := patch.vacatedDirs(ctx, r)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, path := range patch.Paths() {
		wanted[path] = true
	}
	lost, err := s.lostDirs(ctx, r, patch)
	if err != nil {
		return nil, err
	}
	return s.side(ctx, r, func(c git.Change) bool {
		return wanted[c.Path] || c.Old.IsZero() && under(c.Path, movedAway) || c.New.IsZero() && under(c.Path, lost)
	})
}

// SideOf reads the since-base change of the paths asked for, with the renames that explain them.
func (s *Since) SideOf(ctx context.Context, r git.Reader, wanted func(path string) bool) (*Side, error) {
	return s.side(ctx, r, func(c git.Change) bool { return wanted(c.Path) })
}

// side picks changes and loads their contents.
func (s *Since) side(ctx context.Context, r git.Reader, wanted func(git.Change) bool) (*Side, error) {
	var picked []git.Change
	for _, c := range s.Changes {
		if wanted(c) {
			picked = append(picked, c)
		}
	}
	files, err := pairUp(ctx, r, picked, s.Changes)
	if err != nil {
		return nil, err
	}
	for i := range files {
		if err := s.load(ctx, r, &files[i]); err != nil {
			return nil, err
		}
	}
	return &Side{Base: s.BaseTree, Result: s.TargetTree, Files: files, adds: addsAny(s.Changes)}, nil
}

// load fills in a change's texts and edits, from memory when they are known.
func (s *Since) load(ctx context.Context, r git.Reader, f *FileChange) error {
	key := f.Src + "\x00" + f.Dst
	s.mu.Lock()
	known, ok := s.files[key]
	s.mu.Unlock()
	if !ok {
		if err := s.read(ctx, r, f); err != nil {
			return err
		}
		known = *f
		s.mu.Lock()
		s.files[key] = known
		s.mu.Unlock()
	}
	*f = known
	return nil
}

// read works out a change's edits: commit by commit for a file that keeps its path, else from end to end.
func (s *Since) read(ctx context.Context, r git.Reader, f *FileChange) error {
	if f.Src != f.Dst || len(s.trees) <= 2 {
		if err := load(ctx, r, f); err != nil {
			return err
		}
		if f.Text && f.Src == f.Dst {
			f.Steps = [][]diff.Edit{f.Edits}
		}
		return nil
	}
	f.Loaded = true
	base, okOld, err := textOf(ctx, r, f.Old)
	if err != nil || !okOld {
		return err
	}
	if _, okNew, err := textOf(ctx, r, f.New); err != nil || !okNew {
		return err
	}
	f.Text, f.Base = true, base
	at, lines := f.Old, base
	for _, tree := range s.trees[1:] {
		e, err := git.Lookup(ctx, r, tree, f.Src)
		if err != nil {
			return fmt.Errorf("look up %q: %w", f.Src, err)
		}
		if e.OID == at.OID {
			at = e
			continue
		}
		next, ok, err := textOf(ctx, r, e)
		if err != nil {
			return err
		}
		if !ok {
			continue // for a while it was no text: that commit and the next are one step
		}
		step := diff.Edits(lines, next)
		f.Edits = diff.Compose(base, f.Edits, step)
		f.Steps = append(f.Steps, step)
		at, lines = e, next
	}
	return nil
}

// lostDirs finds directories that the patch adds to, that the base has and that the target no longer has.
func (s *Since) lostDirs(ctx context.Context, r git.Reader, patch *Side) ([]string, error) {
	lost := map[string]bool{}
	for i := range patch.Files {
		f := &patch.Files[i]
		if f.Dst == "" || f.Dst == f.Src {
			continue
		}
		for dir := range parents(f.Dst) {
			before, err := git.Lookup(ctx, r, s.BaseTree, dir)
			if err != nil {
				return nil, fmt.Errorf("look up %q: %w", dir, err)
			}
			if before.Mode != git.ModeTree {
				continue
			}
			now, err := git.Lookup(ctx, r, s.TargetTree, dir)
			if err != nil {
				return nil, fmt.Errorf("look up %q: %w", dir, err)
			}
			if now.Mode != git.ModeTree {
				lost[dir] = true
			}
		}
	}
	return sortedKeys(lost), nil
}

// vacatedDirs gives the directories that files were renamed out of and that the side's result no longer has.
func (s *Side) vacatedDirs(ctx context.Context, r git.Reader) ([]string, error) {
	gone := map[string]bool{}
	for i := range s.Files {
		f := &s.Files[i]
		if !f.IsRename() {
			continue
		}
		for dir := range parents(f.Src) {
			if _, done := gone[dir]; done || strings.HasPrefix(f.Dst, dir+"/") {
				continue
			}
			e, err := git.Lookup(ctx, r, s.Result, dir)
			if err != nil {
				return nil, fmt.Errorf("look up %q: %w", dir, err)
			}
			gone[dir] = e.Mode != git.ModeTree
		}
	}
	return slices.DeleteFunc(sortedKeys(gone), func(dir string) bool { return !gone[dir] }), nil
}

// parents yields the directories that hold a path, the nearest first.
func parents(path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for {
			i := strings.LastIndexByte(path, '/')
			if i < 0 {
				return
			}
			path = path[:i]
			if !yield(path) {
				return
			}
		}
	}
}

// under reports whether the path lies below one of the directories.
func under(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return strings.HasPrefix(path, dir+"/") })
}
