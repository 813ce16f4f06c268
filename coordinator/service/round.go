package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/riverqueue/river"

	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// The ledger entries of a round.
const (
	KindSealRequested   ledger.Kind = "seal_requested"
	KindSealed          ledger.Kind = "sealed"
	KindBlamed          ledger.Kind = "blamed"
	KindRoundReady      ledger.Kind = "round_ready"
	KindRoundStopped    ledger.Kind = "round_stopped"
	KindRoundSuperseded ledger.Kind = "round_superseded"
)

// story is what a round's row keeps beside its state: all that was tried, and what came of it.
type story struct {
	// RunsAfter is the latest run of a check that was recorded when the round was opened: each round tries again what came to no
	// verdict.
	RunsAfter ledger.VerdictID `json:"runs_after,omitzero"`

	Passes  []roundPass                 `json:"passes,omitempty"`
	Blames  []coordinator.RecordedBlame `json:"blames,omitempty"`
	Message string                      `json:"message,omitempty"`
}

// roundPass is one composition of the round's members, checked.
type roundPass struct {
	Members []coordinator.RoundCommit `json:"members"`
	Tree    git.OID                   `json:"tree"`
	Checks  []coordinator.Check       `json:"checks,omitempty"`
	Blame   *coordinator.BlameResult  `json:"blame,omitempty"`
	Runs    int                       `json:"runs,omitzero"` // questions of the search, asked or remembered
}

func storyOf(r ledger.Round) (*story, error) {
	s := &story{}
	if len(r.Data) == 0 {
		return s, nil
	}
	if err := json.Unmarshal(r.Data, s); err != nil {
		return nil, fmt.Errorf("read story of round %d: %w", r.Number, err)
	}
	return s, nil
}

// SealRequest asks for a round: of the patches named by keys, or of everything that is ready where none is named.
type SealRequest struct {
	Repo   string
	Target git.Ref
	Keys   []string
	By     Credential
}

// Seal opens a round: it records the admission cut and has the round sealed once everything before the cut has its plan.
func (s *Service) Seal(ctx context.Context, in SealRequest) (round *Round, err error) {
	defer away(&err)
	t, err := s.lookup(in.Repo, in.Target)
	if err != nil {
		return nil, err
	}
	var ids []ledger.Identity
	for _, key := range in.Keys {
		_, id, err := s.find(ctx, t.repo.name, t.ref, key)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	var number int64
	err = s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		row, err := tx.LockTarget(ctx, t.id)
		if err != nil {
			return err
		}
		if row.Paused || row.Draining {
			return errf(ErrStale, "target", "resume it first", "target %s takes no new rounds: it is paused", t.ref)
		}
		number, err = s.openRound(ctx, tx, row, ids, in.By.Name)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.Round(ctx, t.repo.name, t.ref, number)
}

func (s *Service) openRound(ctx context.Context, tx *ledger.Tx, row *ledger.Target, ids []ledger.Identity, by string) (int64, error) {
	latest, err := tx.LatestVerdict(ctx, row.Repository)
	if err != nil {
		return 0, err
	}
	r := ledger.Round{Status: ledger.RoundSealing, CutSeq: row.Version, Requested: ids, Credential: by}
	if err := saveStory(&r, func(st *story) { st.RunsAfter = latest }); err != nil {
		return 0, err
	}
	if r, err = tx.OpenRound(ctx, row, r); err != nil {
		return 0, err
	}
	if err := appendFact(ctx, tx, row, KindSealRequested, map[string]any{"round": r.Number, "cut": r.CutSeq, "requested": ids}, map[string]any{"credential": by}); err != nil {
		return 0, err
	}
	return r.Number, s.queueRound(ctx, tx, row.ID, r.Number)
}

// appendFact appends an entry that is true whatever the target's state.
func appendFact(ctx context.Context, tx *ledger.Tx, row *ledger.Target, kind ledger.Kind, payload, operational map[string]any) error {
	p, err := coordinator.Canonical(payload)
	if err != nil {
		return err
	}
	e := ledger.Entry{Kind: kind, Payload: p}
	if operational != nil {
		if e.Operational, err = coordinator.Canonical(operational); err != nil {
			return err
		}
	}
	_, err = tx.Append(ctx, row, ledger.Anything(), e)
	return err
}

func (s *Service) queueRound(ctx context.Context, tx *ledger.Tx, id ledger.TargetID, number int64) error {
	if _, err := s.jobs.InsertTx(ctx, tx.Pgx(), roundArgs{Target: int64(id), Number: number}, nil); err != nil {
		return fmt.Errorf("queue round: %w", err)
	}
	return nil
}

// queueRounds has every open round go on.
func (s *Service) queueRounds(ctx context.Context, tx *ledger.Tx, row *ledger.Target) error {
	rounds, err := tx.OpenRounds(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		if err := s.queueRound(ctx, tx, row.ID, r.Number); err != nil {
			return err
		}
	}
	return nil
}

// wakeRounds has the rounds that wait for the set looked at again.
func (s *Service) wakeRounds(ctx context.Context, tx *ledger.Tx, row *ledger.Target) error {
	rounds, err := tx.OpenRounds(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		if r.Status == ledger.RoundSealing {
			if err := s.queueRound(ctx, tx, row.ID, r.Number); err != nil {
				return err
			}
		}
	}
	return nil
}

// supersedeRounds ends the rounds that were composed on what is no longer so: those of other target commits when id is empty,
// else those with the patch as a member. What was intended to land is past that.
func (s *Service) supersedeRounds(ctx context.Context, tx *ledger.Tx, row *ledger.Target, id ledger.Identity, why string) error {
	rounds, err := tx.OpenRounds(ctx, row.ID)
	if err != nil {
		return err
	}
	for _, r := range rounds {
		switch {
		case r.Status == ledger.RoundSealing || r.Status == ledger.RoundLanding:
		case id == "" && r.TargetCommit == row.Commit:
		case id != "" && !slices.ContainsFunc(r.Members, func(m ledger.RoundMember) bool { return m.Identity == id && m.Status == "sealed" }):
		default:
			if err := supersede(ctx, tx, row, r, why); err != nil {
				return err
			}
		}
	}
	return nil
}

// supersede ends one round.
func supersede(ctx context.Context, tx *ledger.Tx, row *ledger.Target, r ledger.Round, why string) error {
	r.Status = ledger.RoundSuperseded
	if err := saveStory(&r, func(st *story) { st.Message = why }); err != nil {
		return err
	}
	if err := appendFact(ctx, tx, row, KindRoundSuperseded, map[string]any{"round": r.Number, "why": why}, nil); err != nil {
		return err
	}
	return tx.SaveRound(ctx, row, r)
}

func saveStory(r *ledger.Round, change func(*story)) error {
	st, err := storyOf(*r)
	if err != nil {
		return err
	}
	change(st)
	if r.Data, err = json.Marshal(st); err != nil {
		return fmt.Errorf("write story of round %d: %w", r.Number, err)
	}
	return nil
}

// roundArgs has a round go on from wherever it is.
type roundArgs struct {
	Target int64 `json:"target"`
	Number int64 `json:"number"`
}

// Kind implements river.JobArgs.
func (roundArgs) Kind() string { return "round" }

// InsertOpts implements river.JobArgsWithInsertOpts.
func (roundArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueRounds, MaxAttempts: maxAttempts}
}

