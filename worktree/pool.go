package worktree

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"patchd/worktree/git"
)

const defaultPoolWorktrees = 4

// ErrPoolClosed says that a pool was closed.
var ErrPoolClosed = errors.New("worktree pool is closed")

// PoolOptions says how a pool behaves. The zero value serves.
type PoolOptions struct {
	// Max is how many worktrees there may be at once; zero means 4. Acquire waits while all are leased.
	Max int
	// Logger gets warnings; nil means silence.
	Logger *slog.Logger
}

// Pool keeps linked worktrees outside the user's checkout and moves them from tree to tree by writing only what
// differs. Whatever was done in a worktree during a lease is found when the lease ends (by inode, size, times and mode of
// every file, by content where times cannot tell) and undone before it is leased again. Processes that a lease's user
// started must have ended by then. It is safe for concurrent use.
type Pool struct {
	repo  *git.Repo
	home  *poolHome
	log   *slog.Logger
	slots chan struct{} // holds a token for each lease
	done  chan struct{}

	mu     sync.Mutex
	idle   []*poolTree // the most recently used last
	made   int
	closed bool
}

// LeaseRequest says what a leased worktree holds.
type LeaseRequest struct {
	// Tree is what the files equal, byte for byte: no attribute, filter or line-end setting applies.
	Tree git.OID
	// Commit becomes HEAD where the repository has it; else HEAD stays as it was. The index always equals Tree.
	Commit git.OID
	// Objects is where the tree is read; nil means the repository. New objects may thus be still in an overlay.
	Objects git.Reader
}

// NewPool makes a pool whose worktrees live in a directory of their own below dir, and first removes what pools of this
// repository left there when their process was killed. dir must not lie in the repository's checkout.
func NewPool(ctx context.Context, repo *git.Repo, dir string, opt PoolOptions) (*Pool, error) {
	if opt.Max <= 0 {
		opt.Max = defaultPoolWorktrees
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	home, err := newPoolHome(ctx, repo, dir, opt.Logger)
	if err != nil {
		return nil, fmt.Errorf("make worktree pool: %w", err)
	}
	return &Pool{
		repo: repo, home: home, log: opt.Logger,
		slots: make(chan struct{}, opt.Max), done: make(chan struct{}),
	}, nil
}

// Acquire leases a worktree whose files equal a tree, waiting for one to come free where the pool is exhausted. The
// first use of each worktree adds it; later uses move it.
func (p *Pool) Acquire(ctx context.Context, request LeaseRequest) (*Lease, error) {
	select {
	case p.slots <- struct{}{}:
	case <-p.done:
		return nil, ErrPoolClosed
	case <-ctx.Done():
		return nil, fmt.Errorf("acquire worktree: %w", ctx.Err())
	}
	tree, err := p.prepare(ctx, request)
	if err != nil {
		<-p.slots
		return nil, fmt.Errorf("acquire worktree: %w", err)
	}
	return &Lease{pool: p, tree: tree, request: request}, nil
}

// prepare moves an idle worktree, or a new one where there is none. One that cannot be moved is thrown away and a new
// one made in its place: what the tree itself makes impossible then fails again.
func (p *Pool) prepare(ctx context.Context, request LeaseRequest) (*poolTree, error) {
	if request.Objects == nil {
		request.Objects = p.repo
	}
	tree, err := p.takeIdle(request.Tree)
	if err != nil {
		return nil, err
	}
	if tree != nil {
		err := tree.move(ctx, request)
		if err == nil {
			return tree, nil
		}
		p.discard(ctx, tree)
		if ctx.Err() != nil {
			return nil, err
		}
		p.log.WarnContext(ctx, "worktree could not be moved and is replaced", "dir", tree.dir, "error", err)
	}
	if tree, err = p.add(ctx, request.Commit); err != nil {
		return nil, err
	}
	if err := tree.move(ctx, request); err != nil {
		p.discard(ctx, tree)
		return nil, err
	}
	return tree, nil
}

// takeIdle prefers a worktree that holds the tree already, then the one used last.
func (p *Pool) takeIdle(tree git.OID) (*poolTree, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrPoolClosed
	}
	if len(p.idle) == 0 {
		return nil, nil
	}
	at := len(p.idle) - 1
	for i, candidate := range p.idle {
		if candidate.tree == tree {
			at = i
		}
	}
	taken := p.idle[at]
	p.idle = append(p.idle[:at], p.idle[at+1:]...)
	return taken, nil
}

