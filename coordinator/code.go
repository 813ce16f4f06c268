package coordinator

import (
	"fmt"
	"slices"
)

// Outcome is what a decision comes to.
type Outcome string

// The four outcomes of a decision.
const (
	OutcomeCandidate Outcome = "candidate"
	OutcomeConflict  Outcome = "conflict"
	OutcomeWaiting   Outcome = "waiting"
	OutcomeRejected  Outcome = "rejected"
)

// Stage is a step of the pipeline; a decision names the last one that it reached.
type Stage string

// The stages in their order.
const (
	StagePrecondition  Stage = "precondition_guard"
	StageProtocol      Stage = "protocol_validation"
	StageApplicability Stage = "applicability"
	StageChecks        Stage = "checks"
	StageCommit        Stage = "commit_guard"
	StageAccepted      Stage = "accepted"
)

// Class sorts conflicts: whether lines, structure or behaviour show them.
type Class string

// The classes in the order in which a record takes its own: the first that has a reason.
const (
	ClassTextual    Class = "textual"
	ClassStructural Class = "structural"
	ClassBehavioral Class = "behavioral"
)

// Code is a reason as the contract spells it.
type Code string

// Codes that reject a patch for good: no target, set or time can change them.
const (
	CodeDiffMalformed      Code = "diff_malformed"
	CodeDiffEmpty          Code = "diff_empty"
	CodeDiffTooLarge       Code = "diff_too_large"
	CodeBaseNotCommit      Code = "base_not_commit"
	CodePathUnsafe         Code = "path_unsafe"
	CodeModeUnsafe         Code = "mode_unsafe"
	CodeSymlinkUnsafe      Code = "symlink_unsafe"
	CodePathsMismatch      Code = "paths_mismatch"
	CodeHunkNotOwned       Code = "hunk_not_owned"
	CodeOwnedHunkStale     Code = "owned_hunk_stale"
	CodePatchDoesNotApply  Code = "patch_does_not_apply"
	CodeDigestMismatch     Code = "digest_mismatch"
	CodeManifestMalformed  Code = "manifest_malformed"
	CodeRequestKeyConflict Code = "request_key_conflict"
)

// Codes of what can change and is worked out again for each target and set.
const (
	CodeBaseMissing         Code = "base_missing"
	CodeBaseUnrelated       Code = "base_unrelated"
	CodeDependencyUnknown   Code = "dependency_unknown"
	CodeDependencyAmbiguous Code = "dependency_ambiguous"
	CodeDependencyCycle     Code = "dependency_cycle"
	CodeBlockedBy           Code = "blocked_by"
	CodeSubmoduleNotAllowed Code = "submodule_not_allowed"
	CodeCheckNotAllowed     Code = "check_not_allowed"
	CodeCheckInconclusive   Code = "check_inconclusive"
	CodeTargetRed           Code = "target_red"
	CodePolicyInvalid       Code = "policy_invalid"
	CodeAlreadyLanded       Code = "already_landed"
	CodeLandingReverted     Code = "landing_reverted"
)

// Codes of conflicts.
const (
	CodeSameLines     Code = "same_lines"
	CodeAdjacentLines Code = "adjacent_lines"
	CodeAddAdd        Code = "add_add"
	CodeModifyDelete  Code = "modify_delete"
	CodeRenameRename  Code = "rename_rename"
	CodeBinary        Code = "binary"
	CodeMode          Code = "mode"
	CodeSubmodule     Code = "submodule"

	CodeSameSymbol         Code = "same_symbol"
	CodeOwnedRangeChanged  Code = "owned_range_changed"
	CodeSymbolMoved        Code = "symbol_moved"
	CodeSymbolRenamed      Code = "symbol_renamed"
	CodeSymbolDeleted      Code = "symbol_deleted"
	CodeSignatureChanged   Code = "signature_changed"
	CodeReferenceBroken    Code = "reference_broken"
	CodeDuplicateSymbol    Code = "duplicate_symbol"
	CodeFileRenamed        Code = "file_renamed"
	CodePlacementAmbiguous Code = "placement_ambiguous"
	CodeCoupledEdits       Code = "coupled_edits"

	CodeCheckFailed           Code = "check_failed"
	CodeCheckNondeterministic Code = "check_nondeterministic"
	CodeCompositionFailed     Code = "composition_failed"
	CodeInvariantShared       Code = "invariant_shared"
	CodeOwnerApproval         Code = "owner_approval"
)

