package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// changeFlags say what a manifest says beside the change itself.
type changeFlags struct {
	ID         string   `name:"id" placeholder:"PATCH_ID" help:"Label for people. Default: the branch or worktree, and the beginning of the diff's digest."`
	Title      string   `help:"One line. Default: that of the commit, where the change is exactly one."`
	Body       string   `help:"The rest of the message."`
	Check      []string `sep:"none" placeholder:"CMD" help:"A command that must pass; repeat for more. The target's policy must allow it."`
	Own        []string `sep:"none" placeholder:"PATH:A-B" help:"Claim lines A to B of PATH at the base; repeat for more. Without it the claims are derived from the diff."`
	DependsOn  []string `placeholder:"PATCH" help:"A patch that this one builds on; repeat for more."`
	Supersedes []string `placeholder:"PATCH" help:"A patch that this one replaces; repeat for more."`
	OnConflict string   `enum:",fail,merge" default:"" help:"What to answer in a conflict: fail or merge."`
}

// change is a manifest with its diff.
type change struct {
	manifest *coordinator.Manifest
	diff     []byte
}

// bytes is the manifest as it is written to a file or sent.
func (c *change) bytes() ([]byte, error) {
	raw, err := json.Marshal(c.manifest, jsontext.WithIndent("  "))
	if err != nil {
		return nil, fmt.Errorf("marshal manifest: %w", err)
	}
	return append(raw, '\n'), nil
}

// changeSource is where a change comes from: commits base to tip, or the state of a worktree where tip is empty.
type changeSource struct {
	repo   *git.Repo
	dir    string // a directory of the worktree
	base   git.OID
	tip    git.OID
	target string // branch, empty for the default
}

// build works the manifest and the diff of a change out.
func (s changeSource) build(ctx context.Context, f changeFlags) (*change, error) {
	base, err := s.repo.ReadCommit(ctx, s.base)
	if err != nil {
		return nil, fmt.Errorf("read base: %w", err)
	}
	tree, commit, err := s.result(ctx)
	if err != nil {
		return nil, err
	}
	diff, err := s.repo.DiffBytes(ctx, base.Tree, tree)
	if err != nil {
		return nil, err
	}
	if len(diff) == 0 {
		return nil, usagef("change something, or give another --base", "nothing differs from base %s", s.base)
	}
	changes, err := git.DiffTrees(ctx, s.repo, base.Tree, tree)
	if err != nil {
		return nil, fmt.Errorf("list paths: %w", err)
	}
	own, err := parseHunks(f.Own)
	if err != nil {
		return nil, err
	}
	m := &coordinator.Manifest{
		PatchID: coordinator.PatchID(f.ID), BaseCommit: s.base, Paths: paths(changes), OwnedHunks: own, RequiredChecks: notNil(f.Check),
		DiffSHA256: coordinator.SHA256(diff), Target: s.target, Title: f.Title, Body: f.Body,
		DependsOn: f.DependsOn, Supersedes: f.Supersedes, OnConflict: f.OnConflict,
	}
	if m.PatchID == "" {
		m.PatchID = s.label(ctx, m.DiffSHA256)
	}
	takeMessage(m, commit)
	if err := m.Validate(); err != nil {
		return nil, usage(err, "")
	}
	return &change{m, diff}, nil
}

// result is the tree that the change leads to, and the commit that it is, where it is exactly one.
func (s changeSource) result(ctx context.Context) (git.OID, *git.Commit, error) {
	tip := s.tip
	var tree git.OID
	if tip == "" {
		var err error
		if tree, err = s.repo.WorktreeTree(ctx, s.dir, s.base); err != nil {
			return "", nil, err
		}
		head, err := s.repo.Head(ctx, s.dir)
		if err != nil {
			return "", nil, fmt.Errorf("read HEAD: %w", err)
		}
		tip = head.Commit
	}
	if tip == "" {
		return tree, nil, nil
	}
	commit, err := s.repo.ReadCommit(ctx, tip)
	if err != nil {
		return "", nil, fmt.Errorf("read commit: %w", err)
	}
	if tree == "" {
		tree = commit.Tree
	}
	if tree != commit.Tree || !slices.Equal(commit.Parents, []git.OID{s.base}) {
		commit = nil
	}
	return tree, commit, nil
}

// takeMessage takes title, body and author of the commit that the change is, as far as a manifest can hold them.
func takeMessage(m *coordinator.Manifest, c *git.Commit) {
	if c == nil {
		return
	}
	title, body, _ := strings.Cut(c.Message, "\n")
	try := func(set func(*coordinator.Manifest)) {
		with := *m
		set(&with)
		if with.Validate() == nil {
			*m = with
		}
	}
	if m.Title == "" && m.Body == "" {
		try(func(m *coordinator.Manifest) { m.Title = strings.TrimSpace(title) })
		try(func(m *coordinator.Manifest) { m.Body = strings.TrimSpace(body) })
	}
	try(func(m *coordinator.Manifest) {
		m.Author = &coordinator.Author{Name: c.Author.Name, Email: c.Author.Email, Date: c.Author.When.UTC().Format(time.RFC3339)}
	})
}

// label names a patch after its branch or worktree.
func (s changeSource) label(ctx context.Context, digest coordinator.Digest) coordinator.PatchID {
	name := filepath.Base(s.repo.Dir())
	if head, err := s.repo.Head(ctx, s.dir); err == nil && head.Branch != "" {
		name = strings.TrimPrefix(string(head.Branch), "refs/heads/")
	}
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
	name = strings.TrimLeft(name, "._-")
	if name == "" {
		name = "patch"
	}
	const room, tail = 64 - 9, 8
	return coordinator.PatchID(name[:min(len(name), room)] + "-" + string(digest[:tail]))
}

func paths(changes []git.Change) []string {
	out := make([]string, 0, len(changes))
	for _, c := range changes {
		out = append(out, c.Path)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// notNil gives the empty list that a manifest writes as [] and not as null.
func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
