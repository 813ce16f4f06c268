package worktree

import (
	"context"
	"fmt"
	"sync"

	"patchd/worktree/git"
)

// Lease is a worktree in use. Whatever happens in its directory is undone by Release.
type Lease struct {
	pool    *Pool
	tree    *poolTree
	request LeaseRequest
	once    sync.Once
}

// Dir is the worktree's directory.
func (l *Lease) Dir() string { return l.tree.dir }

// GitDir is the worktree's own git directory (HEAD and index), below the repository's.
func (l *Lease) GitDir() string { return l.tree.admin }

// Tree is the tree that the worktree was leased at.
func (l *Lease) Tree() git.OID { return l.request.Tree }

// TreeOf is the tree that the tracked files form now: the leased one unless something changed, removed or retyped
// them. Files that the tree does not have are not looked at. New objects go into o.
func (l *Lease) TreeOf(ctx context.Context, o *git.Overlay) (git.OID, error) {
	id, err := l.tree.present(ctx, o)
	if err != nil {
		return "", fmt.Errorf("read leased worktree: %w", err)
	}
	return id, nil
}

// Release looks through the worktree, undoes what was done in it and gives it back. It may be called more than once; the
// lease must not be used afterwards.
func (l *Lease) Release() { l.once.Do(func() { l.pool.giveBack(l.tree) }) }
