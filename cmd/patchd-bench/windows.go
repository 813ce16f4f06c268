package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"patchd/cmd/patchd-bench/internal/history"
	"patchd/cmd/patchd-bench/internal/measure"
	"patchd/coordinator"
)

type windowsCmd struct {
	Repos   []string `arg:"" name:"repo" type:"existingdir" help:"Repositories whose history gives the patches."`
	Size    int      `default:"8" help:"How many consecutive commits are taken as if they were pending at once."`
	Windows int      `default:"30" help:"How many windows of each repository, the newest first."`
	Skip    int      `default:"0" help:"How many commits before HEAD the newest window ends."`
	Union   []string `sep:"none" placeholder:"GLOB" help:"Count again with these files as union paths (merge.union); repeat for more."`
}

// Help says what is counted.
func (*windowsCmd) Help() string {
	return `Consecutive commits of the first-parent chain are taken as patches on the commit before the first of them, all pending at once, and
the state of the set is worked out. A commit that git cannot carry to that base edits lines that an earlier one of its window wrote: with
patchd its author would have named that patch in depends_on. The others contend or do not. With --union the same is counted under a policy
that names these files.`
}

// windowsReport is what came of one repository under one policy.
type windowsReport struct {
	Repo      string         `json:"repo"`
	Union     []string       `json:"union,omitempty"`
	Windows   int            `json:"windows"`
	Patches   int            `json:"patches"`
	Builds    int            `json:"builds_on_another"` // git cannot carry it to the base
	Contended int            `json:"contended"`
	Alone     int            `json:"reviewed_alone"` // not a candidate even by itself
	Free      int            `json:"free"`
	ByCode    map[string]int `json:"contended_by_code"`
	ByFile    map[string]int `json:"contended_by_file"` // where nothing but one file is at stake: how often which
	StateMS   float64        `json:"state_ms_median"`
	times     measure.Sample
}

// Run counts each repository once, and once more under the union policy.
func (c *windowsCmd) Run(ctx context.Context, b *bench) error {
	var reports []*windowsReport
	for _, dir := range c.Repos {
		policies := [][]string{nil}
		if len(c.Union) > 0 {
			policies = append(policies, c.Union)
		}
		for _, union := range policies {
			r, err := c.repository(ctx, b, dir, union)
			if err != nil {
				return fmt.Errorf("count %s: %w", dir, err)
			}
			reports = append(reports, r)
		}
	}
	return b.emit(reports, func(w io.Writer) { renderWindows(w, reports) })
}

func (c *windowsCmd) repository(ctx context.Context, b *bench, dir string, union []string) (r *windowsReport, err error) {
	s, err := b.open(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	b.say("%s: counting %d windows of %d commits", s.Name, c.Windows, c.Size)
	windows, err := history.Windows(ctx, s.Scratch, s.repo, history.WindowOptions{Size: c.Size, N: c.Windows, Skip: c.Skip, Policy: policyFile(union)})
	if err != nil {
		return nil, err
	}
	r = &windowsReport{Repo: s.Name, Union: union, Windows: len(windows), ByCode: map[string]int{}, ByFile: map[string]int{}}
	for _, w := range windows {
		r.Patches += len(w.Picks) + w.Builds
		r.Builds += w.Builds
		if err := r.judge(ctx, b, s, w); err != nil {
			return nil, err
		}
	}
	r.StateMS = measure.Milliseconds(r.times.Median())
	return r, nil
}

// policyFile is a policy that names union paths; nothing for none.
func policyFile(union []string) []byte {
	if len(union) == 0 {
		return nil
	}
	var b bytes.Buffer
	b.WriteString("version: 1\nmerge:\n  union:\n")
	for _, glob := range union {
		fmt.Fprintf(&b, "    - %q\n", glob)
	}
	return b.Bytes()
}

// judge works out the state of one window's patches.
func (r *windowsReport) judge(ctx context.Context, b *bench, s *stand, w history.Window) error {
	members, err := membersOf(w.Picks)
	if err != nil {
		return err
	}
	start := b.clock()
	_, states, err := s.engine.State(ctx, coordinator.Inputs{Target: w.Base, Members: members})
	if err != nil {
		return fmt.Errorf("work out state at %s: %w", w.Base, err)
	}
	r.times = append(r.times, b.clock().Sub(start))
	for _, m := range members {
		j := states[m.Identity()]
		switch {
		case len(j.Status.Contention) > 0:
			r.Contended++
			r.tally(j.Status.Contention)
		case j.Status.Outcome == coordinator.OutcomeCandidate || j.Status.Due:
			r.Free++
		default:
			r.Alone++
		}
	}
	return nil
}

// tally counts a patch's reasons once each, and the file where only one is concerned.
func (r *windowsReport) tally(reasons []coordinator.Reason) {
	codes, files := map[coordinator.Code]bool{}, map[string]bool{}
	for _, x := range reasons {
		codes[x.Code], files[x.Path] = true, true
	}
	for code := range codes {
		r.ByCode[string(code)]++
	}
	if len(files) == 1 {
		r.ByFile[reasons[0].Path]++
	}
}

func membersOf(picks []history.Pick) ([]coordinator.Member, error) {
	trials, err := ready(picks)
	if err != nil {
		return nil, err
	}
	var members []coordinator.Member
	for i := range trials {
		submission, err := coordinator.Admit(trials[i].manifest, trials[i].Diff)
		if err != nil {
			return nil, err
		}
		members = append(members, coordinator.Member{Submission: submission})
	}
	return members, nil
}

func renderWindows(w io.Writer, reports []*windowsReport) {
	rows := [][]string{{"repository", "union paths", "windows", "commits", "build on another", "contend", "review alone", "free", "touch another's lines", "ms/state"}}
	for _, r := range reports {
		union := "none"
		if len(r.Union) > 0 {
			union = fmt.Sprint(r.Union)
		}
		rows = append(rows, []string{
			r.Repo, union, strconv.Itoa(r.Windows), strconv.Itoa(r.Patches), strconv.Itoa(r.Builds), strconv.Itoa(r.Contended), strconv.Itoa(r.Alone),
			strconv.Itoa(r.Free), percent(r.Builds+r.Contended, r.Patches), measure.Format(r.StateMS),
		})
	}
	table(w, rows)
	for _, r := range reports {
		line(w, "%s: contention by code %s; only in one file: %s", r.Repo, counts(r.ByCode), counts(most(r.ByFile)))
	}
}

// most keeps what was counted more than once.
func most(tally map[string]int) map[string]int {
	out := map[string]int{}
	for k, n := range tally {
		if n > 1 {
			out[k] = n
		}
	}
	return out
}
