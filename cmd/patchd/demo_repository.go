package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"patchd/worktree/git"
)

// demoBase is the tree of commit A.
func demoBase() map[string]string {
	return map[string]string{
		"README.md": "# parcel\n\nReads message headers and counts words.\n",
		"go.mod":    "module example.org/parcel\n\ngo 1.22\n",
		"parser/header.go": `package parser

import "strings"

// Header is one line of a message's head.
type Header struct {
	Name, Value string
}

// parseHeader splits a line at its first colon.
func parseHeader(line string) (Header, bool) {
	name, value, found := strings.Cut(line, ":")
	if !found {
		return Header{}, false
	}
	name = strings.TrimSpace(name)

	h := Header{Name: name}

	h.Value = strings.TrimSpace(value)
	return h, true
}

// join puts a header back on one line.
func join(h Header) string {
	return h.Name + ": " + h.Value
}
`,
		"count/count.go": `package count

import "strings"

// Words counts the words of a text.
func Words(text string) int {
	return len(strings.Fields(text))
}

// Lines counts the lines of a text.
func Lines(text string) int {
	return strings.Count(text, "\n")
}
`,
	}
}

// demoPatch is one of the three changes that start from A.
type demoPatch struct {
	name, branch, title string
	path, old, new      string
}

func demoPatches() []demoPatch {
	return []demoPatch{
		{"P1", "p1", "Compare header names without case", "parser/header.go", "name = strings.TrimSpace(name)\n", "name = strings.ToLower(strings.TrimSpace(name))\n"},
		{"P2", "p2", "Keep quoted header values as they are", "parser/header.go", "h.Value = strings.TrimSpace(value)\n", "h.Value = value\n\tif !strings.Contains(value, `\"`) {\n\t\th.Value = strings.TrimSpace(value)\n\t}\n"},
		{"P3", "p3", "Count a last line without newline", "count/count.go", "return strings.Count(text, \"\\n\")\n", "n := strings.Count(text, \"\\n\")\n\tif text != \"\" && !strings.HasSuffix(text, \"\\n\") {\n\t\tn++\n\t}\n\treturn n\n"},
	}
}

// demoCommits are the commits of the disposable repository: A, and one for each branch.
type demoCommits struct {
	base     git.OID
	branches map[string]git.OID
}

// makeDemoRepository makes commit A on main and the three branches, the same ids each time.
func makeDemoRepository(ctx context.Context, dir string) (commits demoCommits, err error) {
	if err := makeRepository(dir, "p1"); err != nil { // main is checked out nowhere: it can be moved
		return commits, err
	}
	repo, err := git.Open(ctx, dir, git.Options{})
	if err != nil {
		return commits, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	objects := git.NewOverlay(repo)
	tree, err := objects.PutTree(nil)
	if err != nil {
		return commits, err
	}
	var edits []git.TreeEdit
	for path, text := range demoBase() {
		edits = append(edits, git.TreeEdit{Path: path, Entry: git.Entry{Mode: git.ModeFile, OID: objects.PutBlob([]byte(text))}})
	}
	if tree, err = git.EditTree(ctx, objects, tree, edits); err != nil {
		return commits, err
	}
	commits = demoCommits{demoCommit(objects, "A: read headers, count words", tree, ""), map[string]git.OID{}}
	updates := []git.RefUpdate{{Ref: "refs/heads/main", Old: git.ZeroOID, New: commits.base}}
	for _, p := range demoPatches() {
		changed := strings.Replace(demoBase()[p.path], p.old, p.new, 1)
		result, err := git.EditTree(ctx, objects, tree, []git.TreeEdit{{Path: p.path, Entry: git.Entry{Mode: git.ModeFile, OID: objects.PutBlob([]byte(changed))}}})
		if err != nil {
			return commits, err
		}
		commits.branches[p.name] = demoCommit(objects, p.title, result, commits.base)
		updates = append(updates, git.RefUpdate{Ref: git.Ref("refs/heads/" + p.branch), Old: git.ZeroOID, New: commits.branches[p.name]})
	}
	if err := repo.WritePack(ctx, objects.Objects()); err != nil {
		return commits, fmt.Errorf("write demo repository: %w", err)
	}
	return commits, repo.UpdateRefs(ctx, updates)
}

func demoCommit(objects *git.Overlay, title string, tree, parent git.OID) git.OID {
	who := git.Signature{Name: "Demo", Email: "demo@localhost", When: time.Date(2024, time.January, 1, 12, 0, 0, 0, time.UTC)}
	c := git.Commit{Tree: tree, Author: who, Committer: who, Message: title + "\n"}
	if parent != "" {
		c.Parents = []git.OID{parent}
	}
	return objects.PutCommit(c)
}

// landDemo moves main from A to P1, as a push would.
func landDemo(ctx context.Context, dir string, commits demoCommits) (err error) {
	repo, err := git.Open(ctx, dir, git.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	return repo.UpdateRefs(ctx, []git.RefUpdate{{Ref: "refs/heads/main", Old: commits.base, New: commits.branches["P1"]}})
}
