package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"patchd/coordinator/api"
	"patchd/worktree/git"
)

// makeRepository lays an empty repository out as gitrepository-layout(5) describes it, with HEAD on a branch.
func makeRepository(dir, branch string) error {
	gitDir := filepath.Join(dir, ".git")
	for _, sub := range []string{"objects/pack", "objects/info", "refs/heads", "refs/tags"} {
		if err := os.MkdirAll(filepath.Join(gitDir, sub), 0o750); err != nil {
			return fmt.Errorf("make repository: %w", err)
		}
	}
	files := map[string]string{"HEAD": "ref: refs/heads/" + branch + "\n", "config": "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n"}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(gitDir, name), []byte(content), 0o600); err != nil {
			return fmt.Errorf("make repository: %w", err)
		}
	}
	return nil
}

// openRepository opens the repository that dir is in; what is at fault is the user's to mend.
func (a *app) openRepository(ctx context.Context, dir string) (*git.Repo, error) {
	if dir == "" {
		dir = a.dir
	}
	repo, err := git.Open(ctx, a.path(dir), git.Options{Logger: a.log, UserEnv: a.environ()})
	var none *git.NotRepositoryError
	var unsupported *git.UnsupportedError
	switch {
	case errors.As(err, &none) || errors.Is(err, fs.ErrNotExist):
		return nil, usage(err, "give the directory of a git repository")
	case errors.As(err, &unsupported):
		return nil, &statusError{exitFailed, fmt.Errorf("%s: patchd does not serve %s", a.path(dir), unsupported.What), unsupported.Hint}
	case err != nil:
		return nil, fmt.Errorf("open repository %s: %w", a.path(dir), err)
	}
	return repo, nil
}

// resolve finds the commit that a revision names: a full id, a branch, tag or other reference, HEAD of dir's worktree, the
// beginning of an id in the history of those, each followed by any of ~N and ^.
func resolve(ctx context.Context, repo *git.Repo, dir, revision string) (git.OID, error) {
	name, steps, err := splitRevision(revision)
	if err != nil {
		return "", err
	}
	id, err := resolveName(ctx, repo, dir, name)
	if err != nil {
		return "", err
	}
	if id, err = peel(ctx, repo, id); err != nil {
		return "", usagef("name a commit", "%q: %w", revision, err)
	}
	for range steps {
		c, err := repo.ReadCommit(ctx, id)
		if err != nil {
			return "", fmt.Errorf("read %q: %w", revision, err)
		}
		if len(c.Parents) == 0 {
			return "", usagef("name a commit that exists", "%q: commit %s has no parent", revision, id)
		}
		id = c.Parents[0]
	}
	return id, nil
}

// splitRevision takes ~N and ^ from the end of a revision and counts the steps to first parents.
func splitRevision(revision string) (name string, steps int, err error) {
	name = revision
	for {
		i := strings.LastIndexAny(name, "~^")
		if i < 0 {
			return name, steps, nil
		}
		n := 1
		if rest := name[i+1:]; rest != "" {
			if n, err = strconv.Atoi(rest); err != nil || n < 0 || name[i] == '^' && n != 1 || n > 100_000 {
				return "", 0, usagef("write it as COMMIT~N or COMMIT^", "%q is not a revision that patchd reads", revision)
			}
		}
		name, steps = name[:i], steps+n
	}
}

func resolveName(ctx context.Context, repo *git.Repo, dir, name string) (git.OID, error) {
	if id, err := git.ParseOID(name); err == nil {
		return id, nil
	}
	if name == "HEAD" || name == "" || name == "@" {
		head, err := repo.Head(ctx, dir)
		if err != nil {
			return "", fmt.Errorf("read HEAD of %s: %w", dir, err)
		}
		if head.Commit == "" {
			return "", usagef("commit something first", "HEAD of %s has no commit", dir)
		}
		return head.Commit, nil
	}
	for _, prefix := range []string{"", "refs/heads/", "refs/tags/", "refs/remotes/", "refs/"} {
		ref := git.Ref(prefix + name)
		if !strings.HasPrefix(string(ref), "refs/") {
			continue
		}
		id, found, err := repo.Resolve(ctx, ref)
		if err == nil && found {
			return id, nil
		}
	}
	if isHex(name) {
		return findAbbreviated(ctx, repo, name)
	}
	return "", usagef("give a full commit id, or the name of a branch or tag", "%q names nothing in this repository", name)
}

func isHex(s string) bool {
	const shortest = 4
	return len(s) >= shortest && strings.Trim(s, "0123456789abcdef") == ""
}

// peel follows annotated tags to their commit.
func peel(ctx context.Context, repo *git.Repo, id git.OID) (git.OID, error) {
	for range 10 {
		obj, err := repo.Read(ctx, id)
		if err != nil {
			return "", err
		}
		switch obj.Type {
		case git.TypeCommit:
			return id, nil
		case git.TypeTag:
			first, _, _ := strings.Cut(string(obj.Data), "\n")
			id = git.OID(strings.TrimPrefix(first, "object "))
		case git.TypeTree, git.TypeBlob:
			return "", fmt.Errorf("object %s is a %s, not a commit", id, obj.Type)
		}
	}
	return "", errors.New("too many tags of tags")
}

// findAbbreviated looks for a commit by the beginning of its id in the recent history of all branches and tags.
func findAbbreviated(ctx context.Context, repo *git.Repo, prefix string) (git.OID, error) {
	const reach = 50_000 // commits
	refs, err := repo.ListRefs(ctx, "refs/")
	if err != nil {
		return "", fmt.Errorf("list references: %w", err)
	}
	var queue, found []git.OID
	seen := map[git.OID]bool{}
	push := func(ids ...git.OID) {
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				queue = append(queue, id)
			}
		}
	}
	for _, ref := range refs {
		push(ref.OID)
	}
	for i := 0; i < len(queue) && i < reach; i++ {
		id, err := peel(ctx, repo, queue[i])
		if err != nil {
			continue // a reference to a tree or blob
		}
		if strings.HasPrefix(string(id), prefix) && !slices.Contains(found, id) {
			found = append(found, id)
		}
		c, err := repo.ReadCommit(ctx, id)
		if err != nil {
			return "", fmt.Errorf("read history: %w", err)
		}
		push(c.Parents...)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", usagef("give the full id", "no commit near a branch or tag begins with %q", prefix)
	}
	return "", usagef("give the full id", "%q begins several commits: %s", prefix, joined(found))
}

// resolveTarget finds the target of a command that works without a daemon: a commit, or a branch whose tip it takes.
func resolveTarget(ctx context.Context, repo *git.Repo, dir, target string) (git.OID, error) {
	if id, found, err := repo.Resolve(ctx, api.FullRef(target)); err == nil && found {
		return id, nil
	}
	return resolve(ctx, repo, dir, target)
}
