package coordinator

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"patchd/worktree/git"
)

// Inputs are T, S, R and V, and what is recorded of landings: everything that a state is a function of.
type Inputs struct {
	Target   git.OID
	Members  []Member
	Landings []Landing
	Rulings  Rulings
	Blames   []RecordedBlame
	// Verdicts gives V as far as a plan needs it.
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
}

// Judged is what a state rests on for one patch.
type Judged struct {
	Plan     *Plan     // nil for a patch that waits for the set
	Decision *Decision // nil while checks are due
	Status   *PatchStatus
	// Open are the cases that a person may settle with choose or accept: the patch and those that it contends with.
	Open []Case
	// Err says why the patch could not be decided, such as an object that is needed and absent: never a decision, and no
	// other patch's business.
	Err error
}

// States maps every member to what was judged of it.
type States map[Identity]*Judged

// State is f(T, S, R, V), from scratch: what it keeps between calls is cached by content. The members' order, labels and
// repeats change nothing.
func (e *Engine) State(ctx context.Context, in Inputs) (*State, States, error) {
	run := &stateRun{engine: e, in: in, out: States{}, members: map[Identity]Member{}}
	for _, m := range in.Members {
		run.members[m.Identity()] = m
	}
	if err := run.prepare(ctx); err != nil {
		return nil, nil, err
	}
	for level := range run.depth() {
		if err := run.judgeLevel(ctx, level); err != nil {
			return nil, nil, err
		}
		if err := run.contendAt(ctx, level); err != nil {
			return nil, nil, err
		}
	}
	s, err := run.publish(ctx)
	return s, run.out, err
}

// stateRun is one computation of a state.
type stateRun struct {
	engine  *Engine
	in      Inputs
	members map[Identity]Member
	links   *links
	bases   map[Identity][]git.OID
	level   map[Identity]int
	out     States
}

func (r *stateRun) ids() []Identity { return slices.Sorted(maps.Keys(r.members)) }

// prepare decides every member by itself first, so that it is known which are rejected, then looks up how they refer to
// each other.
func (r *stateRun) prepare(ctx context.Context) error {
	implicit, err := r.impliedByBases(ctx)
	if err != nil {
		return err
	}
	if err := r.planAlone(ctx); err != nil {
		return err
	}
	list := make([]Member, 0, len(r.members))
	for _, id := range r.ids() {
		if !r.out[id].rejected() { // what is rejected is not in S
			list = append(list, r.members[id])
		}
	}
	r.links = linkSet(list, r.in.Landings, implicit)
	r.level = map[Identity]int{}
	for _, id := range r.ids() {
		r.level[id] = r.depthOf(id)
	}
	return nil
}

