package service

import (
	"time"

	"patchd/coordinator"
	"patchd/worktree/git"
)

// Scope is a right that a credential has.
type Scope string

// The scopes, from the weakest: admin includes all others.
const (
	ScopeRead    Scope = "read"    // look at everything
	ScopeSubmit  Scope = "submit"  // hand in and withdraw patches, edit drafts
	ScopeResolve Scope = "resolve" // work through the resolution queue
	ScopeLand    Scope = "land"    // seal, land, pause, resume
	ScopeAdmin   Scope = "admin"   // make and revoke credentials
)

// Credential is whom a request comes from; request keys are scoped to it. Agents share one or have their own.
type Credential struct {
	ID     string  `json:"id"`
	Name   string  `json:"name"`
	Scopes []Scope `json:"scopes"`
}

// Submission is a patch as a face hands it in. Manifest and Diff are the exact bytes received.
type Submission struct {
	Credential Credential
	Repo       string // empty where one repository is served, or the manifest names it
	Manifest   []byte
	Diff       []byte
	Tool       string // the face and command, such as "http" or "mcp"; operational
	RetryOf    int64  // the attempt that this one repeats; zero: the latest of the same identity, if any
}

// Receipt answers a submission. An attempt that was refused (digest, manifest, request key) carries Refused and no identity;
// otherwise the submission is recorded and its decision is under way or, where Decision is set, already known.
type Receipt struct {
	SubmissionID string                `json:"submission_id,omitempty"`
	AttemptID    int64                 `json:"attempt_id"`
	Repo         string                `json:"repo"`
	Target       git.Ref               `json:"target"`
	PatchID      coordinator.PatchID   `json:"patch_id,omitempty"`
	Identity     coordinator.Identity  `json:"identity,omitempty"`
	Deduplicated bool                  `json:"deduplicated,omitzero"`
	Outcome      coordinator.Outcome   `json:"outcome,omitempty"` // rejected where refused; empty while undecided
	Refused      *RefusedAttempt       `json:"refused,omitempty"`
	Decision     *coordinator.Decision `json:"decision,omitempty"`
}

// RefusedAttempt says why an attempt was refused: what, where, and what to do.
type RefusedAttempt struct {
	Stage    coordinator.Stage    `json:"stage"`
	Validity coordinator.Validity `json:"validity"`
	Message  coordinator.Message  `json:"message"`
}

// PatchState is what a pending patch is doing.
type PatchState string

// The states of a patch in the daemon.
const (
	StateDeciding   PatchState = "deciding" // admitted, not decided at the present target commit
	StateDecided    PatchState = "decided"  // Outcome says what came of it
	StateLanded     PatchState = "landed"
	StateWithdrawn  PatchState = "withdrawn"
	StateRejected   PatchState = "rejected" // for good
	StateSuperseded PatchState = "superseded"
)

// Patch is one identity in a target's set: what is known of it now. Outcome, Class and Codes are the published state's: what
// the patch's own decision and the set of pending patches come to together.
type Patch struct {
	Identity    coordinator.Identity   `json:"identity"`
	PatchIDs    []coordinator.PatchID  `json:"patch_ids"`
	Repo        string                 `json:"repo"`
	Target      git.Ref                `json:"target"`
	Title       string                 `json:"title,omitempty"`
	State       PatchState             `json:"state"`
	Outcome     coordinator.Outcome    `json:"outcome,omitempty"`
	Class       coordinator.Class      `json:"class,omitempty"`
	Codes       []coordinator.Code     `json:"codes,omitempty"`
	BaseCommit  git.OID                `json:"base_commit"`
	DecidedAt   git.OID                `json:"decided_at_commit,omitempty"` // the target commit decided against
	Version     int64                  `json:"version,omitzero"`            // the ledger entry of the decision: what a resolution expects
	Candidate   git.OID                `json:"candidate,omitempty"`
	Due         bool                   `json:"due,omitzero"`         // the plan is clean and the checks are under way
	Contention  []coordinator.Reason   `json:"contention,omitempty"` // with other pending patches, each named
	Blame       []coordinator.Reason   `json:"blame,omitempty"`      // what rounds at this target commit found
	BlockedBy   []coordinator.Identity `json:"blocked_by,omitempty"`
	Superseded  coordinator.Identity   `json:"superseded_by,omitempty"`
	Resolved    []coordinator.Case     `json:"resolved,omitempty"`        // contentions that people settled
	Merge       *MergeCandidate        `json:"merge_candidate,omitempty"` // where the manifest's on_conflict asks for it
	Paths       []string               `json:"paths,omitempty"`
	Problem     string                 `json:"problem,omitempty"` // what keeps the daemon from deciding; it goes on trying
	ReceivedAt  time.Time              `json:"received_at"`
	Submissions []SubmissionInfo       `json:"submissions,omitempty"`
	Decision    *coordinator.Decision  `json:"decision,omitempty"`
}

