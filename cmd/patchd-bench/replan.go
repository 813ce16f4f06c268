package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/coordinator"
	"patchd/worktree/git"
)

type replanCmd struct {
	Repo string `arg:"" type:"existingdir" help:"The repository whose history gives the patches."`
	N    int    `name:"n" default:"300" help:"How many patches are pending."`
	Back int    `default:"3000" help:"The target lies so many commits before HEAD; patches are made of later commits."`
	Move int    `default:"5" help:"How many times the target moves by one commit."`

	CPUProfile string `name:"cpuprofile" type:"path" placeholder:"FILE" help:"Write a CPU profile of the moves."`
}

// Help says what is measured.
func (*replanCmd) Help() string {
	return `The state of a set of pending patches is worked out at a target, and again each time the target moves on by one commit of the real
history: every patch is planned anew and compared with the others. No check is run.`
}

// replanDocument is the whole answer.
type replanDocument struct {
	Repo    string         `json:"repo"`
	Pending int            `json:"pending"`
	FirstMS float64        `json:"first_state_ms"` // with an engine that knows nothing
	AgainMS float64        `json:"same_target_ms"` // nothing changed
	Moved   []float64      `json:"moved_ms"`       // the target moved by one commit
	Git     []int64        `json:"git_processes"`  // started for each of the moves
	Memory  measure.Memory `json:"memory"`
}

// Run measures.
func (c *replanCmd) Run(ctx context.Context, b *bench) (err error) {
	s, err := b.open(ctx, c.Repo)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	trials, err := b.stream(ctx, s, c.N, c.Back+c.Move)
	if err != nil {
		return err
	}
	if err := s.renew(ctx, b); err != nil {
		return err
	}
	var members []coordinator.Member
	for i := range trials {
		submission, err := coordinator.Admit(trials[i].manifest, trials[i].Diff)
		if err != nil {
			return err
		}
		members = append(members, coordinator.Member{Submission: submission})
	}
	targets, err := s.after(ctx, trials[0].Target, c.Move)
	if err != nil {
		return err
	}
	doc := &replanDocument{Repo: s.Name, Pending: len(members)}
	b.say("%s: %d pending patches, the target moves %d times", s.Name, len(members), len(targets))
	if doc.FirstMS, err = b.state(ctx, s, trials[0].Target, members); err != nil {
		return err
	}
	if doc.AgainMS, err = b.state(ctx, s, trials[0].Target, members); err != nil {
		return err
	}
	stop, err := profile(c.CPUProfile, "")
	if err != nil {
		return err
	}
	defer stop()
	for _, target := range targets {
		before := s.repo.Processes()
		took, err := b.state(ctx, s, target, members)
		if err != nil {
			return err
		}
		doc.Moved, doc.Git = append(doc.Moved, took), append(doc.Git, s.repo.Processes()-before)
	}
	if doc.Memory, err = measure.MemoryOf(os.Getpid()); err != nil {
		return err
	}
	return b.emit(doc, func(w io.Writer) {
		line(w, "%s: %d pending patches: first state %s ms, again %s ms", doc.Repo, doc.Pending, measure.Format(doc.FirstMS), measure.Format(doc.AgainMS))
		for i, ms := range doc.Moved {
			line(w, "target moved: %s ms, %d git processes", measure.Format(ms), doc.Git[i])
		}
	})
}

// state works out the state and gives how long it took, in milliseconds.
func (b *bench) state(ctx context.Context, s *stand, target git.OID, members []coordinator.Member) (float64, error) {
	start := b.clock()
	_, _, err := s.engine.State(ctx, coordinator.Inputs{Target: target, Members: members})
	if err != nil {
		return 0, fmt.Errorf("work out state at %s: %w", target, err)
	}
	return measure.Milliseconds(b.clock().Sub(start)), nil
}

// after lists the n commits that follow one on the first-parent chain of HEAD, the nearest first.
func (s *stand) after(ctx context.Context, from git.OID, n int) ([]git.OID, error) {
	out, err := s.Git.Output(ctx, "rev-list", "--first-parent", "--reverse", string(from)+".."+string(s.Head))
	if err != nil {
		return nil, fmt.Errorf("list later commits: %w", err)
	}
	var later []git.OID
	for id := range strings.FieldsSeq(string(out)) {
		if len(later) == n {
			break
		}
		later = append(later, git.OID(id))
	}
	return later, nil
}
