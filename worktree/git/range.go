package git

import (
	"cmp"
	"container/heap"
	"context"
	"fmt"
	"slices"
)

// Range lists the commits that tip reaches and stop does not, sorted by id: the set that git writes stop..tip. Both sides
// are painted from their tips back in the order of committer dates, as git-rev-list(1) does, and like there the walk goes
// on for a few commits after everything queued is painted by both, so that clocks which ran backwards do not cut it short.
func Range(ctx context.Context, r Reader, stop, tip OID) ([]OID, error) {
	w := &painter{reader: r, colours: map[OID]colour{}}
	if err := w.push(ctx, tip, wanted); err != nil {
		return nil, err
	}
	if err := w.push(ctx, stop, unwanted); err != nil {
		return nil, err
	}
	const slop = 5
	for rest := slop; len(w.queue) > 0 && rest > 0; {
		if w.open() {
			rest = slop
		} else {
			rest--
		}
		if err := w.step(ctx); err != nil {
			return nil, err
		}
	}
	var out []OID
	for id, c := range w.colours {
		if c == wanted {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out, nil
}

type colour uint8

const (
	wanted   colour = 1
	unwanted colour = 2
)

// painter walks history; a commit whose colour changes is queued again.
type painter struct {
	reader  Reader
	queue   commitQueue
	colours map[OID]colour
}

func (w *painter) push(ctx context.Context, id OID, c colour) error {
	before := w.colours[id]
	if before|c == before {
		return nil
	}
	commit, err := w.reader.ReadCommit(ctx, id)
	if err != nil {
		return fmt.Errorf("walk history: %w", err)
	}
	w.colours[id] = before | c
	heap.Push(&w.queue, commit)
	return nil
}

func (w *painter) step(ctx context.Context) error {
	commit := w.queue[0]
	heap.Pop(&w.queue)
	for _, parent := range commit.Parents {
		if err := w.push(ctx, parent, w.colours[commit.OID]); err != nil {
			return err
		}
	}
	return nil
}

// open reports whether the queue holds a commit that only the tip reaches so far.
func (w *painter) open() bool {
	return slices.ContainsFunc(w.queue, func(c *Commit) bool { return w.colours[c.OID] == wanted })
}

// commitQueue is a heap, newest committer date first, ties by id.
type commitQueue []*Commit //nolint:recvcheck // as container/heap wants it

// Len implements heap.Interface.
func (q commitQueue) Len() int { return len(q) }

// Less implements heap.Interface.
func (q commitQueue) Less(i, j int) bool {
	return cmp.Or(q[j].Committer.When.Compare(q[i].Committer.When), cmp.Compare(q[i].OID, q[j].OID)) < 0
}

// Swap implements heap.Interface.
func (q commitQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }

// Push implements heap.Interface.
func (q *commitQueue) Push(x any) {
	if c, ok := x.(*Commit); ok {
		*q = append(*q, c)
	}
}

// Pop implements heap.Interface.
func (q *commitQueue) Pop() any {
	old := *q
	last := old[len(old)-1]
	*q = old[:len(old)-1]
	return last
}
