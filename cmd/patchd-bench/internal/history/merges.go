package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"patchd/cmd/patchd-bench/internal/gitrun"
	"patchd/worktree/git"
)

// Kind is what became of a merge.
type Kind string

// The kinds of merges.
const (
	KindClean   Kind = "clean"   // git's merge is clean and is what people committed
	KindFixed   Kind = "fixed"   // git's merge is clean, but people committed another tree
	KindTextual Kind = "textual" // git's merge has conflicts
)

// Merge is a merge commit as a case: the patch leads from Base to Patch and meets Target.
type Merge struct {
	Commit  git.OID
	Base    git.OID
	Target  git.OID // the first parent
	Patch   git.OID // the second
	Kind    Kind
	GitTree git.OID // git's own merge; empty where it conflicts
	Paths   []string
	Shared  int // how many paths both sides touch
}

// MergeOptions choose merges. Zero limits mean no limit.
type MergeOptions struct {
	Limit    int
	MaxFiles int
	Seed     uint64
}

// Merges gives merge commits with two parents and one base in an order shuffled by the seed: those where both sides
// touch a same file. Merges that need an object which the repository does not hold are left out.
func Merges(ctx context.Context, s *Scratch, opt MergeOptions) ([]Merge, error) {
	out, err := s.Git.Output(ctx, "rev-list", "--min-parents=2", "--max-parents=2", "--parents", string(s.Head))
	if err != nil {
		return nil, fmt.Errorf("list merges: %w", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	r := rand.New(rand.NewPCG(opt.Seed, 0)) //nolint:gosec // a choice that can be repeated
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	var found []Merge
	for _, line := range lines {
		if opt.Limit > 0 && len(found) >= opt.Limit {
			break
		}
		ids := strings.Fields(line)
		if len(ids) != 3 {
			continue
		}
		m := Merge{Commit: git.OID(ids[0]), Target: git.OID(ids[1]), Patch: git.OID(ids[2])}
		ok, err := m.complete(ctx, s, opt.MaxFiles)
		if failed := (*gitrun.Error)(nil); errors.As(err, &failed) && ctx.Err() == nil {
			continue // an object that only the origin has
		}
		if err != nil {
			return nil, err
		}
		if ok {
			found = append(found, m)
		}
	}
	return found, nil
}

// complete works the case out, and reports whether it is one.
func (m *Merge) complete(ctx context.Context, s *Scratch, maxFiles int) (bool, error) {
	out, code, err := s.Git.Status(ctx, nil, "merge-base", "--all", string(m.Target), string(m.Patch))
	if err != nil {
		return false, err
	}
	bases := strings.Fields(string(out))
	if code != 0 || len(bases) != 1 {
		return false, nil
	}
	m.Base = git.OID(bases[0])
	if m.Base == m.Target || m.Base == m.Patch {
		return false, nil
	}
	if m.Paths, err = s.Changed(ctx, m.Base, m.Patch); err != nil {
		return false, err
	}
	if len(m.Paths) == 0 || maxFiles > 0 && len(m.Paths) > maxFiles {
		return false, nil
	}
	since, err := s.Changed(ctx, m.Base, m.Target)
	if err != nil {
		return false, err
	}
	if m.Shared = common(m.Paths, since); m.Shared == 0 {
		return false, nil
	}
	return m.judge(ctx, s)
}

// judge asks git for its merge and compares it with what people committed.
func (m *Merge) judge(ctx context.Context, s *Scratch) (bool, error) {
	out, code, err := s.oracle.Status(ctx, nil, "merge-tree", "--write-tree", string(m.Target), string(m.Patch))
	if err != nil {
		return false, err
	}
	switch code {
	case 0:
		tree, _, _ := strings.Cut(string(out), "\n")
		m.GitTree = git.OID(tree)
	case 1:
		m.Kind = KindTextual
		return true, nil
	default:
		return false, nil
	}
	committed, err := s.Git.Line(ctx, "rev-parse", "--verify", string(m.Commit)+"^{tree}")
	if err != nil {
		return false, err
	}
	m.Kind = KindFixed
	if git.OID(committed) == m.GitTree {
		m.Kind = KindClean
	}
	return true, nil
}

// common counts what two sorted lists share.
func common(a, b []string) int {
	in := make(map[string]bool, len(b))
	for _, p := range b {
		in[p] = true
	}
	n := 0
	for _, p := range a {
		if in[p] {
			n++
		}
	}
	return n
}
