package coordinator

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"patchd/worktree/git"
)

// pairSize bounds how many pairs are compared in one batch: for each batch git is started once a core.
const pairSize = 1024

// planPair is two plans to compare and what either depends on; the smaller identity first.
type planPair struct {
	p, q    *Plan
	between []*Plan
}

// contend compares pairs of plans at one target, in the order given. Git is asked about all of them together: a process for
// each would take longer than everything else.
func (e *Engine) contend(ctx context.Context, target git.OID, pairs []planPair) ([]*encounter, error) {
	out := make([]*encounter, len(pairs))
	var unknown []int
	for i, x := range pairs {
		if known, ok := e.cache.contentions.Get(contentionKey{target, x.p.Decision.PlanDigest, x.q.Decision.PlanDigest}); ok {
			out[i] = known
		} else {
			unknown = append(unknown, i)
		}
	}
	for len(unknown) > 0 {
		n := min(len(unknown), pairSize)
		if err := e.contendBatch(ctx, target, pairs, unknown[:n], out); err != nil {
			return nil, err
		}
		unknown = unknown[n:]
	}
	return out, nil
}

// contendBatch compares some of the pairs: first as far as git is not needed, then, with git's answers, to the end.
func (e *Engine) contendBatch(ctx context.Context, target git.OID, pairs []planPair, which []int, out []*encounter) error {
	asked := newOpinions(e.repo)
	meetings := make([]*meeting, len(which))
	err := eachOf(ctx, len(which), func(ctx context.Context, i int) error {
		x := pairs[which[i]]
		m, err := e.meetingOf(ctx, target, x, asked)
		if err != nil {
			return fmt.Errorf("compare patches %s and %s: %w", x.p.Identity().Short(), x.q.Identity().Short(), err)
		}
		meetings[i] = m
		return nil
	})
	if err != nil {
		return err
	}
	if err := asked.answer(ctx, e.repo); err != nil {
		return err
	}
	return eachOf(ctx, len(which), func(ctx context.Context, i int) error {
		x := pairs[which[i]]
		found := &encounter{}
		if meetings[i] != nil {
			var err error
			if found, err = meetings[i].compare(ctx); err != nil {
				return fmt.Errorf("compare patches %s and %s: %w", x.p.Identity().Short(), x.q.Identity().Short(), err)
			}
		}
		out[which[i]] = found
		e.cache.contentions.Add(contentionKey{target, x.p.Decision.PlanDigest, x.q.Decision.PlanDigest}, found)
		return nil
	})
}

// meetingOf prepares a comparison and has it ask what it will ask of git; nil where one of the two already meets what the
// other builds on: the other is held back for that, and the two are not compared.
func (e *Engine) meetingOf(ctx context.Context, target git.OID, x planPair, asked *opinions) (*meeting, error) {
	m, err := e.newMeeting(ctx, target, x)
	var apart *NotComposableError
	if errors.As(err, &apart) {
		return nil, nil //nolint:nilnil // documented above
	}
	if err != nil {
		return nil, err
	}
	m.merger = asked
	if !m.lines.NeedsOpinion() {
		return m, nil
	}
	for _, way := range [][2]meeter{{m.left, m.right}, {m.right, m.left}} {
		if _, err := m.rebase(ctx, way[0].side, way[1].side); err != nil && !errors.Is(err, errAsked) {
			return nil, err
		}
	}
	return m, nil
}

// eachOf does something for each of n, a few at once.
func eachOf(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(runtime.GOMAXPROCS(0), 1))
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// errAsked says that git's opinion was asked for and is not there yet.
var errAsked = errors.New("git's opinion is not there yet")

// opinions collects merges that are asked for, and gives git's answers once they are there. It is a worktree.Merger.
type opinions struct {
	mu      sync.Mutex
	objects *git.Overlay
	merges  []git.Merge
	known   map[git.Merge]opinion
}

// opinion is git's answer about one merge, or why there is none.
type opinion struct {
	merge git.MergeResult
	err   error
}

func newOpinions(r git.Reader) *opinions {
	return &opinions{objects: git.NewOverlay(r), known: map[git.Merge]opinion{}}
}

// MergeTree gives git's merge, or notes that it is asked for.
func (o *opinions) MergeTree(_ context.Context, ov *git.Overlay, base, ours, theirs git.OID) (git.MergeResult, error) {
	m := git.Merge{Base: base, Ours: ours, Theirs: theirs}
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, ok := o.known[m]; ok {
		return known.merge, known.err
	}
	o.known[m] = opinion{err: errAsked}
	o.merges = append(o.merges, m)
	o.objects.Adopt(ov)
	return git.MergeResult{}, errAsked
}

// answer asks git for everything, a part of it in each of a few processes.
func (o *opinions) answer(ctx context.Context, repo Repository) error {
	const least = 32 // merges for which another process pays
	parts := min(max(runtime.GOMAXPROCS(0), 1), (len(o.merges)+least-1)/least)
	results := make([][]opinion, parts)
	part := func(i int) []git.Merge { return o.merges[i*len(o.merges)/parts : (i+1)*len(o.merges)/parts] }
	err := eachOf(ctx, parts, func(ctx context.Context, i int) error {
		results[i] = ask(ctx, repo, o.objects, part(i))
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	for i := range parts {
		for k, m := range part(i) {
			o.known[m] = results[i][k]
		}
	}
	o.merges = nil
	return nil
}

// ask gives git's merges. What git cannot merge, such as a tree of which an object is missing, ends the process that was to
// merge all: then each is asked for by itself, so that it is nobody else's trouble.
func ask(ctx context.Context, repo Repository, objects *git.Overlay, merges []git.Merge) []opinion {
	out := make([]opinion, len(merges))
	together, err := repo.MergeTrees(ctx, objects, merges)
	for i, m := range merges {
		switch {
		case err == nil:
			out[i].merge = together[i]
		case ctx.Err() == nil:
			out[i].merge, out[i].err = repo.MergeTree(ctx, objects, m.Base, m.Ours, m.Theirs)
		}
	}
	return out
}
