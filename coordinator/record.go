package coordinator

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"patchd/worktree/git"
)

// Versions and fixed sizes of protocol 1: every cap and default that can reach a digest.
const (
	ProtocolVersion = 1
	SymbolsVersion  = 1 // of the symbol rules and tables
	SchemaDecision  = "patchd/decision/1"
	SchemaState     = "patchd/state/1"
	ChainCap        = 512      // commits of the first-parent chain read one by one
	MaxManifest     = 1 << 20  // bytes
	MaxDiff         = 32 << 20 // bytes
)

// Decision is the record patchd/decision/1: one patch decided at one target commit. Everything but Operational is a pure
// function of repository objects, patch, policy, resolutions and verdicts.
type Decision struct {
	Schema         string       `json:"schema"`
	PlanDigest     Digest       `json:"plan_digest,omitempty"`
	DecisionDigest Digest       `json:"decision_digest,omitempty"`
	Outcome        Outcome      `json:"outcome"`
	Stage          Stage        `json:"stage"`
	Validity       Validity     `json:"validity"`
	Patch          PatchRecord  `json:"patch"`
	Target         TargetRecord `json:"target"`
	Dependencies   []Dependency `json:"dependencies,omitempty"`
	Candidate      *Candidate   `json:"candidate,omitempty"`
	Conflict       *Conflict    `json:"conflict,omitempty"`
	Resolved       []Reason     `json:"resolved,omitempty"` // reasons that a person accepted or approved in exactly this case
	Rejection      *Refusal     `json:"rejection,omitempty"`
	Waiting        *Refusal     `json:"waiting,omitempty"`
	Coupled        []Coupling   `json:"coupled,omitempty"`
	Degraded       []Degraded   `json:"degraded,omitempty"`
	Checks         []Check      `json:"checks,omitempty"`
	Rules          Rules        `json:"rules"`
	Operational    *Operational `json:"operational,omitempty"`
}

// Validity is the four-part answer of every attempt: true, false, or null for what was not reached.
type Validity struct {
	ProtocolValid *bool  `json:"protocol_valid"`
	PatchValid    *bool  `json:"patch_valid"`
	ChecksValid   *bool  `json:"checks_valid"`
	Semantic      string `json:"semantic"` // always "not_evaluated"
}

// PatchRecord says what was decided about.
type PatchRecord struct {
	Identity   Identity    `json:"identity,omitempty"`
	BaseCommit git.OID     `json:"base_commit,omitempty"`
	DiffSHA256 Digest      `json:"diff_sha256,omitempty"`
	Paths      []string    `json:"paths,omitempty"`
	Footprint  []Footprint `json:"footprint,omitempty"`
}

// Footprint is one place that a patch touches. Start and End are 1-based inclusive lines of the file at the base; an
// insertion before line Start has End = Start-1. Symbol is the innermost named definition, where there is one.
type Footprint struct {
	Path   string `json:"path"`
	Op     string `json:"op"`
	Start  int    `json:"start,omitzero"`
	End    int    `json:"end,omitzero"`
	Symbol string `json:"symbol,omitempty"`
}

// TargetRecord is the target commit that was decided against.
type TargetRecord struct {
	Commit git.OID `json:"commit"`
	Tree   git.OID `json:"tree,omitempty"`
}

// Dependency is a patch that this one builds on, with the commit that stands for it.
type Dependency struct {
	Identity Identity `json:"identity"`
	Commit   git.OID  `json:"commit"`
}

// Candidate is the commit that the patch becomes.
type Candidate struct {
	Commit git.OID `json:"commit"`
	Tree   git.OID `json:"tree"`
	Parent git.OID `json:"parent"`
}

// LineRange is a pair of 1-based inclusive line numbers, start and end.
type LineRange [2]int

