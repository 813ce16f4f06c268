package history

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"patchd/worktree/git"
)

// Pick is a real commit taken as a patch that is bound to Base and meets Target, which lies some commits ahead of it on the
// first-parent chain. The tree that the patch must lead to is known.
type Pick struct {
	Commit git.OID // whose change it is
	Target git.OID
	Base   git.OID
	Tree   git.OID // what the patch makes of Target: the commit's own tree where Target is its parent, else git's merge
	Paths  []string
	Shared []string // paths of the patch that changed between Base and Target
	Edits  int      // hunks without context
	Diff   []byte
}

// PickOptions choose picks.
type PickOptions struct {
	N                  int
	MinEdits, MaxEdits int
	Window             int  // how far before the target the base may lie
	Scan               int  // how many commits are looked at
	Back               int  // all have one target, so many commits before HEAD; zero: each commit meets its own parent
	Shared             bool // exactly one path changed since the base; else none
}

// link is one commit of the first-parent chain with what it changes.
type link struct {
	commit git.OID
	paths  []string
	odd    bool // it changes something that is not a plain file
}

// Picks gives up to N picks, those nearest to their target first. repo must be the scratch repository: trees at bases are
// written to it. Commits that need an object which the repository does not hold are left out.
func Picks(ctx context.Context, s *Scratch, repo *git.Repo, opt PickOptions) ([]Pick, error) {
	chain, err := s.chain(ctx, opt.Scan+opt.Window)
	if err != nil {
		return nil, err
	}
	opt.Back = min(opt.Back, len(chain)/2) // a short history still leaves bases
	var out []Pick
	for _, i := range order(len(chain)-2, opt.Back) {
		if len(out) >= opt.N {
			break
		}
		target := i + 1
		if opt.Back > 0 {
			target = opt.Back
		}
		p, ok, err := s.pick(ctx, repo, chain, i, target, opt)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// order lists the positions of the commits to look at: from HEAD back, or from the target on.
func order(n, back int) []int {
	var out []int
	if back > 0 {
		for i := back - 1; i >= 0; i-- {
			out = append(out, i)
		}
		return out
	}
	for i := range n {
		out = append(out, i)
	}
	return out
}

// pick makes a patch of the commit at i for the target at t, where there is one of the wanted kind.
func (s *Scratch) pick(ctx context.Context, repo *git.Repo, chain []link, i, t int, opt PickOptions) (p Pick, ok bool, err error) {
	base, shared := findBase(chain, i, t, opt)
	if base == 0 {
		return p, false, nil
	}
	edits, err := s.edits(ctx, chain[i+1].commit, chain[i].commit)
	if err != nil || edits < opt.MinEdits || edits > opt.MaxEdits {
		return p, false, ctx.Err()
	}
	p = Pick{Commit: chain[i].commit, Target: chain[t].commit, Base: chain[base].commit, Paths: chain[i].paths, Shared: shared, Edits: edits}
	ok, err = p.complete(ctx, s, repo, chain[i+1].commit)
	return p, ok, err
}

// findBase gives the position of the base for the commit at i and the target at t, zero where none serves.
func findBase(chain []link, i, t int, opt PickOptions) (base int, shared []string) {
	const maxPaths = 20
	if chain[i].odd || len(chain[i].paths) == 0 || len(chain[i].paths) > maxPaths {
		return 0, nil
	}
	seen := map[string]bool{}
	last := min(t+opt.Window, len(chain)-1)
	if !opt.Shared {
		last = min(last, t+apartWindow)
	}
	for k := t + 1; k <= last; k++ {
		for _, p := range chain[k-1].paths {
			if slices.Contains(chain[i].paths, p) {
				seen[p] = true
				shared = []string{p}
			}
		}
		switch {
		case len(seen) > 1 || len(seen) == 1 && !opt.Shared:
			return base, nil
		case len(seen) == 1:
			return k, shared
		case !opt.Shared:
			base = k
		}
	}
	return base, nil
}

// apartWindow is how far before the target the base of a patch lies that shares no path with what happened since.
const apartWindow = 20

// complete carries the commit's change to the base, writes it as a patch, and has git merge that with the target; false where
// the change does not fit.
func (p *Pick) complete(ctx context.Context, s *Scratch, repo *git.Repo, parent git.OID) (bool, error) {
	ids := []git.OID{parent, p.Base, p.Commit, p.Target}
	trees := make([]git.OID, len(ids))
	for i, id := range ids {
		c, err := repo.ReadCommit(ctx, id)
		if err != nil {
			return false, fmt.Errorf("read commit: %w", err)
		}
		trees[i] = c.Tree
	}
	atBase, err := repo.MergeTree(ctx, nil, trees[0], trees[1], trees[2])
	if err != nil || !atBase.Clean {
		return false, ctx.Err() // an object that only the origin has: another commit will do
	}
	if err := repo.WritePack(ctx, atBase.Objects); err != nil {
		return false, fmt.Errorf("keep tree at base: %w", err)
	}
	paths, err := s.Changed(ctx, trees[1], atBase.Tree)
	if err != nil || !slices.Equal(paths, p.Paths) {
		return false, ctx.Err()
	}
	if p.Diff, err = s.Diff(ctx, trees[1], atBase.Tree); err != nil {
		return false, ctx.Err()
	}
	if p.Target == parent {
		p.Tree = trees[2]
		return true, nil
	}
	atTarget, err := repo.MergeTree(ctx, nil, trees[1], trees[3], atBase.Tree)
	if err != nil || !atTarget.Clean || atTarget.Tree == trees[3] {
		return false, ctx.Err()
	}
	p.Tree = atTarget.Tree
	return true, nil
}

// edits counts the hunks between two commits.
func (s *Scratch) edits(ctx context.Context, from, to git.OID) (int, error) {
	out, err := s.oracle.Output(ctx, "diff", "-U0", string(from), string(to))
	return bytes.Count(out, []byte("\n@@ ")), err
}

// chain lists the first-parent chain from HEAD back with the paths of each commit.
func (s *Scratch) chain(ctx context.Context, limit int) ([]link, error) {
	const mark = "\x01"
	out, err := s.oracle.Output(ctx, "log", "--first-parent", "--diff-merges=first-parent", "--no-renames", "--raw", "--no-abbrev", "-z",
		"--format=%x01%H", fmt.Sprintf("-n%d", limit), string(s.Head))
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	var chain []link
	for record := range strings.SplitSeq(string(out), mark) {
		tokens := strings.FieldsFunc(record, func(r rune) bool { return r == 0 })
		if len(tokens) == 0 {
			continue
		}
		l := link{commit: git.OID(strings.TrimSpace(tokens[0]))}
		for i := 1; i+1 < len(tokens); i += 2 {
			l.paths = append(l.paths, tokens[i+1])
			l.odd = l.odd || !plain(tokens[i])
		}
		slices.Sort(l.paths)
		chain = append(chain, l)
	}
	return chain, nil
}

// plain reports whether a raw record makes, changes or deletes a regular file and leaves its mode alone.
func plain(raw string) bool {
	const absent = "000000"
	f := strings.Fields(strings.TrimLeft(raw, "\n:"))
	if len(f) != 5 {
		return false
	}
	regular := func(mode string) bool { return strings.HasPrefix(mode, "100") }
	return regular(f[0]) && (f[1] == f[0] || f[1] == absent) || f[0] == absent && regular(f[1])
}
