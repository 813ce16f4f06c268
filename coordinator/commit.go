package coordinator

import (
	"context"
	"fmt"
	"slices"
	"time"

	"patchd/worktree"
	"patchd/worktree/git"
)

// commitMeta is what a patch's candidate says beside its tree and parent.
func (p *planner) commitMeta(ctx context.Context) (worktree.CandidateMeta, error) {
	base, err := p.objects.ReadCommit(ctx, p.manifest.BaseCommit)
	if err != nil {
		return worktree.CandidateMeta{}, fmt.Errorf("read base: %w", err)
	}
	meta := worktree.CandidateMeta{
		Title: p.manifest.TitleOr(p.submission.Identity), Body: p.manifest.Body, BaseDate: base.Committer.When,
		Trailers: []worktree.Trailer{
			{Key: TrailerIdentity, Value: string(p.submission.Identity)},
			{Key: TrailerBase, Value: string(p.manifest.BaseCommit)},
			{Key: TrailerDigest, Value: "sha256:" + string(p.manifest.DiffSHA256)},
		},
	}
	if a := p.manifest.Author; a != nil {
		meta.Author = git.Signature{Name: a.Name, Email: a.Email}
		if when, err := time.Parse(time.RFC3339, a.Date); err == nil {
			meta.Author.When = when
		}
	}
	for _, c := range p.out.Checks {
		if slices.Contains(c.Sources, "patch") || slices.Contains(c.Sources, "policy") {
			meta.Trailers = append(meta.Trailers, worktree.Trailer{Key: TrailerCheck, Value: c.Command})
		}
	}
	return meta, nil
}

// candidateCommit writes the commit that puts a plan's patch on a parent: the same inputs give the same id on every machine.
func candidateCommit(ov *git.Overlay, parent *git.Commit, tree git.OID, p *Plan) git.OID {
	return worktree.CandidateCommit(ov, parent, tree, p.meta)
}