// Reason is one cause of a conflict.
type Reason struct {
	Class       Class      `json:"class"`
	Code        Code       `json:"code"`
	Path        string     `json:"path,omitempty"`
	BaseLines   *LineRange `json:"base_lines,omitempty"`
	TargetLines *LineRange `json:"target_lines,omitempty"`
	Symbol      string     `json:"symbol,omitempty"`
	With        string     `json:"with,omitempty"` // the commit or identity on the other side
	Command     string     `json:"command,omitempty"`
	Approvers   []string   `json:"approvers,omitempty"`
}

// Conflict is why a person must look, and the mechanical merge that they look at.
type Conflict struct {
	Class   Class    `json:"class"`
	Reasons []Reason `json:"reasons"`
	Merge   *Merge   `json:"merge,omitempty"`
}

// Merge is the diff3 merge of the paths in conflict, "ours" the patch and "theirs" the target.
type Merge struct {
	HasMarkers bool        `json:"has_markers"`
	Files      []MergeFile `json:"files"`
}

// MergeFile is one merged file; Blob is the id of its content, with or without markers.
type MergeFile struct {
	Path       string  `json:"path"`
	Blob       git.OID `json:"blob,omitempty"`
	HasMarkers bool    `json:"has_markers"`
}

// Coupling is evidence that two edits can reach each other; by itself it is no conflict.
type Coupling struct {
	Path        string     `json:"path"`
	Symbol      string     `json:"symbol,omitempty"`
	BaseLines   *LineRange `json:"base_lines,omitempty"`
	TargetLines *LineRange `json:"target_lines,omitempty"`
	With        string     `json:"with,omitempty"` // the other patch's identity, between pending patches
}

// Degraded is a file that was judged by its lines only, and why.
type Degraded struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}

// Check is one required command and what came of it on the candidate's tree. TargetVerdict is the verdict of the same
// command on the target's own tree, asked for where it failed here.
type Check struct {
	Command       string   `json:"command"`
	Sources       []string `json:"sources"`
	Verdict       string   `json:"verdict,omitempty"`
	TargetVerdict string   `json:"target_verdict,omitempty"`
}

// Rules names the versions of everything that took part in deciding.
type Rules struct {
	Protocol     int     `json:"protocol"`
	Diff         int     `json:"diff"`
	Symbols      int     `json:"symbols"`
	PolicySHA256 Digest  `json:"policy_sha256,omitempty"`
	BaseTree     git.OID `json:"base_tree,omitempty"`
	SinceBase    string  `json:"since_base,omitempty"` // "commits" or "aggregate"
}

// Operational is what was observed and never decides: labels, times, hosts and all prose.
type Operational struct {
	PatchIDs     []string         `json:"patch_ids,omitempty"`
	SubmissionID string           `json:"submission_id,omitempty"`
	Attempt      int              `json:"attempt,omitzero"`
	Agent        string           `json:"agent,omitempty"`
	ReceivedAt   time.Time        `json:"received_at,omitzero"`
	DecidedAt    time.Time        `json:"decided_at,omitzero"`
	DurationsMS  map[string]int64 `json:"durations_ms,omitempty"`
	GitVersion   string           `json:"git_version,omitempty"`
	Host         string           `json:"host,omitempty"`
	Messages     []Message        `json:"messages,omitempty"`
	Checks       []CheckEvidence  `json:"checks,omitempty"`
	Evidence     []Evidence       `json:"evidence,omitempty"`
}

// Evidence is what a person needs to judge a structural reason: where the symbol stands at the base, in the target and in the
// patch, and one sentence.
type Evidence struct {
	Code     Code   `json:"code"`
	Path     string `json:"path,omitempty"`
	Symbol   string `json:"symbol,omitempty"`
	Base     *Place `json:"base,omitempty"`
	Target   *Place `json:"target,omitempty"`
	Patch    *Place `json:"patch,omitempty"`
	Sentence string `json:"sentence"`
}

// Place is a symbol in one version of a file: its lines, and the header that defines it.
type Place struct {
	Path   string    `json:"path"`
	Lines  LineRange `json:"lines"`
	Header string    `json:"header,omitempty"`
}

// Message is prose for people: what, where and what to do next.
type Message struct {
	Code  Code   `json:"code,omitempty"`
	Path  string `json:"path,omitempty"`
	Line  int    `json:"line,omitzero"`
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"`
}

