package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// admittedEntries is how many patches of a target are kept in memory as they were admitted.
const admittedEntries = 1024

// set is everything that the published state of a target is a function of, as the ledger has it, and that state.
type set struct {
	target  *target
	row     ledger.Target
	version ledger.Seq                       // of the chain when it was read
	cut     ledger.Seq                       // of what S and R are read; zero: as they are
	extra   ledger.Identity                  // a patch that is looked at as if it were pending
	patches map[ledger.Identity]ledger.Patch // pending ones
	labels  map[ledger.Identity][]string
	known   *knownVerdicts
	state   *coordinator.State
	states  coordinator.States
}

// loadSet reads T, S, R and V, and works out f of them.
func (s *Service) loadSet(ctx context.Context, t *target, row ledger.Target) (*set, error) {
	return s.readSet(ctx, &set{target: t, row: row})
}

// loadSetAt is loadSet with S and R as they were at an entry, so that what came later changes nothing; zero is now.
func (s *Service) loadSetAt(ctx context.Context, t *target, row ledger.Target, cut ledger.Seq) (*set, error) {
	return s.readSet(ctx, &set{target: t, row: row, cut: cut})
}

func (s *Service) readSet(ctx context.Context, out *set) (*set, error) {
	t := out.target
	out.patches = map[ledger.Identity]ledger.Patch{}
	var in coordinator.Inputs
	err := s.store.Snapshot(ctx, func(ctx context.Context, q ledger.Queries) error {
		now, err := q.Target(ctx, t.id)
		if err != nil {
			return err
		}
		out.version = now.Version
		if err := out.readPatches(ctx, q); err != nil {
			return err
		}
		in, err = s.inputs(ctx, q, out)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the pending set: %w", err)
	}
	out.known = &knownVerdicts{verdicts: coordinator.Verdicts{}, evidence: map[coordinator.Question][]coordinator.CheckEvidence{}}
	in.Verdicts = func(ctx context.Context, p *coordinator.Plan) (coordinator.Verdicts, error) {
		if err := s.addVerdicts(ctx, out, p); err != nil {
			return nil, err
		}
		return out.known.verdicts, nil
	}
	if out.state, out.states, err = t.repo.engine.State(ctx, in); err != nil {
		return nil, fmt.Errorf("work out the state: %w", err)
	}
	return out, nil
}

func (p *set) readPatches(ctx context.Context, q ledger.Queries) (err error) {
	var rows []ledger.Patch
	if p.cut > 0 {
		rows, err = q.PatchesAt(ctx, p.target.id, p.cut)
	} else {
		rows, err = q.PendingPatches(ctx, p.target.id)
	}
	if err != nil {
		return err
	}
	if p.extra != "" {
		row, err := q.Patch(ctx, p.target.id, p.extra)
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	for _, row := range rows {
		p.patches[row.Identity] = row
	}
	if p.cut > 0 {
		p.labels, err = q.LabelsAt(ctx, p.target.id, p.cut)
	} else {
		p.labels, err = q.Labels(ctx, p.target.id)
	}
	return err
}

func (s *Service) inputs(ctx context.Context, q ledger.Queries, out *set) (coordinator.Inputs, error) {
	t := out.target
	in := coordinator.Inputs{Target: out.row.Commit, Lookup: func(ctx context.Context, id coordinator.Identity) (*coordinator.Submission, error) {
		return s.anySubmission(ctx, t, ledger.Identity(id))
	}}
	subs, err := s.submissions(ctx, q, t, out.patches)
	if err != nil {
		return in, err
	}
	for _, sub := range subs {
		m := coordinator.Member{Submission: sub}
		for _, label := range out.labels[ledger.Identity(sub.Identity)] {
			m.Labels = append(m.Labels, coordinator.PatchID(label))
		}
		in.Members = append(in.Members, m)
	}
	if in.Landings, err = s.landings(ctx, q, out); err != nil {
		return in, err
	}
	if in.Rulings, err = rulings(ctx, q, t.id, out.cut); err != nil {
		return in, err
	}
	in.Blames, err = blames(ctx, q, t.id, out.row.Commit)
	return in, err
}

// submissions gives the patches as they were admitted, from memory where they were read before.
func (s *Service) submissions(ctx context.Context, q ledger.Queries, t *target, patches map[ledger.Identity]ledger.Patch) ([]*coordinator.Submission, error) {
	var out []*coordinator.Submission
	var missing []ledger.Identity
	for id := range patches {
		if sub, ok := t.admitted.Get(id); ok {
			out = append(out, sub)
		} else {
			missing = append(missing, id)
		}
	}
	slices.Sort(missing)
	manifests, err := q.Manifests(ctx, t.id, missing)
	if err != nil {
		return nil, err
	}
	for _, id := range missing {
		diff, err := q.Content(ctx, patches[id].Diff)
		if err != nil {
			return nil, err
		}
		sub, err := coordinator.Admit(manifests[id], diff)
		if err != nil {
			return nil, fmt.Errorf("read patch %s as recorded: %w", id, err)
		}
		t.admitted.Add(id, sub)
		out = append(out, sub)
	}
	return out, nil
}

// anySubmission gives a patch whatever became of it; nil where none was ever admitted.
func (s *Service) anySubmission(ctx context.Context, t *target, id ledger.Identity) (*coordinator.Submission, error) {
	if sub, ok := t.admitted.Get(id); ok {
		return sub, nil
	}
	p, err := s.store.Patch(ctx, t.id, id)
	if err != nil {
		var missing *ledger.NotFoundError
		if errors.As(err, &missing) {
			return nil, nil //nolint:nilnil // nobody knows it
		}
		return nil, err
	}
	subs, err := s.submissions(ctx, s.store.Queries, t, map[ledger.Identity]ledger.Patch{id: p})
	if err != nil {
		return nil, err
	}
	return subs[0], nil
}

// landings lists what has landed; a landing counts while its commit is an ancestor of the target.
func (s *Service) landings(ctx context.Context, q ledger.Queries, out *set) ([]coordinator.Landing, error) {
	var list []coordinator.Landing
	for from := ledger.Seq(1); ; {
		rows, err := q.Landings(ctx, out.target.id, from, pageMax)
		if err != nil {
			return nil, err
		}
		for _, l := range rows {
			from = l.Seq + 1
			counts, err := out.target.repo.git.IsAncestor(ctx, l.New, out.row.Commit)
			if err != nil {
				return nil, fmt.Errorf("look at landing %d: %w", l.Seq, err)
			}
			for _, id := range l.Identities {
				replaced, err := s.replaced(ctx, q, out.target, id)
				if err != nil {
					return nil, err
				}
				x := coordinator.Landing{Identity: coordinator.Identity(id), Commit: string(l.New), Counts: counts, Supersedes: replaced}
				for _, label := range out.labels[id] {
					x.Labels = append(x.Labels, coordinator.PatchID(label))
				}
				list = append(list, x)
			}
		}
		if len(rows) < pageMax {
			return list, nil
		}
	}
}

// replaced lists what a landed patch's manifest says that it supersedes.
func (s *Service) replaced(ctx context.Context, q ledger.Queries, t *target, id ledger.Identity) ([]string, error) {
	if sub, ok := t.admitted.Get(id); ok {
		return sub.Manifest.Supersedes, nil
	}
	p, err := q.Patch(ctx, t.id, id)
	if err != nil || len(p.Supersedes) == 0 {
		return nil, err
	}
	return p.Supersedes, nil
}

// rulings reads R as far as decisions look it up, up to the entry cut unless that is zero.
func rulings(ctx context.Context, q ledger.Queries, id ledger.TargetID, cut ledger.Seq) (coordinator.Rulings, error) {
	rows, err := q.AllResolutions(ctx, id, []string{
		string(coordinator.ActionAccept), string(coordinator.ActionApprove), string(coordinator.ActionChoose), string(coordinator.ActionReopen),
	})
	if err != nil {
		return nil, err
	}
	var out coordinator.Rulings
	for _, r := range rows {
		if cut > 0 && r.Seq > cut {
			break
		}
		out = append(out, coordinator.Resolution{
			Action: coordinator.Action(r.Action), Identity: coordinator.Identity(r.Identity), Case: coordinator.SHA256(r.Binding),
		})
	}
	return out, nil
}

// blames reads what rounds at a target commit found against patches.
func blames(ctx context.Context, q ledger.Queries, id ledger.TargetID, commit git.OID) ([]coordinator.RecordedBlame, error) {
	rounds, err := q.RoundsAt(ctx, id, commit)
	if err != nil {
		return nil, err
	}
	var out []coordinator.RecordedBlame
	for _, r := range rounds {
		story, err := storyOf(r)
		if err != nil {
			return nil, err
		}
		out = append(out, story.Blames...)
	}
	return out, nil
}

// addVerdicts reads what is recorded for the checks of a plan, on its tree and on the target's.
func (s *Service) addVerdicts(ctx context.Context, out *set, plan *coordinator.Plan) error {
	if !plan.Due() {
		return nil
	}
	known, err := s.verdicts(ctx, &work{target: out.target, row: out.row, patch: out.patches[ledger.Identity(plan.Identity())]}, plan)
	if err != nil {
		return err
	}
	out.known.add(known)
	return nil
}

// statusBytes is a patch's published status as its row keeps it.
func statusBytes(st *coordinator.PatchStatus) (json.RawMessage, error) {
	b, err := coordinator.Canonical(st)
	return b, err
}
