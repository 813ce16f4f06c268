package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"patchd/checks"
	"patchd/coordinator"
	"patchd/coordinator/ledger"
	"patchd/worktree/git"
)

// KindResolution is the ledger entry of what a person did about a record.
const KindResolution ledger.Kind = "resolution"

// ResolveRequest is an action on an open record. ExpectedVersion is the ledger entry of the decision that was read; an action
// on a record that has changed since is refused.
type ResolveRequest struct {
	By              Credential
	Repo            string
	Target          git.Ref
	Key             string
	Action          coordinator.Action
	ExpectedVersion int64
	With            []string // choose: those that stay; accept: the other patch of a contended pair
	Command         string   // accept: a command without a verdict
	Tree            git.OID  // accept: the result tree that was looked at
	Why             string
}

// Resolve records what a person did and has the state worked out again.
func (s *Service) Resolve(ctx context.Context, in ResolveRequest) (resolved *Patch, err error) {
	defer away(&err)
	t, id, err := s.find(ctx, in.Repo, in.Target, in.Key)
	if err != nil {
		return nil, err
	}
	if in.Why == "" {
		return nil, errf(ErrInvalid, "why", "say why in a sentence: it is kept with your name", "a resolution needs a reason")
	}
	for range maxStale {
		err = s.resolve(ctx, in, t, id)
		stale := (*ledger.StaleError)(nil)
		switch {
		case err == nil:
			return s.patch(ctx, t, id)
		case !errors.As(err, &stale):
			return nil, err
		}
	}
	return nil, errf(ErrStale, "", "try again", "the set keeps changing: %v", err)
}

// resolve records an action against the set as it is now, or fails with *ledger.StaleError when that changed meanwhile. Whether the
// record is still the one that was read is what ExpectedVersion says.
func (s *Service) resolve(ctx context.Context, in ResolveRequest, t *target, id ledger.Identity) error {
	row, err := s.observe(ctx, t)
	if err != nil {
		return err
	}
	patch, err := s.store.Patch(ctx, t.id, id)
	if err != nil {
		return err
	}
	looked := &set{target: t, row: row}
	if in.Action == coordinator.ActionReopen && patch.Disposition == ledger.Landed {
		looked.extra = id
	}
	pending, err := s.readSet(ctx, looked)
	if err != nil {
		return err
	}
	r := &resolving{service: s, in: in, target: t, id: id, was: patch, pending: pending}
	binding, err := r.bind(ctx)
	if err != nil {
		return err
	}
	return s.store.InTx(ctx, func(ctx context.Context, tx *ledger.Tx) error { return r.record(ctx, tx, row, binding) })
}

// resolving is one action on its way into the ledger.
type resolving struct {
	service *Service
	in      ResolveRequest
	target  *target
	id      ledger.Identity
	was     ledger.Patch
	pending *set
}

// bind finds the case that the action is about; an action that fits no open case is refused.
func (r *resolving) bind(ctx context.Context) (coordinator.Case, error) {
	j := r.pending.states[coordinator.Identity(r.id)]
	none := coordinator.Case{Identities: []coordinator.Identity{coordinator.Identity(r.id)}}
	switch r.in.Action {
	case coordinator.ActionComment, coordinator.ActionReject:
		return none, nil
	case coordinator.ActionSubmit:
		return none, errf(ErrInvalid, "action", "submit a patch that names this one under supersedes", "submit is a submission of its own")
	case coordinator.ActionAccept, coordinator.ActionApprove, coordinator.ActionChoose, coordinator.ActionReopen:
	default:
		return none, errf(ErrInvalid, "action", "use accept, choose, approve, reject, reopen or comment", "action %q is unknown", r.in.Action)
	}
	if r.in.Action == coordinator.ActionReopen && r.was.Disposition == ledger.Rejected {
		if r.was.Outcome == string(coordinator.OutcomeRejected) {
			return none, errf(ErrStale, "action", "submit a corrected patch", "patch %s is rejected for good: %s", r.id, r.was.Code)
		}
		return none, nil // what a person rejected
	}
	if j == nil || j.Err != nil {
		return none, errf(ErrStale, "key", "see `patchd show`", "patch %s is not open", r.id)
	}
	switch {
	case r.in.Action == coordinator.ActionAccept && r.in.Command != "":
		return none, r.acceptable(j)
	case r.in.Action == coordinator.ActionChoose:
		return r.bindChoose(ctx, j)
	case r.in.Action == coordinator.ActionAccept && len(r.in.With) > 0:
		return r.bindPair(ctx, j)
	}
	return r.bindOwn(j)
}