// CheckEvidence is how one run of a command went.
type CheckEvidence struct {
	Command      string  `json:"command"`
	Tree         git.OID `json:"tree"`
	Reused       bool    `json:"reused"`
	ExitCode     int     `json:"exit_code"`
	Why          string  `json:"why,omitempty"`
	OutputSHA256 Digest  `json:"output_sha256,omitempty"`
	OutputBytes  int64   `json:"output_bytes"`
	Excerpt      string  `json:"excerpt,omitempty"` // the end of the output, control characters escaped
	Ref          string  `json:"ref,omitempty"`     // where the kept output is found
	Sandbox      string  `json:"sandbox,omitempty"`
}

// plan is the record as the applicability stage leaves it: what plan_digest is taken over.
type plan struct {
	Schema       string       `json:"schema"`
	Patch        PatchRecord  `json:"patch"`
	Target       TargetRecord `json:"target"`
	Dependencies []Dependency `json:"dependencies,omitempty"`
	Candidate    *Candidate   `json:"candidate,omitempty"`
	Conflict     *Conflict    `json:"conflict,omitempty"`
	Resolved     []Reason     `json:"resolved,omitempty"`
	Rejection    *Refusal     `json:"rejection,omitempty"`
	Waiting      *Refusal     `json:"waiting,omitempty"`
	Coupled      []Coupling   `json:"coupled,omitempty"`
	Degraded     []Degraded   `json:"degraded,omitempty"`
	Rules        Rules        `json:"rules"`
}

// sealPlan writes the plan digest of a record that the applicability stage has just left.
func (d *Decision) sealPlan() error {
	digest, err := DigestOf(plan{d.Schema, d.Patch, d.Target, d.Dependencies, d.Candidate, d.Conflict, d.Resolved, d.Rejection, d.Waiting, d.Coupled, d.Degraded, d.Rules})
	if err != nil {
		return fmt.Errorf("digest plan: %w", err)
	}
	d.PlanDigest = digest
	return nil
}

// SealDecision writes the decision digest: the whole record without its digest and without what is operational.
func (d *Decision) SealDecision() error {
	bare := *d
	bare.DecisionDigest, bare.Operational = "", nil
	digest, err := DigestOf(&bare)
	if err != nil {
		return fmt.Errorf("digest decision: %w", err)
	}
	d.DecisionDigest = digest
	return nil
}

// sortDegraded sorts and drops repeats.
func sortDegraded(list []Degraded) []Degraded {
	slices.SortFunc(list, func(a, b Degraded) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Why, b.Why)) })
	return slices.Compact(list)
}

// newConflict sorts reasons, drops repeats and takes the class of the first.
func newConflict(reasons []Reason, merge *Merge) *Conflict {
	slices.SortFunc(reasons, compareReasons)
	reasons = slices.CompactFunc(reasons, func(a, b Reason) bool { return compareReasons(a, b) == 0 })
	return &Conflict{Class: reasons[0].Class, Reasons: reasons, Merge: merge}
}

// compareReasons is the total order in which reasons are listed.
func compareReasons(a, b Reason) int {
	return cmp.Or(
		cmp.Compare(a.Class.rank(), b.Class.rank()), cmp.Compare(a.Path, b.Path), compareRanges(a.BaseLines, b.BaseLines),
		compareRanges(a.TargetLines, b.TargetLines), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Symbol, b.Symbol),
		cmp.Compare(a.With, b.With), cmp.Compare(a.Command, b.Command), slices.Compare(a.Approvers, b.Approvers))
}

func compareRanges(a, b *LineRange) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
}

// Codes lists the codes of a record, sorted and without repeats.
func (d *Decision) Codes() []Code {
	var out []Code
	switch {
	case d.Rejection != nil:
		out = []Code{d.Rejection.Code}
	case d.Waiting != nil:
		out = []Code{d.Waiting.Code}
	case d.Conflict != nil:
		for _, r := range d.Conflict.Reasons {
			out = append(out, r.Code)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
