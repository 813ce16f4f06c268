package ledger

import (
	"time"

	"patchd/worktree/git"
)

// RepositoryID is the row id of a served repository.
type RepositoryID int64

// TargetID is the row id of a guarded branch.
type TargetID int64

// AttemptID is the row id of one recorded attempt; later attempts have greater ids.
type AttemptID int64

// VerdictID is the row id of one recorded run of a check.
type VerdictID int64

// SubmissionID is a UUID (version 7) in its usual text form.
type SubmissionID string

// CredentialID is a UUID in its usual text form.
type CredentialID string

// ResolutionID is a UUID in its usual text form.
type ResolutionID string

// OID is git's object id; empty where there is none.
type OID = git.OID

// Digest is a SHA-256 in lower-case hex; empty where there is none.
type Digest string

// Identity is the SHA-256 of a patch's canonical manifest without its labels: what the patch is.
type Identity string

// Ref is a full reference name such as "refs/heads/main".
type Ref = git.Ref

// Seq is an entry's place in its target's chain, starting at 1. Zero is "before the first entry".
type Seq int64

// Kind names what an entry records, in lower-case words joined by underscores.
type Kind string

// ZeroHash is the previous hash of a chain's first entry, and the head of an empty chain.
const ZeroHash Digest = "0000000000000000000000000000000000000000000000000000000000000000"

// Repository is a served repository. Its name is its identity in the ledger; the directory may move.
type Repository struct {
	ID     RepositoryID
	Name   string
	GitDir string
}

// Target is one guarded branch: the head of its chain and its recorded state.
type Target struct {
	ID         TargetID
	Repository RepositoryID
	// RepositoryName is the name of the repository that holds the branch.
	RepositoryName string
	Ref            Ref
	// Version is the seq of the latest entry, and HeadHash its hash.
	Version  Seq
	HeadHash Digest
	// Inputs is the seq of the latest entry that changed what decisions are made from.
	Inputs Seq
	// Commit is the target commit as last recorded; empty until the branch was first seen.
	Commit OID
	// State is the digest of the published state, worked out at StateVersion.
	State        Digest
	StateVersion Seq
	Paused       bool
	Draining     bool

	locker *Tx // the transaction that holds the row lock
}

// ChainName is the name that the hash of every entry of the target's chain covers.
func (t Target) ChainName() string { return t.RepositoryName + " " + string(t.Ref) }

// Entry is what a caller appends to a target's chain.
type Entry struct {
	Kind Kind
	// Payload is canonical JSON: the recorded fact.
	Payload []byte
	// Operational is canonical JSON of what is recorded and never decides; nil stands for "{}".
	Operational []byte
	// Inputs says that the entry changes what decisions are made from (a resolution, a policy, the target).
	Inputs bool
	// Commit, when not empty, becomes the target commit with this entry.
	Commit OID
}

// EntryRef names an appended entry.
type EntryRef struct {
	Target TargetID
	Seq    Seq
	Hash   Digest
}

// RecordedEntry is an entry as read back.
type RecordedEntry struct {
	EntryRef
	Kind              Kind
	PrevHash          Digest
	Payload           []byte
	PayloadSHA256     Digest
	Operational       []byte
	OperationalSHA256 Digest
	CreatedAt         time.Time
}

// Expect is the state that a caller decided against. Append refuses when the target has moved on.
type Expect struct {
	// Version is the expected seq of the latest entry; ignored when AnyVersion is set.
	Version Seq
	// Inputs is the expected seq of the latest input-changing entry; ignored when AnyInputs is set.
	Inputs Seq
	// Commit is the expected target commit; ignored when AnyCommit is set.
	Commit OID

	AnyVersion, AnyInputs, AnyCommit bool
}

// Anything is the Expect of an entry that is true whatever the target's state, such as an attempt received.
func Anything() Expect { return Expect{AnyVersion: true, AnyInputs: true, AnyCommit: true} }

// At is the Expect of a caller that read t and allows no entry in between.
func At(t Target) Expect { return Expect{Version: t.Version, Inputs: t.Inputs, Commit: t.Commit} }

// SameInputs is the Expect of a decision made from t: other patches' entries may stand in between, but neither
// the target commit nor an input of decisions may have changed.
func SameInputs(t Target) Expect { return Expect{AnyVersion: true, Inputs: t.Inputs, Commit: t.Commit} }