// SubmissionInfo is one submission of an identity.
type SubmissionInfo struct {
	ID         string              `json:"id"`
	PatchID    coordinator.PatchID `json:"patch_id"`
	Credential string              `json:"credential"`
	ReceivedAt time.Time           `json:"received_at"`
	Withdrawn  bool                `json:"withdrawn,omitzero"`
}

// Target is a guarded branch of a repository.
type Target struct {
	Repo     string  `json:"repo"`
	Ref      git.Ref `json:"ref"`
	Commit   git.OID `json:"commit"`
	Version  int64   `json:"version"` // the ledger's last sequence number
	HeadHash string  `json:"head_hash"`
	Pending  int     `json:"pending"`
	Deciding int     `json:"deciding"`
	Paused   bool    `json:"paused,omitzero"`   // takes neither rounds nor landings
	Draining bool    `json:"draining,omitzero"` // takes no new rounds
}

// Filter chooses patches to list; zero fields choose all. Cursor and Limit page through them in order of identity.
type Filter struct {
	Repo    string
	Target  git.Ref
	Outcome coordinator.Outcome
	State   PatchState
	Cursor  string
	Limit   int // 1 to 500, 100 where zero
}

// Page is one page of patches; Next is the cursor of the following page, empty on the last.
type Page struct {
	Patches []Patch `json:"patches"`
	Next    string  `json:"next,omitempty"`
}

// Entry is one ledger entry as it is shown.
type Entry struct {
	Seq         int64          `json:"seq"`
	Kind        string         `json:"kind"`
	PrevHash    string         `json:"prev_hash"`
	Hash        string         `json:"hash"`
	Payload     map[string]any `json:"payload"`
	Operational map[string]any `json:"operational,omitempty"`
	CreatedAt   time.Time      `json:"created_at"`
}

// Event tells that something happened on a target; Seq is the ledger entry behind it, to resume from. What an entry of its
// kind does not say is left out.
type Event struct {
	Seq         int64                  `json:"seq"`
	Kind        string                 `json:"kind"`
	Repo        string                 `json:"repo"`
	Target      git.Ref                `json:"target"`
	Identity    coordinator.Identity   `json:"identity,omitempty"`
	Identities  []coordinator.Identity `json:"identities,omitempty"` // whom a round, a landing or a change of states is about
	Outcome     coordinator.Outcome    `json:"outcome,omitempty"`
	Code        coordinator.Code       `json:"code,omitempty"`
	Round       int64                  `json:"round,omitzero"`
	Commit      git.OID                `json:"commit,omitempty"`       // where the target is, or is to be moved
	StateDigest coordinator.Digest     `json:"state_digest,omitempty"` // of the whole state, at a quiet moment
	At          time.Time              `json:"at"`
}

// Verification is the result of walking a target's ledger: four separate answers where replay was asked for.
type Verification struct {
	Repo    string   `json:"repo"`
	Target  git.Ref  `json:"target"`
	Entries int64    `json:"entries"`
	Head    string   `json:"head"`
	Chain   bool     `json:"chain"`  // every hash follows from its entry and the one before
	Anchor  bool     `json:"anchor"` // the ref in the repository holds a hash of this chain
	State   bool     `json:"state"`  // projections equal what the entries imply
	Faults  []string `json:"faults,omitempty"`
}
