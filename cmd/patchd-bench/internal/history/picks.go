package history

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"patchd/worktree/git"
)

// Pick is a real commit taken as a patch on an older base: what it does to its parent, the target, is bound to Base, some
// commits further back on the first-parent chain. The tree that the patch must lead to on the target is thus known.
type Pick struct {
	Commit git.OID
	Target git.OID // the commit's parent
	Base   git.OID
	Tree   git.OID // the commit's
	Paths  []string
	Shared []string // paths of the patch that changed between Base and Target
	Edits  int      // hunks without context
	Diff   []byte
}

// PickOptions choose picks.
type PickOptions struct {
	N                  int
	MinEdits, MaxEdits int
	Window             int  // how far back the base may be
	Scan               int  // how many commits are looked at
	Shared             bool // exactly one path changed since the base; else none
}

// link is one commit of the first-parent chain with what it changes.
type link struct {
	commit git.OID
	paths  []string
	odd    bool // it changes something that is not a plain file
}

// Picks gives up to N picks, the newest first. repo must be the scratch repository: trees at bases are written to it.
func Picks(ctx context.Context, s *Scratch, repo *git.Repo, opt PickOptions) ([]Pick, error) {
	chain, err := s.chain(ctx, opt.Scan)
	if err != nil {
		return nil, err
	}
	var out []Pick
	for i := 0; i+2 < len(chain) && len(out) < opt.N; i++ {
		base, shared := findBase(chain, i, opt)
		if base == 0 {
			continue
		}
		edits, err := s.edits(ctx, chain[i+1].commit, chain[i].commit)
		if err != nil || edits < opt.MinEdits || edits > opt.MaxEdits {
			continue // an object that only the origin has, or another size
		}
		p := Pick{Commit: chain[i].commit, Target: chain[i+1].commit, Base: chain[base].commit, Paths: chain[i].paths, Shared: shared, Edits: edits}
		ok, err := p.complete(ctx, s, repo)
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// findBase gives the position of the base for the commit at i, zero where none serves.
func findBase(chain []link, i int, opt PickOptions) (base int, shared []string) {
	const maxPaths = 20
	if chain[i].odd || len(chain[i].paths) == 0 || len(chain[i].paths) > maxPaths {
		return 0, nil
	}
	seen := map[string]bool{}
	last := min(i+1+opt.Window, len(chain)-1)
	for k := i + 2; k <= last; k++ {
		for _, p := range chain[k-1].paths {
			if slices.Contains(chain[i].paths, p) {
				seen[p] = true
			}
		}
		if !opt.Shared {
			if len(seen) > 0 {
				return 0, nil
			}
			continue
		}
		switch {
		case len(seen) == 1:
			for p := range seen {
				return k, []string{p}
			}
		case len(seen) > 1:
			return 0, nil
		}
	}
	if opt.Shared {
		return 0, nil
	}
	return last, nil
}

// complete carries the commit's change to the base and writes it as a patch; false where it does not fit there.
func (p *Pick) complete(ctx context.Context, s *Scratch, repo *git.Repo) (bool, error) {
	trees := make([]git.OID, 0, 3)
	for _, id := range []git.OID{p.Target, p.Base, p.Commit} {
		c, err := repo.ReadCommit(ctx, id)
		if err != nil {
			return false, err
		}
		trees = append(trees, c.Tree)
	}
	p.Tree = trees[2]
	merged, err := repo.MergeTree(ctx, nil, trees[0], trees[1], trees[2])
	if err != nil {
		return false, nil //nolint:nilerr // an object that only the origin has: another commit will do
	}
	if !merged.Clean {
		return false, nil
	}
	if err := repo.WritePack(ctx, merged.Objects); err != nil {
		return false, fmt.Errorf("keep tree at base: %w", err)
	}
	paths, err := s.Changed(ctx, trees[1], merged.Tree)
	if err != nil || !slices.Equal(paths, p.Paths) {
		return false, nil //nolint:nilerr // as above
	}
	if p.Diff, err = s.Diff(ctx, trees[1], merged.Tree); err != nil {
		return false, nil //nolint:nilerr // as above
	}
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
