package coordinator

import (
	"context"
	"fmt"
	"path"
	"slices"

	"patchd/ownership"
	"patchd/worktree/git"
)

// ownersKey is the content that owner rules come from: the CODEOWNERS file and the policy's own rules.
type ownersKey struct {
	codeowners git.OID
	rules      Digest
}

type ownersResult struct{ owners *ownership.Owners }

// ownersAt reads the owner rules of a tree: its CODEOWNERS file, then the policy's rules; the last that matches wins.
func (e *Engine) ownersAt(ctx context.Context, tree git.OID, p *Policy) (*ownership.Owners, error) {
	file, err := e.codeowners(ctx, tree)
	if err != nil {
		return nil, err
	}
	rules, err := DigestOf(p.Owners)
	if err != nil {
		return nil, err
	}
	key := ownersKey{file.OID, rules}
	if r, ok := e.cache.owners.Get(key); ok {
		return r.owners, nil
	}
	var fromFile, fromPolicy []ownership.OwnerRule
	if !file.IsZero() {
		raw, err := e.repo.ReadBlob(ctx, file.OID)
		if err != nil {
			return nil, fmt.Errorf("read CODEOWNERS: %w", err)
		}
		if fromFile, err = ownership.ParseCodeowners(raw); err != nil {
			fromFile = nil // as elsewhere, a file that cannot be read governs nothing; changing it needs an approval all the same
		}
	}
	for _, r := range p.Owners {
		fromPolicy = append(fromPolicy, ownership.OwnerRule{Paths: r.Paths, Approvers: r.Approvers})
	}
	owners, err := ownership.NewOwners(fromFile, fromPolicy)
	if err != nil {
		return nil, fmt.Errorf("read owner rules: %w", err)
	}
	e.cache.owners.Add(key, ownersResult{owners})
	return owners, nil
}

func (e *Engine) codeowners(ctx context.Context, tree git.OID) (git.Entry, error) {
	for _, at := range ownership.CodeownersPaths() {
		entry, err := git.Lookup(ctx, e.repo, tree, at)
		if err != nil {
			return git.Entry{}, fmt.Errorf("look up %s: %w", at, err)
		}
		if entry.Mode.IsFile() {
			return entry, nil
		}
	}
	return git.Entry{}, nil
}

// governs reports whether a path says how the repository is governed or merged: changing it needs an approval, whatever the
// owner rules say.
func governs(p string) bool {
	switch path.Base(p) {
	case ".gitattributes", ".gitmodules":
		return true
	}
	return p == PolicyPath || slices.Contains(ownership.CodeownersPaths(), p)
}
