package coordinator

import (
	"context"
	"fmt"

	"patchd/worktree/git"
)

// Inputs are T, S, R and V, and what is recorded of landings: everything that a state is a function of.
type Inputs struct {
	Target   git.OID
	Members  []Member
	Landings []Landing
	Rulings  Rulings
	Blames   []RecordedBlame
	// Verdicts gives V as far as a plan needs it; nil where nothing was ever run.
	Verdicts func(context.Context, *Plan) (Verdicts, error)
	// Lookup gives a patch that is no member any more, such as one that has landed; nil where nobody knows it.
	Lookup func(context.Context, Identity) (*Submission, error)
}

// RecordedBlame is what a round found: a minimal failing subset at one target commit. It holds while the target is that commit
// and everybody in the subset is in the set; Wide says that the search could not clear the patch.
type RecordedBlame struct {
	Identity Identity   `json:"identity"`
	Target   git.OID    `json:"target"`
	Code     Code       `json:"code"`
	Command  string     `json:"command"`
	Subset   []Identity `json:"subset"`
	Wide     bool       `json:"wide,omitzero"`
}

// State is the record patchd/state/1: every pending patch's published state at one target commit.
type State struct {
	Schema      string        `json:"schema"`
	Target      TargetRecord  `json:"target"`
	Policy      Digest        `json:"policy_sha256,omitempty"`
	Patches     []PatchStatus `json:"patches"` // ascending by identity
	StateDigest Digest        `json:"state_digest,omitempty"`
}

// PatchStatus is one patch's published state. Due says that its plan is clean and a verdict is missing in V.
type PatchStatus struct {
	Identity       Identity   `json:"identity"`
	Outcome        Outcome    `json:"outcome,omitempty"` // empty while checks are due
	PlanDigest     Digest     `json:"plan_digest,omitempty"`
	DecisionDigest Digest     `json:"decision_digest,omitempty"`
	Due            bool       `json:"due,omitzero"`
	Contention     []Reason   `json:"contention,omitempty"` // each with the other's identity
	BlockedBy      []Identity `json:"blocked_by,omitempty"`
	SupersededBy   Identity   `json:"superseded_by,omitempty"`
	Waiting        *Refusal   `json:"waiting,omitempty"`  // of the set: dependencies, not of D
	Resolved       []Case     `json:"resolved,omitempty"` // contentions that people settled
	Blame          []Reason   `json:"blame,omitempty"`    // of rounds at this target
	Coupled        []Coupling `json:"coupled,omitempty"`  // evidence, with the other's identity
}

// Judged is what a state rests on for one patch.
type Judged struct {
	Plan     *Plan     // nil for a patch that waits for the set
	Decision *Decision // nil while checks are due
	Status   *PatchStatus
	// Asks are the verdicts that are missing in V, sorted. A patch can be due and ask nothing: it waits for the checks of what
	// it depends on.
	Asks []Question
	// Meets lists, ascending, whose clean plans this one's clean plan would contend with, once the verdicts are in that are
	// missing of one of the two. It is no part of the published state.
	Meets []Identity
	// Open is the case that a person may settle with choose: the patch and all that it contends with.
	Open []Case
	// Together are the cases that a person may settle with accept: the patch and one that it contends with, applied at once.
	Together []Case
	// sound says that the plan is clean and no verdict is against it, though some may be missing.
	sound bool
	// Err says why the patch could not be decided, such as an object that is needed and absent: never a decision, and no
	// other patch's business.
	Err error
}

// States maps every member to what was judged of it.
type States map[Identity]*Judged

// State is f(T, S, R, V), from scratch: what it keeps between calls is cached by content. The members' order, labels and
// repeats change nothing.
func (e *Engine) State(ctx context.Context, in Inputs) (*State, States, error) {
	run := newStateRun(e, in)
	if err := run.prepare(ctx); err != nil {
		return nil, nil, err
	}
	b, err := run.balance(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := run.conclude(ctx, b); err != nil {
		return nil, nil, err
	}
	s, err := run.publish(ctx)
	return s, run.out, err
}

// rejected reports whether D rejected it for good.
func (j *Judged) rejected() bool { return j.Plan != nil && j.Plan.Decision.Outcome == OutcomeRejected }

// publish writes the state's record.
func (r *stateRun) publish(ctx context.Context) (*State, error) {
	commit, err := r.engine.repo.ReadCommit(ctx, r.in.Target)
	if err != nil {
		return nil, fmt.Errorf("read target: %w", err)
	}
	raw, _, _, err := r.engine.policyIn(ctx, r.engine.repo, commit.Tree)
	if err != nil {
		return nil, err
	}
	s := &State{Schema: SchemaState, Target: TargetRecord{Commit: r.in.Target, Tree: commit.Tree}, Patches: []PatchStatus{}}
	if raw != nil {
		s.Policy = SHA256(raw)
	}
	for _, id := range r.ids {
		j := r.out[id]
		if j.publish(); j.rejected() {
			continue
		}
		row := *j.Status
		if row.Waiting != nil {
			row.Waiting = &Refusal{Code: row.Waiting.Code, Path: row.Waiting.Path, Line: row.Waiting.Line}
		}
		s.Patches = append(s.Patches, row)
	}
	s.StateDigest, err = DigestOf(s)
	return s, err
}

// publish sets a patch's outcome within the set from its own decision and the set's.
func (j *Judged) publish() {
	st := j.Status
	if j.Plan != nil {
		st.PlanDigest = j.Plan.Decision.PlanDigest
	}
	if j.Decision != nil {
		st.DecisionDigest = j.Decision.DecisionDigest
		st.Outcome = j.Decision.Outcome
	}
	switch {
	case st.SupersededBy != "":
		st.Outcome = ""
	case st.Waiting != nil:
		st.Outcome = OutcomeWaiting
	case len(st.Contention) > 0, len(st.Blame) > 0:
		st.Outcome = OutcomeConflict
	}
}