func (p *Pool) add(ctx context.Context, commit git.OID) (*poolTree, error) {
	commit, err := p.headFor(ctx, commit)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.made++
	name := fmt.Sprintf("%s-%d", filepath.Base(p.home.dir), p.made)
	p.mu.Unlock()
	dir := filepath.Join(p.home.dir, name)
	admin, err := p.repo.AddWorktree(ctx, dir, commit)
	if err != nil {
		_ = p.repo.RemoveWorktree(context.WithoutCancel(ctx), dir)
		return nil, err
	}
	return newPoolTree(dir, admin, commit, p.repo)
}

// headFor is a commit that the repository has, for HEAD of a new worktree to stand at.
func (p *Pool) headFor(ctx context.Context, commit git.OID) (git.OID, error) {
	if commit != "" {
		if has, err := p.repo.Has(ctx, commit); err != nil || has {
			return commit, err
		}
	}
	head, found, err := p.repo.Resolve(ctx, "HEAD")
	if err != nil || found {
		return head, err
	}
	overlay := git.NewOverlay(p.repo)
	empty, err := overlay.PutTree(nil)
	if err != nil {
		return "", err
	}
	who := git.Signature{Name: "patchd", Email: "patchd@localhost"}
	who.When = unixEpoch()
	commit = overlay.PutCommit(git.Commit{Tree: empty, Author: who, Committer: who, Message: "empty\n"})
	return commit, p.repo.WritePack(ctx, overlay.Objects())
}

func (p *Pool) discard(ctx context.Context, tree *poolTree) {
	tree.close()
	if err := p.repo.RemoveWorktree(context.WithoutCancel(ctx), tree.dir); err != nil {
		p.log.WarnContext(ctx, "worktree could not be removed", "dir", tree.dir, "error", err)
	}
}

// giveBack ends a lease. A worktree that cannot be cleaned is not used again.
func (p *Pool) giveBack(tree *poolTree) {
	defer func() { <-p.slots }()
	ctx := context.Background()
	if err := tree.clean(ctx); err != nil {
		p.log.WarnContext(ctx, "worktree could not be cleaned and is removed", "dir", tree.dir, "error", err)
		p.discard(ctx, tree)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, tree)
}

// Close waits for all leases to end, or for ctx, and removes every worktree that is not leased, git's records of them
// and the pool's own directory. Nothing of the pool is left unless an error says so.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil
	}
	p.closed = true
	close(p.done)
	p.mu.Unlock()
	errs := []error{p.awaitLeases(ctx)}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tree := range p.idle {
		tree.close()
		errs = append(errs, p.repo.RemoveWorktree(context.WithoutCancel(ctx), tree.dir))
	}
	p.idle = nil
	errs = append(errs, p.home.remove())
	return errors.Join(errs...)
}

func (p *Pool) awaitLeases(ctx context.Context) error {
	for range cap(p.slots) {
		select {
		case p.slots <- struct{}{}:
			continue
		default:
		}
		select {
		case p.slots <- struct{}{}:
		case <-ctx.Done():
			return fmt.Errorf("wait for leases: %w", ctx.Err())
		}
	}
	return nil
}

// within reports whether path is dir or below it; both absolute.
func within(path, dir string) bool {
	return strings.HasPrefix(path+string(os.PathSeparator), dir+string(os.PathSeparator))
}
