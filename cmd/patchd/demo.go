package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"patchd/coordinator"
	"patchd/coordinator/api"
	"patchd/coordinator/api/client"
	"patchd/coordinator/service"
	"patchd/worktree/git"
)

type demoCmd struct{}

// Help says what is shown.
func (*demoCmd) Help() string {
	return `A disposable repository gets a commit A and three branches: P1 and P2 edit the function parseHeader, P3 edits another file.
P1 lands. P2 and P3 then go to two fresh daemons, each with its own PostgreSQL, in both orders. The table shows what was
decided and that every id is the same in both orders, and the same as the reference gives without a daemon. What is ready is
sealed as a round and landed. Nothing is left behind.

Examples:
  patchd demo
  patchd demo --json`
}

// demoDecision is what was decided about one patch in one run.
type demoDecision struct {
	Patch          string               `json:"patch"`
	Title          string               `json:"title"`
	Identity       coordinator.Identity `json:"identity"`
	Outcome        coordinator.Outcome  `json:"outcome"`
	Reasons        []string             `json:"reasons,omitempty"`
	Candidate      git.OID              `json:"candidate,omitempty"`
	Tree           git.OID              `json:"tree,omitempty"`
	PlanDigest     coordinator.Digest   `json:"plan_digest"`
	DecisionDigest coordinator.Digest   `json:"decision_digest"`
}

// demoRun is one order of arrival, or the reference.
type demoRun struct {
	Name      string         `json:"name"`
	Decisions []demoDecision `json:"decisions"`        // P2, P3, whatever the order of arrival
	Landed    git.OID        `json:"landed,omitempty"` // where main is after the round; the reference lands nothing
}

type demoDocument struct {
	GitVersion string    `json:"git_version"`
	Base       git.OID   `json:"base_commit"`
	Target     git.OID   `json:"target_commit"`
	Runs       []demoRun `json:"runs"`
	Agree      bool      `json:"agree"`
	Seconds    float64   `json:"seconds"`
}