// bindOwn is the mechanical merge of the patch's own conflict, or an owner's approval.
func (r *resolving) bindOwn(j *coordinator.Judged) (coordinator.Case, error) {
	if j.Plan == nil {
		return coordinator.Case{}, errf(ErrStale, "key", "see `patchd show`", "patch %s waits for the set", r.id)
	}
	c, ok := j.Plan.CaseFor(r.in.Action)
	if !ok {
		return c, errf(ErrStale, "action", "see `patchd show` for what is open", "there is nothing to %s on patch %s", r.in.Action, r.id)
	}
	if r.in.Action == coordinator.ActionAccept && r.in.Tree != "" && r.in.Tree != j.Plan.Tree {
		return c, errf(ErrStale, "tree", "look at the present merge first", "the result tree is %s, not %s", j.Plan.Tree, r.in.Tree)
	}
	if r.in.Action == coordinator.ActionApprove {
		return c, r.mayApprove(j)
	}
	return c, nil
}

// mayApprove holds the credential against the approvers that the owner rules name.
func (r *resolving) mayApprove(j *coordinator.Judged) error {
	if r.in.By.Has(ScopeAdmin) {
		return nil
	}
	for _, x := range j.Plan.Decision.Conflict.Reasons {
		if x.Code == coordinator.CodeOwnerApproval && len(x.Approvers) > 0 && !slices.Contains(x.Approvers, r.in.By.Name) {
			return errf(ErrForbidden, "action", "one of them must approve", "%q is approved by %v, not by %q", x.Path, x.Approvers, r.in.By.Name)
		}
	}
	return nil
}

func (r *resolving) bindChoose(ctx context.Context, j *coordinator.Judged) (coordinator.Case, error) {
	if len(j.Open) == 0 {
		return coordinator.Case{}, errf(ErrStale, "action", "see `patchd show`", "patch %s contends with nobody", r.id)
	}
	c := j.Open[0]
	if len(r.in.With) > 0 {
		var named []coordinator.Identity
		for _, key := range r.in.With {
			_, id, err := r.service.find(ctx, r.target.repo.name, r.target.ref, key)
			if err != nil {
				return c, err
			}
			named = append(named, coordinator.Identity(id))
		}
		slices.Sort(named)
		if !slices.Equal(slices.Compact(named), c.Contenders) {
			return c, errf(ErrStale, "with", "name exactly those that it contends with", "patch %s contends with %v", r.id, c.Contenders)
		}
	}
	return c, nil
}

func (r *resolving) bindPair(ctx context.Context, j *coordinator.Judged) (coordinator.Case, error) {
	if len(r.in.With) != 1 {
		return coordinator.Case{}, errf(ErrInvalid, "with", "accept pairs one by one", "accept takes one other patch")
	}
	_, other, err := r.service.find(ctx, r.target.repo.name, r.target.ref, r.in.With[0])
	if err != nil {
		return coordinator.Case{}, err
	}
	i := slices.IndexFunc(j.Together, func(c coordinator.Case) bool { return slices.Contains(c.Identities, coordinator.Identity(other)) })
	if i >= 0 {
		return j.Together[i], nil
	}
	if slices.ContainsFunc(j.Status.Contention, func(x coordinator.Reason) bool { return x.With == string(other) }) {
		return coordinator.Case{}, errf(ErrInvalid, "action", "choose one, or submit one rebased on the other", "the lines of %s and %s meet: they cannot be applied at once", r.id, other)
	}
	return coordinator.Case{}, errf(ErrStale, "with", "see `patchd show`", "patches %s and %s do not contend", r.id, other)
}

// acceptable refuses to accept a command that has a verdict.
func (r *resolving) acceptable(j *coordinator.Judged) error {
	if j.Decision == nil || j.Plan == nil {
		return errf(ErrStale, "command", "wait for its runs", "the checks of patch %s are under way", r.id)
	}
	for _, c := range j.Decision.Checks {
		if c.Command == r.in.Command && coordinator.Verdict(c.Verdict) == checks.VerdictInconclusive {
			return nil
		}
	}
	return errf(ErrStale, "command", "only a command without a verdict can be accepted", "%q is not without a verdict on patch %s", r.in.Command, r.id)
}

