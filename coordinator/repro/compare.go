package repro

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"patchd/coordinator"
)

// judge compares what the runs come to: each with the plain run of its kind, and that one with the state from scratch.
type judge struct {
	patches   []Patch
	report    *Report
	reference func(context.Context, stage) (*State, error)
	plain     map[bool][]stage // by whether there is a seal between the admissions
	first     map[bool]run
}

func (j *judge) compare(ctx context.Context, r run, out []stage) error {
	if j.plain == nil {
		j.plain, j.first = map[bool][]stage{}, map[bool]run{}
	}
	for _, s := range out {
		if s.published != s.state.StateDigest {
			j.say("%s, %s: the published state has digest %s, worked out again it has %s", j.name(r), s.name, s.published, s.state.StateDigest)
		}
	}
	if r.plain {
		j.plain[r.barrier], j.first[r.barrier] = out, r
		if !r.barrier {
			j.note(out)
		}
		return j.fromScratch(ctx, r, out)
	}
	want := j.plain[r.barrier]
	for i := range max(len(want), len(out)) {
		if i >= len(want) || i >= len(out) {
			j.say("%s: %d rounds and looks, in %s there are %d", j.name(r), len(out), j.name(j.first[r.barrier]), len(want))
			return nil
		}
		if d := j.difference(out[i], want[i]); d != "" {
			j.say("%s, %s: %s (in %s)", j.name(r), out[i].name, d, j.name(j.first[r.barrier]))
			return nil
		}
	}
	return nil
}

// note takes the report's figures from the plain run.
func (j *judge) note(out []stage) {
	j.report.StateDigest = out[0].published
	for _, s := range out {
		if s.round != nil && s.round.tree != "" {
			j.report.Landed = append(j.report.Landed, s.round.tree)
		}
	}
}

// fromScratch compares each state with what the engine makes of the set alone.
func (j *judge) fromScratch(ctx context.Context, r run, out []stage) error {
	for _, s := range out {
		want, err := j.reference(ctx, s)
		if err != nil {
			return fmt.Errorf("work out the state from scratch: %w", err)
		}
		if d := j.states(s.state, want); d != "" {
			j.say("%s, %s: %s (from scratch)", j.name(r), s.name, d)
			return nil
		}
	}
	return nil
}

// say keeps the first difference.
func (j *judge) say(format string, args ...any) {
	if j.report.Difference == "" {
		j.report.Difference = fmt.Sprintf(format, args...)
	}
}

func (j *judge) name(r run) string {
	names := make([]string, len(r.order))
	for i, p := range r.order {
		names[i] = j.patches[p].Name
	}
	kind := "order"
	if r.barrier {
		kind = "order with a seal in between"
	}
	return fmt.Sprintf("%s %d (%s)", kind, r.number, strings.Join(names, " "))
}

// difference says what differs first between two looks; empty where nothing does.
func (j *judge) difference(got, want stage) string {
	if d := j.states(got.state, want.state); d != "" {
		return d
	}
	switch {
	case got.name != want.name:
		return fmt.Sprintf("this is %q instead of %q", got.name, want.name)
	case (got.round == nil) != (want.round == nil):
		return "there is a round in one of the two only"
	case got.round == nil:
		return ""
	case got.round.status != want.round.status:
		return fmt.Sprintf("the round came to %q instead of %q", got.round.status, want.round.status)
	case !slices.Equal(got.round.members, want.round.members):
		return fmt.Sprintf("the round holds %v instead of %v", j.shown(got.round.members), j.shown(want.round.members))
	case got.round.tree != want.round.tree:
		return fmt.Sprintf("the round composed tree %s instead of %s", got.round.tree, want.round.tree)
	case !slices.Equal(got.round.commits, want.round.commits):
		return fmt.Sprintf("the round composed commits %v instead of %v", got.round.commits, want.round.commits)
	}
	return ""
}

func (j *judge) states(got, want *State) string {
	if got.StateDigest == want.StateDigest {
		return ""
	}
	if got.Target.Commit != want.Target.Commit {
		return fmt.Sprintf("the target is %s instead of %s", got.Target.Commit, want.Target.Commit)
	}
	for _, p := range got.Patches {
		i := slices.IndexFunc(want.Patches, func(x coordinator.PatchStatus) bool { return x.Identity == p.Identity })
		if i < 0 {
			return fmt.Sprintf("patch %s is pending", j.shownOne(p.Identity))
		}
		if d := statuses(p, want.Patches[i]); d != "" {
			return fmt.Sprintf("patch %s %s", j.shownOne(p.Identity), d)
		}
	}
	for _, p := range want.Patches {
		if !slices.ContainsFunc(got.Patches, func(x coordinator.PatchStatus) bool { return x.Identity == p.Identity }) {
			return fmt.Sprintf("patch %s is not pending", j.shownOne(p.Identity))
		}
	}
	return fmt.Sprintf("the state's digest is %s instead of %s", got.StateDigest, want.StateDigest)
}

// statuses says what differs first between two statuses of one patch.
func statuses(got, want coordinator.PatchStatus) string {
	switch {
	case got.Outcome != want.Outcome:
		return fmt.Sprintf("is %q instead of %q", got.Outcome, want.Outcome)
	case got.PlanDigest != want.PlanDigest:
		return fmt.Sprintf("has plan digest %s instead of %s", got.PlanDigest, want.PlanDigest)
	case got.DecisionDigest != want.DecisionDigest:
		return fmt.Sprintf("has decision digest %s instead of %s", got.DecisionDigest, want.DecisionDigest)
	case got.SupersededBy != want.SupersededBy:
		return fmt.Sprintf("is superseded by %q instead of %q", got.SupersededBy, want.SupersededBy)
	case fmt.Sprint(got.Contention) != fmt.Sprint(want.Contention):
		return fmt.Sprintf("contends for %v instead of %v", got.Contention, want.Contention)
	case fmt.Sprint(got.Blame) != fmt.Sprint(want.Blame):
		return fmt.Sprintf("is blamed for %v instead of %v", got.Blame, want.Blame)
	}
	a, _ := coordinator.Canonical(got) // both were digested before
	b, _ := coordinator.Canonical(want)
	if string(a) != string(b) {
		return fmt.Sprintf("has status %s instead of %s", a, b)
	}
	return ""
}

func (j *judge) shown(ids []coordinator.Identity) []string {
	out := make([]string, len(ids))
	for i, id := range ids {
		out[i] = j.shownOne(id)
	}
	return out
}

func (j *judge) shownOne(id coordinator.Identity) string {
	i := slices.IndexFunc(j.patches, func(p Patch) bool { return p.identity == id })
	if i < 0 {
		return id.Short()
	}
	return fmt.Sprintf("%q (%s)", j.patches[i].Name, id.Short())
}
