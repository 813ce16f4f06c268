package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

type submitCmd struct {
	changeFlags
	Base     string        `placeholder:"COMMIT" xor:"what" help:"The commit that the change starts from; the worktree's present state is submitted. Default: where its branch left the target."`
	To       string        `placeholder:"COMMIT" help:"Submit this commit's state and not the worktree's."`
	Manifest string        `type:"path" placeholder:"FILE" xor:"what" and:"files" help:"A prepared manifest."`
	Diff     string        `type:"path" placeholder:"FILE" and:"files" help:"The diff that the manifest names."`
	Dir      string        `placeholder:"DIR" help:"The worktree; default: the working directory."`
	Repo     string        `placeholder:"NAME" help:"Repository, where the daemon serves several."`
	Target   string        `short:"t" placeholder:"BRANCH" help:"The branch that the patch is for; default: main, or the only one guarded."`
	Wait     bool          `short:"w" help:"Wait for the decision; its outcome gives the exit status."`
	Timeout  time.Duration `default:"10m" help:"How long to wait."`
	Key      string        `placeholder:"KEY" help:"Request key: the same key with the same content is one submission. Default: a new one."`
}

// Help shows examples.
func (*submitCmd) Help() string {
	return `Exit status: 0 recorded (with --wait: candidate), 3 rejected or waiting, 4 conflict, 5 no decision in time.
A submission that the daemon acknowledged stays, whatever becomes of this command.

Examples:
  patchd submit --base main --wait
  patchd submit --base 4f2c1d9 --check "go test ./..." --title "Parse headers once" --wait
  patchd submit --manifest p1/manifest.json --diff p1/patch.diff --json`
}

// Run hands a patch in and, where asked to, waits for its decision.
func (s *submitCmd) Run(ctx context.Context, a *app) error {
	c, err := a.connect(submitPatience)
	if err != nil {
		return err
	}
	defer c.Close()
	manifest, diff, keyed, err := s.content(ctx, a, c)
	if err != nil {
		return err
	}
	if !utf8.Valid(manifest) {
		return usagef("write the manifest in UTF-8", "the manifest is not UTF-8")
	}
	text, err := json.Marshal(string(manifest))
	if err != nil {
		return fmt.Errorf("marshal manifest: %w", err)
	}
	receipt, err := c.Submit(ctx, api.SubmitBody{Repo: s.Repo, Manifest: text, Diff: diff, Tool: "cli submit"}, keyed)
	if err != nil {
		return err
	}
	if receipt.Refused != nil {
		return errors.Join(a.emit(receipt, func(w io.Writer) { renderRefused(w, receipt) }), &statusError{code: exitWaiting})
	}
	if !s.Wait {
		return a.emit(receipt, func(w io.Writer) { renderReceipt(w, receipt) })
	}
	return s.wait(ctx, a, c, receipt)
}

// content is what to submit: prepared files, or what the worktree holds.
func (s *submitCmd) content(ctx context.Context, a *app, c *client.Client) (manifest, diff []byte, keyed bool, err error) {
	if s.Manifest != "" {
		return readFiles(a.path(s.Manifest), a.path(s.Diff))
	}
	repo, err := a.openRepository(ctx, s.Dir)
	if err != nil {
		return nil, nil, false, err
	}
	defer func() { _ = repo.Close() }()
	source := changeSource{repo: repo, dir: repo.Dir(), target: s.Target}
	if source.base, err = s.base(ctx, c, source); err != nil {
		return nil, nil, false, err
	}
	if s.To != "" {
		if source.tip, err = resolve(ctx, repo, source.dir, s.To); err != nil {
			return nil, nil, false, err
		}
	}
	made, err := source.build(ctx, s.changeFlags)
	if err != nil {
		return nil, nil, false, err
	}
	made.manifest.ClientRequestID = s.Key
	if s.Key == "" {
		made.manifest.ClientRequestID = uuid.NewString()
	}
	manifest, err = made.bytes()
	return manifest, made.diff, true, err
}

// readFiles reads prepared files; the manifest is sent as it is, and repeated only where it holds a request key.
func readFiles(manifestFile, diffFile string) (manifest, diff []byte, keyed bool, err error) {
	if manifest, err = os.ReadFile(manifestFile); err != nil { //nolint:gosec // named by the user
		return nil, nil, false, usage(err, "give --manifest FILE")
	}
	if diff, err = os.ReadFile(diffFile); err != nil { //nolint:gosec // named by the user
		return nil, nil, false, usage(err, "give --diff FILE")
	}
	m, err := coordinator.ParseManifest(manifest)
	return manifest, diff, err == nil && m.ClientRequestID != "", nil
}

// base is the commit named, or where the worktree's branch left the target: the newest commit of its first-parent history
// that the target has too.
func (s *submitCmd) base(ctx context.Context, c *client.Client, source changeSource) (git.OID, error) {
	if s.Base != "" {
		return resolve(ctx, source.repo, source.dir, s.Base)
	}
	target, err := onlyTarget(ctx, c, s.Repo, api.FullRef(s.Target))
	if err != nil {
		return "", err
	}
	tip, err := resolve(ctx, source.repo, source.dir, "HEAD")
	if err != nil {
		return "", err
	}
	const reach = 10_000 // commits
	for range reach {
		shared, err := source.repo.IsAncestor(ctx, tip, target)
		if err != nil {
			return "", fmt.Errorf("look for the base: %w", err)
		}
		if shared {
			return tip, nil
		}
		commit, err := source.repo.ReadCommit(ctx, tip)
		if err != nil {
			return "", fmt.Errorf("look for the base: %w", err)
		}
		if len(commit.Parents) == 0 {
			break
		}
		tip = commit.Parents[0]
	}
	return "", usagef("give --base COMMIT", "HEAD and the target have no history in common")
}

// onlyTarget is the commit of the target that a request without more names means.
func onlyTarget(ctx context.Context, c *client.Client, repo string, ref git.Ref) (git.OID, error) {
	targets, err := c.Targets(ctx)
	if err != nil {
		return "", err
	}
	var found []git.OID
	for _, t := range targets {
		if (repo == "" || t.Repo == repo) && (ref == "" || t.Ref == ref) {
			found = append(found, t.Commit)
		}
	}
	if len(found) != 1 {
		return "", usagef("see patchd status; name them with --repo and --target, or give --base COMMIT", "%d targets fit", len(found))
	}
	return found[0], nil
}

func renderReceipt(w io.Writer, r *service.Receipt) {
	line(w, "recorded %s as %s on %s", r.PatchID, r.Identity.Short(), r.Target)
	if r.Deduplicated {
		line(w, "the same request was recorded before; nothing was added")
	}
	if r.Decision != nil {
		renderDecision(w, r.Decision)
		return
	}
	line(w, "see its decision: patchd show %s", r.Identity.Short())
}

func renderRefused(w io.Writer, r *service.Receipt) {
	m := r.Refused.Message
	line(w, "refused    %s at %s", m.Code, r.Refused.Stage)
	if m.Field != "" {
		line(w, "  field    %s", m.Field)
	}
	renderMessage(w, m)
}
