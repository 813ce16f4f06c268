package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"patchd/coordinator"
)

type initCmd struct {
	Repo  string `arg:"" optional:"" placeholder:"DIR" help:"The repository; default: that of the working directory."`
	Force bool   `help:"Replace a .patchd.yml that exists."`
	Print bool   `help:"Print the policy and write nothing."`
}

// Help shows examples.
func (*initCmd) Help() string {
	return `It looks for go.mod, package.json, pyproject.toml, Cargo.toml and Makefile at the top of the repository.

Examples:
  patchd init
  patchd init ~/src/app --print`
}

// initDocument says what was proposed.
type initDocument struct {
	Path    string   `json:"path"`
	Written bool     `json:"written"`
	Found   []string `json:"found"`
	Policy  string   `json:"policy"`
}

// Run writes a starter policy and says what to do next.
func (c *initCmd) Run(ctx context.Context, a *app) error {
	repo, err := a.openRepository(ctx, c.Repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	if repo.Bare() && !c.Print {
		return usagef("run it in a checkout, or add --print", "%s is a bare repository", repo.Dir())
	}
	found := lookAround(repo.Dir())
	policy := starterPolicy(found)
	if _, err := coordinator.ParsePolicy([]byte(policy)); err != nil {
		return fmt.Errorf("check the policy proposed: %w", err)
	}
	doc := initDocument{Path: filepath.Join(repo.Dir(), coordinator.PolicyPath), Found: found.names(), Policy: policy}
	if c.Print {
		return a.emit(doc, func(w io.Writer) { _, _ = io.WriteString(w, policy) })
	}
	if err := createFile(doc.Path, policy, c.Force); err != nil {
		return err
	}
	doc.Written = true
	return a.emit(doc, func(w io.Writer) {
		line(w, "wrote %s", doc.Path)
		line(w, "next: look through it, commit it to the branch that you guard, and run: patchd serve --repo %s", repo.Dir())
		line(w, "the policy at the guarded branch's tip counts, never the one in a patch")
	})
}

// createFile writes a file that must not exist yet, unless force says otherwise.
func createFile(path, content string, force bool) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644) //nolint:gosec // a policy is read by everybody
	if errors.Is(err, fs.ErrExist) {
		return usagef("edit it, or add --force to replace it", "%s exists", path)
	}
	if err != nil {
		return fmt.Errorf("create policy: %w", err)
	}
	_, err = f.WriteString(content)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("write policy: %w", err)
	}
	return nil
}