// planAlone plans every member without its dependencies, several at once.
func (r *stateRun) planAlone(ctx context.Context) error {
	ids := r.ids()
	judged := make([]*Judged, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(runtime.GOMAXPROCS(0), 1))
	for i, id := range ids {
		group.Go(func() error {
			plan, err := r.engine.planCached(ctx, r.in.Target, r.members[id].Submission, r.circumstances(id, nil))
			if err != nil && ctx.Err() != nil {
				return err
			}
			judged[i] = &Judged{Plan: plan, Err: err, Status: &PatchStatus{Identity: id}}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i, id := range ids {
		r.out[id] = judged[i]
	}
	return nil
}

func (r *stateRun) depthOf(id Identity) int {
	d := 0
	for _, dep := range r.links.depends[id] {
		d = max(d, r.depthOf(dep)+1)
	}
	return d
}

func (r *stateRun) depth() int {
	d := 0
	for _, level := range r.level {
		d = max(d, level+1)
	}
	return d
}

func (r *stateRun) circumstances(id Identity, under []*Plan) Circumstances {
	c := Circumstances{Under: under, InSet: true, Rulings: r.in.Rulings, Bases: r.bases[id]}
	for _, l := range r.in.Landings {
		if l.Identity == id && !l.Counts {
			c.Reverted = true
		}
	}
	for _, l := range r.in.Landings {
		if l.Identity == id && l.Counts {
			c.Reverted = false
		}
	}
	return c
}

// judgeLevel decides the patches of one dependency level: those that depend on earlier levels only.
func (r *stateRun) judgeLevel(ctx context.Context, level int) error {
	for _, id := range r.ids() {
		if r.level[id] != level {
			continue
		}
		if err := r.judge(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

func (r *stateRun) judge(ctx context.Context, id Identity) error {
	j := r.out[id]
	if j.Err != nil {
		return nil
	}
	if by, gone := r.links.successor[id]; gone {
		j.Status.SupersededBy, j.Plan = by, nil
		return nil
	}
	if refusal := r.links.refused[id]; refusal != nil {
		return r.holdBack(id, refusal)
	}
	if closure := r.links.closure(id); len(closure) > 0 {
		under, blocked := r.foundation(closure)
		if len(blocked) > 0 {
			j.Status.BlockedBy = blocked
			return r.holdBack(id, &Refusal{Code: CodeBlockedBy, Value: string(blocked[0]), Message: fmt.Sprintf("dependency %s is no candidate", blocked[0].Short()), Hint: "resolve or withdraw it"})
		}
		plan, err := r.engine.planCached(ctx, r.in.Target, r.members[id].Submission, r.circumstances(id, under))
		if err != nil {
			j.Plan, j.Err = nil, err
			return ctx.Err()
		}
		j.Plan = plan
	}
	known, err := r.in.Verdicts(ctx, j.Plan)
	if err != nil {
		return fmt.Errorf("look up verdicts: %w", err)
	}
	decision, open, err := Conclude(j.Plan, known)
	if err != nil {
		return err
	}
	j.Decision, j.Status.Due = decision, len(open) > 0
	if j.Status.Due || j.candidate() {
		r.blame(id)
	}
	return nil
}

// holdBack makes a patch wait for the set: its record says for what.
func (r *stateRun) holdBack(id Identity, refusal *Refusal) error {
	j := r.out[id]
	j.Status.Waiting, j.Plan = refusal, nil
	d := newRecord(r.members[id].Submission, r.in.Target)
	d.wait(refusal)
	if err := d.sealPlan(); err != nil {
		return err
	}
	j.Decision = &d
	return d.SealDecision()
}

// rejected reports whether D rejected it for good.
func (j *Judged) rejected() bool { return j.Plan != nil && j.Plan.Decision.Outcome == OutcomeRejected }

// blame adds what rounds at this target found against a patch.
func (r *stateRun) blame(id Identity) {
	j := r.out[id]
	for _, b := range r.in.Blames {
		if b.Identity != id || b.Target != r.in.Target || slices.ContainsFunc(b.Subset, func(m Identity) bool { return r.out[m] == nil }) {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(b.Subset), func(m Identity) bool { return m == id })
		if len(others) == 0 {
			others = []Identity{""}
		}
		for _, other := range others {
			j.Status.Blame = append(j.Status.Blame, Reason{Class: ClassBehavioral, Code: b.Code, Command: b.Command, With: string(other)})
		}
	}
	slices.SortFunc(j.Status.Blame, compareReasons)
	j.Status.Blame = slices.CompactFunc(j.Status.Blame, func(a, b Reason) bool { return compareReasons(a, b) == 0 })
}

// foundation collects the plans of a closure, or the members of it that are no candidates.
func (r *stateRun) foundation(closure []Identity) (under []*Plan, blocked []Identity) {
	for _, id := range closure {
		if j := r.out[id]; !j.candidate() || len(j.Status.Contention) > 0 || len(j.Status.Blame) > 0 {
			blocked = append(blocked, id)
		} else {
			under = append(under, j.Plan)
		}
	}
	return under, blocked
}

// candidate reports whether D made it a candidate. A patch whose checks are due is none yet.
func (j *Judged) candidate() bool { return j.Decision != nil && j.Decision.Outcome == OutcomeCandidate }

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
	for _, id := range r.ids() {
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
