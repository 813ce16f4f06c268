package worktree

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"patchd/worktree/git"
)

// FoldPath gives the form under which a file system that ignores case and Unicode normalisation keeps a path.
func FoldPath(path string) string {
	if isASCII(path) {
		return strings.ToLower(path)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(path)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// sameFold reports whether two names are one for a file system that ignores case and normalisation.
func sameFold(a, b string) bool {
	if isASCII(a) && isASCII(b) {
		return len(a) == len(b) && strings.EqualFold(a, b)
	}
	return FoldPath(a) == FoldPath(b)
}

// Collision finds what in a tree a created path would collide with: a path that differs only in case or
// normalisation, a file where the path needs a directory, or a directory where it needs a file. removed tells
// which of the tree's files the same change takes away. What stands at exactly the path is no collision, for
// that is a matter of contents. It gives "" when nothing collides.
func Collision(ctx context.Context, r git.Reader, tree git.OID, path string, removed func(string) bool) (string, error) {
	at, dir := tree, ""
	names := strings.Split(path, "/")
	for i, name := range names {
		entries, err := readTree(ctx, r, at)
		if err != nil {
			return "", err
		}
		other, err := foldedSibling(ctx, r, entries, dir, name, removed)
		if err != nil || other != "" {
			return other, err
		}
		here, ok := entries.Find(name)
		full, last, isDir := joinPath(dir, name), i == len(names)-1, here.Mode == git.ModeTree
		switch {
		case !ok || last && !isDir:
			return "", nil
		case !last && isDir:
			at, dir = here.OID, full
		default: // a directory where the path needs a file, or the reverse
			if remains, err := anyRemains(ctx, r, full, here.Entry, removed); err != nil || remains {
				return full, err
			}
			return "", nil
		}
	}
	return "", nil
}

// foldedSibling finds an entry beside name that folds like it and is not removed.
func foldedSibling(ctx context.Context, r git.Reader, entries git.Tree, dir, name string, removed func(string) bool) (string, error) {
	for _, e := range entries {
		if e.Name == name || !sameFold(e.Name, name) {
			continue
		}
		full := joinPath(dir, e.Name)
		if remains, err := anyRemains(ctx, r, full, e.Entry, removed); err != nil || remains {
			return full, err
		}
	}
	return "", nil
}

// anyRemains reports whether the entry, or any file below it, is not removed.
func anyRemains(ctx context.Context, r git.Reader, path string, e git.Entry, removed func(string) bool) (bool, error) {
	if e.Mode != git.ModeTree {
		return !removed(path), nil
	}
	entries, err := readTree(ctx, r, e.OID)
	if err != nil {
		return false, err
	}
	for _, child := range entries {
		if remains, err := anyRemains(ctx, r, joinPath(path, child.Name), child.Entry, removed); err != nil || remains {
			return remains, err
		}
	}
	return false, nil
}

// newCollision finds a path of the result that a created path collides with and that the base did not already
// have beside the same name.
func newCollision(ctx context.Context, r git.Reader, base, result git.OID, path string) (string, error) {
	at, dir := result, ""
	for name := range strings.SplitSeq(path, "/") {
		entries, err := readTree(ctx, r, at)
		if err != nil {
			return "", err
		}
		full := joinPath(dir, name)
		for _, e := range entries {
			if e.Name == name || !sameFold(e.Name, name) {
				continue
			}
			before, err := git.Lookup(ctx, r, base, full)
			if err != nil {
				return "", fmt.Errorf("look up %q: %w", full, err)
			}
			if before.IsZero() {
				return joinPath(dir, e.Name), nil
			}
		}
		here, ok := entries.Find(name)
		if !ok || here.Mode != git.ModeTree {
			return "", nil
		}
		at, dir = here.OID, full
	}
	return "", nil
}

// readTree knows the empty tree, which need not exist in a repository.
func readTree(ctx context.Context, r git.Reader, id git.OID) (git.Tree, error) {
	if id == git.EmptyTree {
		return nil, nil
	}
	entries, err := r.ReadTree(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read tree: %w", err)
	}
	return entries, nil
}

func joinPath(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
