package git

import (
	"context"
	"errors"
	"fmt"
)

// maxWalk bounds the first-parent walk that saves IsAncestor a process.
const maxWalk = 512

func isMissing(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing)
}

// FirstParents walks the first-parent chain back from tip: the commits before stop is met, tip first, stop left out.
// found says that stop was met within limit commits; the chain of tip itself is empty. A root ends the walk.
func (r *Repo) FirstParents(ctx context.Context, tip, stop OID, limit int) (chain []OID, found bool, err error) {
	return FirstParents(ctx, r, tip, stop, limit)
}

// FirstParents is (*Repo).FirstParents over any reader.
func FirstParents(ctx context.Context, r Reader, tip, stop OID, limit int) (chain []OID, found bool, err error) {
	for at := tip; ; {
		if at == stop {
			return chain, true, nil
		}
		if len(chain) >= limit {
			return chain, false, nil
		}
		commit, err := r.ReadCommit(ctx, at)
		if err != nil {
			return nil, false, fmt.Errorf("walk first parents: %w", err)
		}
		chain = append(chain, at)
		if len(commit.Parents) == 0 {
			return chain, false, nil
		}
		at = commit.Parents[0]
	}
}

// IsAncestor reports whether commit a is b or an ancestor of b. The first-parent chain is looked at in process, then
// git is asked; answers are kept.
func (r *Repo) IsAncestor(ctx context.Context, a, b OID) (bool, error) {
	key := [2]OID{a, b}
	if answer, ok := r.ancestry.get(key); ok {
		return answer, nil
	}
	if _, err := r.ReadCommit(ctx, a); err != nil {
		return false, fmt.Errorf("compare ancestry: %w", err)
	}
	chain, answer, err := r.FirstParents(ctx, b, a, maxWalk)
	if err != nil {
		return false, err
	}
	if !answer && !r.linear(ctx, chain) {
		if answer, err = r.askAncestor(ctx, a, b); err != nil {
			return false, err
		}
	}
	r.ancestry.put(key, answer, 256)
	return answer, nil
}

// linear reports whether the chain ends at a root and no commit on it has a second parent: then it is all there is.
func (r *Repo) linear(ctx context.Context, chain []OID) bool {
	for i, id := range chain {
		commit, err := r.ReadCommit(ctx, id)
		if err != nil || len(commit.Parents) > 1 || (i == len(chain)-1 && len(commit.Parents) > 0) {
			return false
		}
	}
	return true
}

func (r *Repo) askAncestor(ctx context.Context, a, b OID) (bool, error) {
	args := append(pins("advice.graftFileDeprecated=false"), "merge-base", "--is-ancestor", string(a), string(b))
	env := with(r.env, "GIT_DIR="+r.hermetic.dir, "GIT_OBJECT_DIRECTORY="+r.objectDir)
	_, err := r.run(ctx, command{args: args, dir: r.hermetic.dir, env: env})
	var failed *CommandError
	if errors.As(err, &failed) && failed.ExitCode == 1 {
		return false, nil
	}
	return err == nil, err
}