// record appends the resolution, guarded by the version that was read, and has the state worked out again.
func (r *resolving) record(ctx context.Context, tx *ledger.Tx, row ledger.Target, c coordinator.Case) error {
	locked, err := tx.LockTarget(ctx, r.target.id)
	if err != nil {
		return err
	}
	p, err := tx.Patch(ctx, r.target.id, r.id)
	if err != nil {
		return err
	}
	if now := versionOf(p); r.in.ExpectedVersion != 0 && now != r.in.ExpectedVersion {
		return errf(ErrStale, "expected_version", "read the record again", "the record of patch %s is at version %d, not %d", r.id, now, r.in.ExpectedVersion)
	}
	if !sameInputs(*locked, row) {
		return &ledger.StaleError{Target: locked.ID, MovedWhat: "inputs", Version: locked.Version, Inputs: locked.Inputs, Commit: locked.Commit}
	}
	binding, err := coordinator.Canonical(c.Sorted())
	if err != nil {
		return err
	}
	payload, err := coordinator.Canonical(map[string]any{"action": r.in.Action, "identity": r.id, "case": coordinator.SHA256(binding), "command": r.in.Command, "tree": r.in.Tree})
	if err != nil {
		return err
	}
	operational, err := coordinator.Canonical(map[string]any{"credential": r.in.By.Name, "why": r.in.Why, "binding": c})
	if err != nil {
		return err
	}
	entry, err := tx.Append(ctx, locked, ledger.Anything(), ledger.Entry{Kind: KindResolution, Payload: payload, Operational: operational, Inputs: true})
	if err != nil {
		return err
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("make resolution id: %w", err)
	}
	err = tx.RecordResolution(ctx, locked, ledger.Resolution{
		ID: ledger.ResolutionID(id.String()), Seq: entry.Seq, Identity: r.id, Action: string(r.in.Action), Binding: binding, Credential: r.in.By.Name, Why: r.in.Why,
	})
	if err != nil {
		return err
	}
	return r.effect(ctx, tx, locked, p)
}

// effect is what an action does beside being recorded.
func (r *resolving) effect(ctx context.Context, tx *ledger.Tx, locked *ledger.Target, p ledger.Patch) error {
	switch r.in.Action {
	case coordinator.ActionComment:
		return r.service.queueSettle(ctx, tx, locked.ID)
	case coordinator.ActionReject:
		p.Disposition, p.NeedsDecision, p.NeedsChecks, p.Published, p.Code = ledger.Rejected, false, false, string(coordinator.OutcomeRejected), ""
		if err := r.service.supersedeRounds(ctx, tx, locked, r.id, fmt.Sprintf("patch %s was rejected", r.id)); err != nil {
			return err
		}
	case coordinator.ActionReopen:
		p.Disposition, p.NeedsDecision = ledger.Pending, true
		p.LandedCommit, p.LandedSeq = "", 0
	case coordinator.ActionAccept:
		if r.in.Command != "" {
			if err := r.acceptVerdict(ctx, tx); err != nil {
				return err
			}
		}
		p.NeedsDecision = true
	case coordinator.ActionApprove, coordinator.ActionChoose, coordinator.ActionSubmit:
		p.NeedsDecision = true
	}
	if err := tx.SavePatches(ctx, locked, p); err != nil {
		return err
	}
	return r.service.queueSettle(ctx, tx, locked.ID)
}

// acceptVerdict records that a person took a command without a verdict upon themselves, for one tree.
func (r *resolving) acceptVerdict(ctx context.Context, tx *ledger.Tx) error {
	j := r.pending.states[coordinator.Identity(r.id)]
	key, err := r.service.verdictKey(r.target.repo, j.Plan.Policy, coordinator.Question{Tree: j.Plan.Tree, Command: r.in.Command})
	if err != nil {
		return err
	}
	_, err = tx.RecordVerdict(ctx, ledger.Verdict{
		VerdictKey: key, Command: r.in.Command, Verdict: string(coordinator.VerdictAccepted), Reason: "accepted by " + r.in.By.Name, CreatedAt: time.Time{},
	})
	return err
}
