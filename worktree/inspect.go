package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// Inspection lists what in a result is safe but for policy to decide.
type Inspection struct {
	Gitlinks []string // submodules that the result adds, moves or removes
	Retyped  []string // files that become symbolic links, or the reverse
}

// Inspect judges the tree that came out, whatever the patch said: every path that differs from the base must be
// safe to write on any file system (diff.CheckPath), have a mode that git writes, and collide with no other path
// of the result by case or Unicode normalisation; symbolic links must stay inside the repository. Collisions
// that the base has already are not looked at. A refusal is a *diff.Error: path_unsafe, mode_unsafe or
// symlink_unsafe; lines tells where in the patch a path's section begins.
func Inspect(ctx context.Context, r git.Reader, base, result git.OID, changes []git.Change, lines map[string]int) (*Inspection, error) {
	found := &Inspection{}
	for _, c := range changes {
		refuse := func(code diff.Code, value, message, hint string) error {
			return &diff.Error{Code: code, Path: c.Path, Line: lines[c.Path], Value: value, Message: message, Hint: hint}
		}
		if c.Old.Mode == git.ModeGitlink || c.New.Mode == git.ModeGitlink {
			found.Gitlinks = append(found.Gitlinks, c.Path)
		}
		if c.New.IsZero() {
			continue
		}
		if why := diff.CheckPath(c.Path); why != "" {
			return nil, refuse(diff.CodePathUnsafe, c.Path, why, "use a plain relative path inside the repository")
		}
		if m := c.New.Mode; !m.IsFile() && m != git.ModeSymlink && m != git.ModeGitlink {
			return nil, refuse(diff.CodeModeUnsafe, c.New.Mode.String(), "the mode is not one that a repository may hold", "use 100644, 100755 or 120000")
		}
		if !c.Old.IsZero() && (c.Old.Mode == git.ModeSymlink) != (c.New.Mode == git.ModeSymlink) {
			found.Retyped = append(found.Retyped, c.Path)
		}
		if err := inspectEntry(ctx, r, base, result, c, refuse); err != nil {
			return nil, err
		}
	}
	return found, nil
}

type refusal func(code diff.Code, value, message, hint string) error

// inspectEntry judges a link's target and a created path's neighbours.
func inspectEntry(ctx context.Context, r git.Reader, base, result git.OID, c git.Change, refuse refusal) error {
	if c.New.Mode == git.ModeSymlink {
		target, why, err := linkProblem(ctx, r, result, c)
		if err != nil {
			return err
		}
		if why != "" {
			return refuse(diff.CodeSymlink, target, why, "link to a relative path inside the repository")
		}
	}
	if !c.Old.IsZero() {
		return nil
	}
	other, err := newCollision(ctx, r, base, result, c.Path)
	if err != nil {
		return err
	}
	if other != "" {
		return refuse(diff.CodePathUnsafe, other, "the path differs from another one only in case or Unicode normalisation", "choose a name that stays apart on every file system")
	}
	return nil
}

// linkProblem says why a symbolic link is unsafe. The target is followed through the result's own links.
func linkProblem(ctx context.Context, r git.Reader, tree git.OID, c git.Change) (target, why string, err error) {
	content, err := r.ReadBlob(ctx, c.New.OID)
	var tooLarge *git.LimitError
	if errors.As(err, &tooLarge) {
		return "", "the link's target is too long", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("read link %q: %w", c.Path, err)
	}
	target = string(content)
	if len(target) > 1000 {
		return target[:1000], "the link's target is too long", nil
	}
	if strings.HasPrefix(target, "/") || strings.ContainsAny(target, "\\\x00\n\r") || target == "" || len(target) > 1 && target[1] == ':' {
		return target, "the link's target is not a plain relative path", nil
	}
	dir := strings.Split(c.Path, "/")
	walk := linkWalk{r: r, tree: tree, left: maxLinks}
	_, inside, err := walk.follow(ctx, dir[:len(dir)-1], target)
	if err != nil {
		return target, "", err
	}
	if !inside {
		return target, "the link leaves the repository, or reaches into .git", nil
	}
	return target, "", nil
}

// maxLinks bounds how many links are followed for one target, as operating systems do.
const maxLinks = 40

// linkWalk follows link targets through a tree as a file system would.
type linkWalk struct {
	r    git.Reader
	tree git.OID
	left int // links that may still be followed
}

// follow walks target from the directory at. It gives where the walk ends and whether every step stayed inside
// the repository and out of .git; a loop leads nowhere and so stays inside.
func (w *linkWalk) follow(ctx context.Context, at []string, target string) ([]string, bool, error) {
	if strings.HasPrefix(target, "/") {
		return nil, false, nil
	}
	at = append([]string(nil), at...)
	for part := range strings.SplitSeq(target, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && len(at) == 0, diff.IsDotGit(part):
			return nil, false, nil
		case part == "..":
			at = at[:len(at)-1]
			continue
		}
		at = append(at, part)
		path := strings.Join(at, "/")
		e, err := git.Lookup(ctx, w.r, w.tree, path)
		if err != nil {
			return nil, false, fmt.Errorf("look up %q: %w", path, err)
		}
		if e.Mode != git.ModeSymlink || w.left == 0 {
			continue
		}
		w.left--
		next, err := w.r.ReadBlob(ctx, e.OID)
		if err != nil {
			return nil, false, fmt.Errorf("read link %q: %w", path, err)
		}
		var inside bool
		if at, inside, err = w.follow(ctx, at[:len(at)-1], string(next)); err != nil || !inside {
			return nil, false, err
		}
	}
	return at, true, nil
}