// OutcomeOf is the outcome that a code leads to. It is total over the codes of the contract.
func OutcomeOf(c Code) (Outcome, error) {
	switch {
	case slices.Contains(rejectingCodes(), c), RefusesAttempt(c):
		return OutcomeRejected, nil
	case slices.Contains(waitingCodes(), c):
		return OutcomeWaiting, nil
	}
	if _, err := ClassOf(c); err != nil {
		return "", fmt.Errorf("code %q has no outcome", c)
	}
	return OutcomeConflict, nil
}

func rejectingCodes() []Code {
	return []Code{
		CodeDiffMalformed, CodeDiffEmpty, CodeDiffTooLarge, CodeBaseNotCommit, CodePathUnsafe, CodeModeUnsafe, CodeSymlinkUnsafe,
		CodePathsMismatch, CodeHunkNotOwned, CodeOwnedHunkStale, CodePatchDoesNotApply,
	}
}

func waitingCodes() []Code {
	return []Code{
		CodeBaseMissing, CodeBaseUnrelated, CodeDependencyUnknown, CodeDependencyAmbiguous, CodeDependencyCycle, CodeBlockedBy,
		CodeSubmoduleNotAllowed, CodeCheckNotAllowed, CodeCheckInconclusive, CodeTargetRed, CodePolicyInvalid,
		CodeAlreadyLanded, CodeLandingReverted,
	}
}

// RefusesAttempt reports whether a code refuses one attempt and never touches the state of an identity: garbage bytes under
// somebody's manifest must not kill their patch.
func RefusesAttempt(c Code) bool {
	return c == CodeDigestMismatch || c == CodeManifestMalformed || c == CodeRequestKeyConflict
}

// ClassOf is the class of a conflict code, and an error for a code that is none.
func ClassOf(c Code) (Class, error) {
	for class, codes := range conflictCodes() {
		if slices.Contains(codes, c) {
			return class, nil
		}
	}
	return "", fmt.Errorf("code %q is not a conflict", c)
}

func conflictCodes() map[Class][]Code {
	return map[Class][]Code{
		ClassTextual: {CodeSameLines, CodeAdjacentLines, CodeAddAdd, CodeModifyDelete, CodeRenameRename, CodeBinary, CodeMode, CodeSubmodule},
		ClassStructural: {
			CodeSameSymbol, CodeOwnedRangeChanged, CodeSymbolMoved, CodeSymbolRenamed, CodeSymbolDeleted, CodeSignatureChanged,
			CodeReferenceBroken, CodeDuplicateSymbol, CodeFileRenamed, CodePlacementAmbiguous, CodeCoupledEdits,
		},
		ClassBehavioral: {CodeCheckFailed, CodeCheckNondeterministic, CodeCompositionFailed, CodeInvariantShared, CodeOwnerApproval},
	}
}

// rank orders classes as a record lists them.
func (c Class) rank() int {
	switch c {
	case ClassTextual:
		return 0
	case ClassStructural:
		return 1
	case ClassBehavioral:
		return 2
	}
	return 3
}

// Refusal is an answer that stops a patch or an attempt: the code, what is at fault, and what to do about it. It is an
// error so that the stages can return it; the record keeps code, path and line, and the prose goes to the messages.
type Refusal struct { //nolint:errname // the protocol's word
	Code    Code   `json:"code"`
	Path    string `json:"path,omitempty"`
	Line    int    `json:"line,omitzero"` // 1-based: a line of the diff, or of the file at the base where Path's range is at fault
	Field   string `json:"-"`             // JSON pointer into the manifest
	Value   string `json:"-"`
	Message string `json:"-"`
	Hint    string `json:"-"`
}

// Error says what, where and what to do.
func (r *Refusal) Error() string {
	s := string(r.Code) + ": " + r.Message
	if r.Hint != "" {
		s += " (" + r.Hint + ")"
	}
	return s
}

// Outcome is rejected or waiting.
func (r *Refusal) Outcome() Outcome {
	if o, err := OutcomeOf(r.Code); err == nil {
		return o
	}
	return OutcomeRejected
}
