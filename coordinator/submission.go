package coordinator

import (
	"fmt"
	"strconv"
)

// Submission is a patch as it is decided: the manifest, the exact bytes of the diff, and the identity that both have.
type Submission struct {
	Manifest *Manifest
	Diff     []byte
	Identity Identity
}

// Admit reads a manifest and holds the diff's bytes against the digest that it names. A *Refusal with code
// manifest_malformed, digest_mismatch or diff_too_large refuses the attempt and says nothing about any identity.
func Admit(manifest, diff []byte) (*Submission, error) {
	m, err := ParseManifest(manifest)
	if err != nil {
		return nil, err
	}
	if got := SHA256(diff); got != m.DiffSHA256 {
		return nil, &Refusal{
			Code: CodeDigestMismatch, Field: "/diff_sha256", Value: string(m.DiffSHA256),
			Message: fmt.Sprintf("the diff's %d bytes have SHA-256 %s, the manifest says %s", len(diff), got, m.DiffSHA256),
			Hint:    "send the exact bytes that were digested; a changed line ending or final newline is enough to differ",
		}
	}
	id, err := m.Identity()
	if err != nil {
		return nil, fmt.Errorf("identify patch: %w", err)
	}
	return &Submission{Manifest: m, Diff: diff, Identity: id}, nil
}

// tooLarge refuses a diff over the protocol's bound before anything reads it.
func tooLarge(diff []byte) *Refusal {
	if len(diff) <= MaxDiff {
		return nil
	}
	return &Refusal{
		Code: CodeDiffTooLarge, Value: strconv.Itoa(len(diff)), Message: fmt.Sprintf("the diff has %d bytes, more than %d", len(diff), MaxDiff),
		Hint: "split the patch",
	}
}

// AttemptRefused is the record of an attempt that was refused before its manifest named a patch.
func AttemptRefused(r *Refusal, stage Stage) *Decision {
	d := &Decision{Schema: SchemaDecision, Outcome: OutcomeRejected, Stage: stage, Validity: Validity{Semantic: notEvaluated}, Rules: Rules{Protocol: ProtocolVersion}}
	if stage == StageProtocol {
		d.Validity.ProtocolValid = new(false)
	}
	d.Rejection = &Refusal{Code: r.Code, Path: r.Path, Line: r.Line}
	d.say(r)
	return d
}

// StageOf is the stage at which a refusal of an attempt stops it.
func StageOf(c Code) Stage {
	if c == CodeDigestMismatch || c == CodeRequestKeyConflict {
		return StagePrecondition
	}
	return StageProtocol
}

const notEvaluated = "not_evaluated"
