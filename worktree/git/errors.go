package git

import (
	"fmt"
	"strings"
)

// UnsupportedError says that a repository, or the git that was found, cannot be served; Hint says what to do.
type UnsupportedError struct{ What, Hint string }

// Error implements error.
func (e *UnsupportedError) Error() string {
	if e.Hint == "" {
		return e.What + " is not supported"
	}
	return e.What + " is not supported: " + e.Hint
}

// NotRepositoryError says that no git repository was found at or above a directory.
type NotRepositoryError struct{ Dir string }

// Error implements error.
func (e *NotRepositoryError) Error() string {
	return fmt.Sprintf("%q is not in a git repository", e.Dir)
}

// CommandError is a git process that failed. Args leave out the settings that every command carries; ExitCode is -1
// when a signal ended it.
type CommandError struct {
	Args     []string
	ExitCode int
	Stderr   string
}

// Error implements error.
func (e *CommandError) Error() string {
	line, _, _ := strings.Cut(strings.TrimSpace(e.Stderr), "\n")
	return fmt.Sprintf("git %s: exit status %d: %s", strings.Join(e.Args, " "), e.ExitCode, line)
}

// MalformedError says that an object's bytes are not what its type asks for.
type MalformedError struct {
	OID  OID
	Type ObjectType
	Why  string
}

// Error implements error.
func (e *MalformedError) Error() string {
	if e.OID == "" {
		return fmt.Sprintf("malformed %s: %s", e.Type, e.Why)
	}
	return fmt.Sprintf("malformed %s %s: %s", e.Type, e.OID, e.Why)
}

// LimitError says that an object is larger than the reader may hold in memory. Sizes are in bytes.
type LimitError struct {
	OID         OID
	Size, Limit int64
}

// Error implements error.
func (e *LimitError) Error() string {
	return fmt.Sprintf("object %s has %d bytes, more than the limit of %d", e.OID, e.Size, e.Limit)
}

// CollisionError says that a file would stand where a directory is needed, or the reverse.
type CollisionError struct{ Path string }

// Error implements error.
func (e *CollisionError) Error() string {
	return fmt.Sprintf("%q would be both a file and a directory", e.Path)
}

// RefConflictError says that a reference is not at the value that an update expected.
// Want is ZeroOID where it was to be absent; Got is ZeroOID where it is absent.
type RefConflictError struct {
	Ref       Ref
	Want, Got OID
}

// Error implements error.
func (e *RefConflictError) Error() string {
	return fmt.Sprintf("reference %s is at %s, not at %s", e.Ref, e.Got, e.Want)
}

// LockedError says that a lock file of git's is held, or was left behind by a git that was killed.
type LockedError struct{ Path string }

// Error implements error.
func (e *LockedError) Error() string { return fmt.Sprintf("git lock %q is held", e.Path) }