// Run makes everything, watches it and takes it away again.
func (*demoCmd) Run(ctx context.Context, a *app) (err error) {
	start := a.clock()
	root, err := os.MkdirTemp("", "patchd-demo-")
	if err != nil {
		return fmt.Errorf("make demo directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(root)) }()
	runs := make([]demoRun, 3)
	orders := [][]string{{"P2", "P3"}, {"P3", "P2"}}
	a.say("making two disposable repositories and starting two daemons, each with its own PostgreSQL …")
	stop := a.progress("working")
	group, gctx := errgroup.WithContext(ctx)
	for i, order := range orders {
		group.Go(func() (err error) {
			runs[i], err = a.demoOrder(gctx, filepath.Join(root, fmt.Sprintf("order-%d", i+1)), order)
			return err
		})
	}
	doc := demoDocument{}
	group.Go(func() (err error) {
		runs[2], err = a.demoReference(gctx, filepath.Join(root, "reference"), &doc)
		return err
	})
	err = group.Wait()
	stop()
	if err != nil {
		return err
	}
	doc.Runs, doc.Agree = runs, demoAgrees(runs)
	doc.Seconds = a.clock().Sub(start).Round(10 * time.Millisecond).Seconds()
	if err := a.emit(doc, doc.render); err != nil {
		return err
	}
	if !doc.Agree {
		return &statusError{exitFailed, errors.New("the orders do not agree"), "this is a defect: please report it with the output of patchd demo --json"}
	}
	return nil
}

// demoAgrees reports whether every run decided the same, and every daemon landed the same.
func demoAgrees(runs []demoRun) bool {
	first, err := json.Marshal(runs[0].Decisions)
	if err != nil {
		return false
	}
	for _, r := range runs[1:] {
		other, err := json.Marshal(r.Decisions)
		if err != nil || string(other) != string(first) || r.Landed != "" && r.Landed != runs[0].Landed {
			return false
		}
	}
	return runs[0].Landed != ""
}

// prepareDemo makes a repository in which P1 has landed, and the changes of P2 and P3 from A.
func (a *app) prepareDemo(ctx context.Context, dir string) (demoCommits, map[string]*change, error) {
	commits, err := makeDemoRepository(ctx, dir)
	if err != nil {
		return commits, nil, err
	}
	repo, err := git.Open(ctx, dir, git.Options{Logger: a.log})
	if err != nil {
		return commits, nil, err
	}
	defer func() { _ = repo.Close() }()
	changes := map[string]*change{}
	for _, name := range []string{"P2", "P3"} {
		source := changeSource{repo: repo, dir: dir, base: commits.base, tip: commits.branches[name]}
		if changes[name], err = source.build(ctx, changeFlags{ID: name}); err != nil {
			return commits, nil, fmt.Errorf("make patch %s: %w", name, err)
		}
	}
	return commits, changes, landDemo(ctx, dir, commits)
}

// demoOrder feeds the patches in one order to a fresh daemon.
func (a *app) demoOrder(ctx context.Context, root string, order []string) (run demoRun, err error) {
	repo := filepath.Join(root, "parcel")
	_, changes, err := a.prepareDemo(ctx, repo)
	if err != nil {
		return run, err
	}
	quiet := *a
	quiet.globals = &globals{DataDir: filepath.Join(root, "data")}
	d := daemon{
		app: &quiet, dir: quiet.DataDir, ephemeral: true,
		repos: []service.RepoConfig{{Name: "parcel", Dir: repo, Targets: []git.Ref{"refs/heads/main"}}},
	}
	run.Name = strings.Join(order, " then ")
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	err = d.run(ctx, func(daemonInfo) error {
		defer stop()
		c, err := quiet.connect(0)
		if err != nil {
			return err
		}
		defer c.Close()
		if run.Decisions, err = feedDemo(ctx, c, order, changes); err != nil {
			return err
		}
		run.Landed, err = landReady(ctx, c)
		return err
	})
	return run, err
}

// feedDemo submits in order and waits for both decisions.
func feedDemo(ctx context.Context, c *client.Client, order []string, changes map[string]*change) ([]demoDecision, error) {
	identities := map[string]coordinator.Identity{}
	for _, name := range order {
		raw, err := changes[name].bytes()
		if err != nil {
			return nil, err
		}
		receipt, err := c.Submit(ctx, api.SubmitBody{Manifest: raw, Diff: changes[name].diff, Tool: "demo"}, false)
		if err != nil {
			return nil, fmt.Errorf("submit %s: %w", name, err)
		}
		if receipt.Refused != nil {
			return nil, fmt.Errorf("submit %s: %s", name, receipt.Refused.Message.Text)
		}
		identities[name] = receipt.Identity
	}
	var out []demoDecision
	for _, name := range []string{"P2", "P3"} {
		p, err := c.Wait(ctx, client.Place{}, identities[name])
		if err != nil {
			return nil, fmt.Errorf("wait for %s: %w", name, err)
		}
		if p.Decision == nil {
			return nil, fmt.Errorf("%s is %s without a decision", name, p.State)
		}
		out = append(out, demoDecisionOf(name, p.Title, p.Decision))
	}
	return out, nil
}

// landReady seals what is ready as a round and lands it.
func landReady(ctx context.Context, c *client.Client) (git.OID, error) {
	sealed, err := c.Seal(ctx, client.Place{}, nil)
	if err != nil {
		return "", fmt.Errorf("seal: %w", err)
	}
	for !sealed.Ready() {
		if sealed.Over() {
			return "", fmt.Errorf("round %d is %s: %s", sealed.Number, sealed.Status, sealed.Message)
		}
		if sealed, err = c.WaitRound(ctx, client.Place{}, sealed.Number, time.Minute); err != nil {
			return "", fmt.Errorf("wait for the round: %w", err)
		}
	}
	landed, err := c.Land(ctx, client.Place{}, sealed.Number)
	if err != nil {
		return "", fmt.Errorf("land: %w", err)
	}
	return landed.Head, nil
}

// demoReference decides both without a daemon.
func (a *app) demoReference(ctx context.Context, root string, doc *demoDocument) (run demoRun, err error) {
	dir := filepath.Join(root, "parcel")
	commits, changes, err := a.prepareDemo(ctx, dir)
	if err != nil {
		return run, err
	}
	repo, err := git.Open(ctx, dir, git.Options{Logger: a.log})
	if err != nil {
		return run, err
	}
	defer func() { err = errors.Join(err, repo.Close()) }()
	doc.GitVersion, doc.Base, doc.Target = repo.Version(), commits.base, commits.branches["P1"]
	run.Name = "patchd decide"
	for _, name := range []string{"P2", "P3"} {
		raw, err := changes[name].bytes()
		if err != nil {
			return run, err
		}
		s, err := coordinator.Admit(raw, changes[name].diff)
		if err != nil {
			return run, err
		}
		record, err := (&decideCmd{}).decide(ctx, a, repo, doc.Target, s)
		if err != nil {
			return run, err
		}
		run.Decisions = append(run.Decisions, demoDecisionOf(name, changes[name].manifest.Title, record))
	}
	return run, nil
}

func demoDecisionOf(name, title string, d *coordinator.Decision) demoDecision {
	out := demoDecision{
		Patch: name, Title: title, Identity: d.Patch.Identity, Outcome: d.Outcome, PlanDigest: d.PlanDigest, DecisionDigest: d.DecisionDigest,
	}
	if d.Candidate != nil && d.Outcome == coordinator.OutcomeCandidate {
		out.Candidate, out.Tree = d.Candidate.Commit, d.Candidate.Tree
	}
	if d.Conflict != nil {
		for _, r := range d.Conflict.Reasons {
			out.Reasons = append(out.Reasons, reasonText(r))
		}
	}
	return out
}
