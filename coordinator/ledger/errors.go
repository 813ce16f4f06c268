package ledger

import (
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// NotFoundError says that a row that was asked for by key does not exist.
type NotFoundError struct {
	What string // the noun: "target", "content", …
	Key  string
}

func (e *NotFoundError) Error() string { return fmt.Sprintf("%s %q not found", e.What, e.Key) }

// StaleError says that the target is no longer in the state that the caller decided against.
type StaleError struct {
	Target    TargetID
	Want      Expect
	Version   Seq
	Inputs    Seq
	Commit    OID
	MovedWhat string // "version", "inputs" or "commit"
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("target %d moved: its %s is no longer as decided against (now version %d, inputs %d, commit %q)",
		e.Target, e.MovedWhat, e.Version, e.Inputs, e.Commit)
}

// RequestKeyConflictError says that a request key was used before with other content.
type RequestKeyConflictError struct {
	Key      string
	Recorded Digest
	Given    Digest
}

func (e *RequestKeyConflictError) Error() string {
	return fmt.Sprintf("request key %q was used before with other content", e.Key)
}

// AppendOnlyError says that the database refused to change what is recorded for good.
type AppendOnlyError struct{ Message string }

func (e *AppendOnlyError) Error() string { return e.Message }

// ErrNotLocked is returned when a guarded write is given a target that this transaction has not locked.
var ErrNotLocked = errors.New("target is not locked by this transaction")

// SQLSTATE values that this package acts on.
const (
	stateSerializationFailure = "40001"
	stateDeadlock             = "40P01"
	stateUniqueViolation      = "23505"
	stateDuplicateObject      = "42710"
	stateInsufficientRights   = "42501"
	stateUndefinedTable       = "42P01"
	stateAppendOnly           = "PD001"
)

func sqlState(err error) string {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code
	}
	return ""
}

// wrap names the failed action and turns the database's refusal to change a record into its own type.
func wrap(action string, err error) error {
	if err == nil {
		return nil
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) && pg.Code == stateAppendOnly {
		return fmt.Errorf("%s: %w", action, &AppendOnlyError{Message: pg.Message})
	}
	return fmt.Errorf("%s: %w", action, err)
}