// advance takes a round as far as it goes now. Steps are recorded one by one under the target's lock, so that a crash goes on
// from the last; a round has one job at work at a time in this process, and the guard notices another process's.
func (s *Service) advance(ctx context.Context, id ledger.TargetID, number int64, done complete) error {
	t, ok := s.byID(id)
	if !ok {
		return river.JobSnooze(elsewhere)
	}
	unlock, err := s.rounding.lock(ctx, roundKey{id, number})
	if err != nil {
		return err
	}
	defer unlock()
	for range maxStale {
		r, err := s.store.Round(ctx, id, number)
		if err != nil {
			return err
		}
		more, err := s.step(ctx, t, r)
		var stale *ledger.StaleError
		if errors.As(err, &stale) {
			continue
		}
		if err != nil {
			return err
		}
		if !more {
			return s.finish(ctx, done)
		}
	}
	return fmt.Errorf("round %d: the target keeps moving", number)
}

type roundKey struct {
	target ledger.TargetID
	number int64
}

// step does the next step of a round; false means that it waits for something else, or is over.
func (s *Service) step(ctx context.Context, t *target, r ledger.Round) (bool, error) {
	switch r.Status {
	case ledger.RoundSealing:
		return s.sealStep(ctx, t, r)
	case ledger.RoundComposing, ledger.RoundChecking, ledger.RoundBlaming:
		return true, s.testStep(ctx, t, r)
	case ledger.RoundReady:
		return false, s.autoLand(ctx, t, r)
	case ledger.RoundLanding:
		return false, s.landStep(ctx, t)
	case ledger.RoundLanded, ledger.RoundStopped, ledger.RoundSuperseded, ledger.RoundEmpty:
	}
	return false, nil
}

// inRound runs a write of a round's progress under the target's lock, as long as the round is where it was read.
func (s *Service) inRound(ctx context.Context, r ledger.Round, write func(context.Context, *ledger.Tx, *ledger.Target, ledger.Round) error) error {
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error {
		row, err := tx.LockTarget(ctx, r.Target)
		if err != nil {
			return err
		}
		now, err := tx.Round(ctx, r.Target, r.Number)
		if err != nil {
			return err
		}
		if now.Status != r.Status {
			return &ledger.StaleError{Target: r.Target, Version: row.Version, Inputs: row.Inputs, Commit: row.Commit, MovedWhat: "round"}
		}
		if err := write(ctx, tx, row, now); err != nil {
			return err
		}
		return s.wakeRounds(ctx, tx, row) // one that was opened later may wait for what came of this one
	})
}
