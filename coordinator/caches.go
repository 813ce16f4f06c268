package coordinator

import (
	"context"
	"slices"
	"sync"

	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// caches keep what was worked out from content, by the content's digest: dropping any entry at any time changes no answer.
type caches struct {
	policies    *memo[git.OID, policyResult]
	patches     *memo[Digest, parseResult]
	ranges      *memo[[2]git.OID, *trailersSince]
	sinces      *memo[[2]git.OID, *worktree.Since]
	owners      *memo[ownersKey, ownersResult]
	plans       *memo[Digest, *Plan]
	contentions *memo[contentionKey, *encounter]
}

type policyResult struct {
	policy  *Policy
	invalid error
}

// contentionKey is a pair of plans at one target, the smaller identity first.
type contentionKey struct {
	target git.OID
	p, q   Digest
}

type parseResult struct {
	patch *diff.Patch
	err   error
}

// Sizes of the caches, in entries.
const (
	policyEntries = 64
	patchEntries  = 512
	rangeEntries  = 1024
	ownersEntries = 64
	planEntries   = 2048
	pairEntries   = 65536
	maxCachedDiff = 1 << 20 // bytes; larger diffs are parsed again
)

func newCaches() *caches {
	return &caches{
		policies: newMemo[git.OID, policyResult](policyEntries), patches: newMemo[Digest, parseResult](patchEntries),
		ranges: newMemo[[2]git.OID, *trailersSince](rangeEntries), sinces: newMemo[[2]git.OID, *worktree.Since](rangeEntries), owners: newMemo[ownersKey, ownersResult](ownersEntries),
		plans: newMemo[Digest, *Plan](planEntries), contentions: newMemo[contentionKey, *encounter](pairEntries),
	}
}

func (c *caches) policy(id git.OID, raw []byte) (*Policy, error) {
	r, ok := c.policies.get(id)
	if !ok {
		r.policy, r.invalid = ParsePolicy(raw)
		c.policies.put(id, r)
	}
	return r.policy, r.invalid
}

func (c *caches) parse(digest Digest, raw []byte) (*diff.Patch, error) {
	r, ok := c.patches.get(digest)
	if !ok {
		r.patch, r.err = diff.Parse(raw, diff.DefaultLimits())
		if len(raw) <= maxCachedDiff {
			c.patches.put(digest, r)
		}
	}
	return r.patch, r.err
}

func (c *caches) since(ctx context.Context, r git.Reader, base, target git.OID) (*worktree.Since, error) {
	key := [2]git.OID{base, target}
	if s, ok := c.sinces.get(key); ok {
		return s, nil
	}
	s, err := worktree.ReadSince(ctx, r, base, target)
	if err == nil {
		c.sinces.put(key, s)
	}
	return s, err
}

// trailersSince is what the commits of a range say in their trailers, sorted.
type trailersSince struct {
	checks   []string
	landings map[Identity][]git.OID // the commits that carry a patch's identity
}

func (c *caches) trailers(ctx context.Context, r git.Reader, base, target git.OID) (*trailersSince, error) {
	key := [2]git.OID{base, target}
	if t, ok := c.ranges.get(key); ok {
		return t, nil
	}
	commits, err := git.Range(ctx, r, base, target)
	if err != nil {
		return nil, err
	}
	t := &trailersSince{landings: map[Identity][]git.OID{}}
	for _, id := range commits {
		commit, err := r.ReadCommit(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, x := range worktree.Trailers(commit.Message) {
			switch x.Key {
			case TrailerCheck:
				t.checks = append(t.checks, x.Value)
			case TrailerIdentity:
				t.landings[Identity(x.Value)] = append(t.landings[Identity(x.Value)], id)
			}
		}
	}
	slices.Sort(t.checks)
	t.checks = slices.Compact(t.checks)
	c.ranges.put(key, t)
	return t, nil
}

// memo is a bounded map that forgets its oldest entries. It is safe for concurrent use.
type memo[K comparable, V any] struct {
	mu    sync.Mutex
	limit int
	byKey map[K]V
	order []K
}

func newMemo[K comparable, V any](limit int) *memo[K, V] {
	return &memo[K, V]{limit: limit, byKey: map[K]V{}}
}

func (m *memo[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.byKey[key]
	return v, ok
}

func (m *memo[K, V]) put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.byKey[key]; ok {
		return
	}
	m.byKey[key] = v
	m.order = append(m.order, key)
	if len(m.order) > m.limit {
		delete(m.byKey, m.order[0])
		m.order = m.order[1:] // the next append that needs room drops what is before
	}
}
