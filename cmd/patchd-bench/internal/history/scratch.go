// Package history turns the history of a real repository into cases: patches that people really made, bound to a base, with
// the target that they met and what git makes of the two. It only reads the repository: everything new goes to a scratch
// repository that borrows its objects.
package history

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"patchd/cmd/patchd-bench/internal/gitrun"
	"patchd/worktree/git"
)

// Branch is the branch of a scratch repository that stands at the source's HEAD.
const Branch git.Ref = "refs/heads/main"

// Scratch is a repository that borrows the objects of another one and holds what is new itself.
type Scratch struct {
	Dir    string
	Name   string // of the source
	Head   git.OID
	Git    gitrun.Git
	oracle gitrun.Git // an empty git directory over the same objects: no attribute or setting of the repository takes part
}

// NewScratch makes a bare scratch repository for source below dir.
func NewScratch(ctx context.Context, source, dir, searchPath string) (*Scratch, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return nil, fmt.Errorf("find repository: %w", err)
	}
	from := gitrun.In(source, searchPath)
	objects, err := from.Line(ctx, "rev-parse", "--path-format=absolute", "--git-path", "objects")
	if err != nil {
		return nil, fmt.Errorf("find objects of %s: %w", source, err)
	}
	head, err := from.Line(ctx, "rev-parse", "--verify", "HEAD^{commit}")
	if err != nil {
		return nil, fmt.Errorf("find HEAD of %s: %w", source, err)
	}
	s := &Scratch{Dir: filepath.Join(dir, "repo.git"), Name: nameOf(source), Head: git.OID(head)}
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, fmt.Errorf("make scratch directory: %w", err)
	}
	if err := from.At(dir).Run(ctx, "init", "-q", "--bare", s.Dir); err != nil {
		return nil, fmt.Errorf("make scratch repository: %w", err)
	}
	s.Git = from.At(s.Dir)
	if err := os.WriteFile(filepath.Join(s.Dir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o600); err != nil {
		return nil, fmt.Errorf("borrow objects: %w", err)
	}
	for _, args := range [][]string{{"update-ref", string(Branch), head}, {"symbolic-ref", "HEAD", string(Branch)}} {
		if err := s.Git.Run(ctx, args...); err != nil {
			return nil, fmt.Errorf("set branch: %w", err)
		}
	}
	return s, s.makeOracle(ctx, dir)
}

// makeOracle makes the empty directory in which git merges.
func (s *Scratch) makeOracle(ctx context.Context, dir string) error {
	empty := filepath.Join(dir, "oracle.git")
	if err := s.Git.At(dir).Run(ctx, "init", "-q", "--bare", empty); err != nil {
		return fmt.Errorf("make oracle: %w", err)
	}
	s.oracle = s.Git.At(empty).With("GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(s.Dir, "objects"))
	for _, setting := range [][2]string{{"merge.renames", "true"}, {"merge.directoryRenames", "false"}} {
		if err := s.oracle.Run(ctx, "config", setting[0], setting[1]); err != nil {
			return fmt.Errorf("configure oracle: %w", err)
		}
	}
	return nil
}

// Diff is the change between two commits or trees as git writes it with its defaults, binary content included.
func (s *Scratch) Diff(ctx context.Context, from, to git.OID) ([]byte, error) {
	out, err := s.oracle.Output(ctx, "diff", "--binary", "--full-index", string(from), string(to))
	if err != nil {
		return nil, fmt.Errorf("write diff: %w", err)
	}
	return out, nil
}

// Changed lists the paths that differ between two commits or trees, sorted.
func (s *Scratch) Changed(ctx context.Context, from, to git.OID) ([]string, error) {
	out, err := s.oracle.Output(ctx, "diff-tree", "-r", "-z", "--name-only", "--no-renames", string(from), string(to))
	if err != nil {
		return nil, fmt.Errorf("list changed paths: %w", err)
	}
	return fields(out), nil
}

// Files counts the files of a commit.
func (s *Scratch) Files(ctx context.Context, commit git.OID) (int, error) {
	out, err := s.oracle.Output(ctx, "ls-tree", "-r", "-z", "--name-only", string(commit))
	return len(fields(out)), err
}

// nameOf is how reports call a repository: its directory's name, or that of the directory around one that says nothing.
func nameOf(dir string) string {
	base := strings.TrimSuffix(filepath.Base(dir), ".git")
	if base == "" || base == "repo" {
		base = filepath.Base(filepath.Dir(dir))
	}
	return base
}

func fields(out []byte) []string {
	text := strings.TrimSuffix(string(out), "\x00")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\x00")
}
