package service

import (
	"context"
	"time"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// Round is a round with its whole story: who was in it, what was composed and checked, whom a failure was blamed on and on
// what evidence.
type Round struct {
	Number    int64                       `json:"number"`
	Repo      string                      `json:"repo"`
	Target    git.Ref                     `json:"target"`
	Status    string                      `json:"status"`
	Code      coordinator.Code            `json:"code,omitempty"`
	Message   string                      `json:"message,omitempty"`
	Cut       int64                       `json:"cut"` // the admission cut: a ledger entry
	Requested []coordinator.Identity      `json:"requested,omitempty"`
	On        git.OID                     `json:"target_commit,omitempty"`
	Head      git.OID                     `json:"head,omitempty"`
	Tree      git.OID                     `json:"tree,omitempty"`
	Members   []RoundMember               `json:"members"`
	Passes    []roundPass                 `json:"passes,omitempty"`
	Blames    []coordinator.RecordedBlame `json:"blames,omitempty"`
	By        string                      `json:"by"`
	CreatedAt time.Time                   `json:"created_at"`
	UpdatedAt time.Time                   `json:"updated_at"`
}

// RoundMember is one patch of a round. Status is sealed, blamed, queued (the search could not clear it), held (it depends on
// one of those) or landed.
type RoundMember struct {
	Identity coordinator.Identity `json:"identity"`
	Status   string               `json:"status"`
	Commit   git.OID              `json:"commit,omitempty"`
}

// Over reports whether nothing more happens to the round by itself.
func (r *Round) Over() bool {
	switch ledger.RoundStatus(r.Status) {
	case ledger.RoundLanded, ledger.RoundStopped, ledger.RoundSuperseded, ledger.RoundEmpty:
		return true
	case ledger.RoundSealing, ledger.RoundComposing, ledger.RoundChecking, ledger.RoundBlaming, ledger.RoundReady, ledger.RoundLanding:
	}
	return false
}

// Ready reports whether the round may land.
func (r *Round) Ready() bool { return ledger.RoundStatus(r.Status) == ledger.RoundReady }

// Round gives one round; number zero is the latest.
func (s *Service) Round(ctx context.Context, repo string, ref git.Ref, number int64) (round *Round, err error) {
	defer away(&err)
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	if number == 0 {
		list, err := s.store.ListRounds(ctx, t.id, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, errf(ErrNotFound, "round", "open one with `patchd seal`", "no round on %s yet", t.ref)
		}
		return describeRound(t, list[0])
	}
	r, err := s.store.Round(ctx, t.id, number)
	if err != nil {
		return nil, notFound(err, "no round %d", number)
	}
	return describeRound(t, r)
}

// Rounds lists a target's rounds, newest first, below number before (zero: from the newest).
func (s *Service) Rounds(ctx context.Context, repo string, ref git.Ref, before int64, limit int) (rounds []Round, err error) {
	defer away(&err)
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	if limit < 1 || limit > pageMax {
		return nil, errf(ErrInvalid, "limit", "", "limit %d is not between 1 and %d", limit, pageMax)
	}
	rows, err := s.store.ListRounds(ctx, t.id, before, limit)
	if err != nil {
		return nil, err
	}
	out := make([]Round, 0, len(rows))
	for _, row := range rows {
		r, err := describeRound(t, row)
		if err != nil {
			return nil, err
		}
		out = append(out, *r)
	}
	return out, nil
}

// WaitRound gives a round once it is ready or over.
func (s *Service) WaitRound(ctx context.Context, repo string, ref git.Ref, number int64) (*Round, error) {
	t, err := s.lookup(repo, ref)
	if err != nil {
		return nil, err
	}
	changed, done := s.hub.subscribe(t.id)
	defer done()
	for {
		r, err := s.Round(ctx, t.repo.name, t.ref, number)
		if err != nil || r.Ready() || r.Over() {
			return r, err
		}
		select {
		case <-ctx.Done():
			return r, ctx.Err()
		case <-changed:
		}
	}
}

func describeRound(t *target, r ledger.Round) (*Round, error) {
	st, err := storyOf(r)
	if err != nil {
		return nil, err
	}
	out := &Round{
		Number: r.Number, Repo: t.repo.name, Target: t.ref, Status: string(r.Status), Code: coordinator.Code(r.Code), Message: st.Message,
		Cut: int64(r.CutSeq), On: r.TargetCommit, Head: r.HeadCommit, Tree: r.Tree, Members: []RoundMember{}, Passes: st.Passes, Blames: st.Blames,
		By: r.Credential, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
	}
	for _, id := range r.Requested {
		out.Requested = append(out.Requested, coordinator.Identity(id))
	}
	for _, m := range r.Members {
		out.Members = append(out.Members, RoundMember{Identity: coordinator.Identity(m.Identity), Status: m.Status, Commit: m.Commit})
	}
	return out, nil
}

// Pause stops new rounds and landings of a target; drain lets what is open finish and takes nothing new. Resume ends both.
func (s *Service) Pause(ctx context.Context, by Credential, repo string, ref git.Ref, drain bool) (err error) {
	defer away(&err)
	return s.setPaused(ctx, by, repo, ref, !drain, drain)
}

// Resume takes rounds and landings again.
func (s *Service) Resume(ctx context.Context, by Credential, repo string, ref git.Ref) (err error) {
	defer away(&err)
	return s.setPaused(ctx, by, repo, ref, false, false)
}

func (s *Service) setPaused(ctx context.Context, by Credential, repo string, ref git.Ref, paused, draining bool) error {
	t, err := s.lookup(repo, ref)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		row, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		if row.Paused == paused && row.Draining == draining {
			return nil
		}
		kind := ledger.Kind("resumed")
		switch {
		case paused:
			kind = "paused"
		case draining:
			kind = "draining"
		}
		if err := appendFact(ctx, tx, row, kind, map[string]any{}, map[string]any{"credential": by.Name}); err != nil {
			return err
		}
		if err := tx.SetPaused(ctx, row, paused, draining); err != nil || paused {
			return err
		}
		return s.queueRounds(ctx, tx, row)
	})
}
