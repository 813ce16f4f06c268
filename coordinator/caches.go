package coordinator

import (
	"context"
	"slices"

	lru "github.com/hashicorp/golang-lru/v2"

	"patchd/worktree"
	"patchd/worktree/diff"
	"patchd/worktree/git"
)

// caches keep what was worked out from content, by the content's digest: dropping any entry at any time changes no answer.
type caches struct {
	policies    *lru.Cache[git.OID, policyResult]
	patches     *lru.Cache[Digest, parseResult]
	ranges      *lru.Cache[[2]git.OID, *trailersSince]
	sinces      *lru.Cache[[2]git.OID, *worktree.Since]
	owners      *lru.Cache[ownersKey, ownersResult]
	plans       *lru.Cache[Digest, *Plan]
	contentions *lru.Cache[contentionKey, *encounter]
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
		policies: mustLRU[git.OID, policyResult](policyEntries), patches: mustLRU[Digest, parseResult](patchEntries),
		ranges: mustLRU[[2]git.OID, *trailersSince](rangeEntries), sinces: mustLRU[[2]git.OID, *worktree.Since](rangeEntries), owners: mustLRU[ownersKey, ownersResult](ownersEntries),
		plans: mustLRU[Digest, *Plan](planEntries), contentions: mustLRU[contentionKey, *encounter](pairEntries),
	}
}

func (c *caches) policy(id git.OID, raw []byte) (*Policy, error) {
	r, ok := c.policies.Get(id)
	if !ok {
		r.policy, r.invalid = ParsePolicy(raw)
		c.policies.Add(id, r)
	}
	return r.policy, r.invalid
}

func (c *caches) parse(digest Digest, raw []byte) (*diff.Patch, error) {
	r, ok := c.patches.Get(digest)
	if !ok {
		r.patch, r.err = diff.Parse(raw, diff.DefaultLimits())
		if len(raw) <= maxCachedDiff {
			c.patches.Add(digest, r)
		}
	}
	return r.patch, r.err
}

func (c *caches) since(ctx context.Context, r git.Reader, base, target git.OID) (*worktree.Since, error) {
	key := [2]git.OID{base, target}
	if s, ok := c.sinces.Get(key); ok {
		return s, nil
	}
	s, err := worktree.ReadSince(ctx, r, base, target)
	if err == nil {
		c.sinces.Add(key, s)
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
	if t, ok := c.ranges.Get(key); ok {
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
	c.ranges.Add(key, t)
	return t, nil
}

// mustLRU makes a cache of a size that is a constant here, and so can fail only while being written.
func mustLRU[K comparable, V any](size int) *lru.Cache[K, V] {
	c, err := lru.New[K, V](size)
	if err != nil {
		panic(err)
	}
	return c
}
