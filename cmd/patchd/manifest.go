package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"patchd/coordinator"
)

type manifestCmd struct {
	changeFlags
	Repo     string `placeholder:"DIR" help:"The repository; default: that of the working directory."`
	Base     string `required:"" placeholder:"COMMIT" help:"The commit that the change starts from: an id, its beginning, a branch or tag; ~N and ^ work."`
	To       string `placeholder:"COMMIT" xor:"end" help:"The commit that the change leads to."`
	Worktree bool   `xor:"end" help:"Take the worktree's present state: tracked files and untracked ones that are not ignored. The default."`
	Target   string `placeholder:"BRANCH" help:"The branch that the patch is for; default: main."`
	Out      string `required:"" placeholder:"DIR" help:"Where manifest.json and patch.diff are written."`
}

// Help shows examples.
func (*manifestCmd) Help() string {
	return `Examples:
  patchd manifest --base main --to feature --out /tmp/p1
  patchd manifest --base HEAD --worktree --check "go test ./..." --out /tmp/p2
  patchd decide --target main --manifest /tmp/p1/manifest.json --diff /tmp/p1/patch.diff`
}

// manifestDocument says what was written.
type manifestDocument struct {
	Identity coordinator.Identity `json:"identity"`
	PatchID  coordinator.PatchID  `json:"patch_id"`
	Base     string               `json:"base_commit"`
	Digest   coordinator.Digest   `json:"diff_sha256"`
	Paths    []string             `json:"paths"`
	Manifest string               `json:"manifest"`
	Diff     string               `json:"diff"`
}

// Run writes both files.
func (m *manifestCmd) Run(ctx context.Context, a *app) error {
	repo, err := a.openRepository(ctx, m.Repo)
	if err != nil {
		return err
	}
	defer func() { _ = repo.Close() }()
	source := changeSource{repo: repo, dir: repo.Dir(), target: m.Target}
	if source.base, err = resolve(ctx, repo, source.dir, m.Base); err != nil {
		return err
	}
	if m.To != "" {
		if source.tip, err = resolve(ctx, repo, source.dir, m.To); err != nil {
			return err
		}
	}
	c, err := source.build(ctx, m.changeFlags)
	if err != nil {
		return err
	}
	document, err := writeChange(a.path(m.Out), c)
	if err != nil {
		return err
	}
	return a.emit(document, func(w io.Writer) {
		line(w, "%s  %s (%d paths)", document.PatchID, document.Identity, len(document.Paths))
		line(w, "%s\n%s", document.Manifest, document.Diff)
	})
}

// writeChange writes manifest.json and patch.diff into a directory, which is made where it does not exist.
func writeChange(dir string, c *change) (*manifestDocument, error) {
	raw, err := c.bytes()
	if err != nil {
		return nil, err
	}
	id, err := c.manifest.Identity()
	if err != nil {
		return nil, fmt.Errorf("identify patch: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // a patch is no secret
		return nil, fmt.Errorf("make output directory: %w", err)
	}
	d := &manifestDocument{
		Identity: id, PatchID: c.manifest.PatchID, Base: string(c.manifest.BaseCommit), Digest: c.manifest.DiffSHA256, Paths: c.manifest.Paths,
		Manifest: filepath.Join(dir, "manifest.json"), Diff: filepath.Join(dir, "patch.diff"),
	}
	if err := os.WriteFile(d.Manifest, raw, 0o644); err != nil { //nolint:gosec // a patch is no secret
		return nil, fmt.Errorf("write manifest: %w", err)
	}
	if err := os.WriteFile(d.Diff, c.diff, 0o644); err != nil { //nolint:gosec // a patch is no secret
		return nil, fmt.Errorf("write diff: %w", err)
	}
	return d, nil
}

// parseHunk reads PATH:A-B or PATH:A.
func parseHunk(text string) (coordinator.OwnedHunk, error) {
	i := strings.LastIndexByte(text, ':')
	if i <= 0 {
		return coordinator.OwnedHunk{}, fmt.Errorf("%q is not of the form PATH:A-B", text)
	}
	from, to, ranged := strings.Cut(text[i+1:], "-")
	if !ranged {
		to = from
	}
	start, err1 := strconv.Atoi(from)
	end, err2 := strconv.Atoi(to)
	if err1 != nil || err2 != nil || start < 1 || end < start {
		return coordinator.OwnedHunk{}, fmt.Errorf("%q is not of the form PATH:A-B with lines from 1", text)
	}
	return coordinator.OwnedHunk{Path: text[:i], Start: start, End: end}, nil
}

// parseHunks reads the claims of the --own flags.
func parseHunks(flags []string) ([]coordinator.OwnedHunk, error) {
	out := []coordinator.OwnedHunk{}
	for _, text := range flags {
		h, err := parseHunk(text)
		if err != nil {
			return nil, usage(err, "write --own src/parser.go:88-112")
		}
		out = append(out, h)
	}
	return out, nil
}
