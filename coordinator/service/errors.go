package service

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrorCode says what kind of failure an Error is; each face maps the codes once.
type ErrorCode string

// The codes of errors that are answers, apart from the protocol's own.
const (
	ErrNotFound     ErrorCode = "not_found"
	ErrAmbiguous    ErrorCode = "ambiguous"
	ErrInvalid      ErrorCode = "invalid"
	ErrForbidden    ErrorCode = "forbidden"
	ErrUnauthorized ErrorCode = "unauthorized"
	ErrTooLarge     ErrorCode = "too_large"
	ErrStale        ErrorCode = "stale" // what was read has changed since
	ErrUnavailable  ErrorCode = "unavailable"
)

// Error is a failure that a client can act on.
type Error struct {
	Code    ErrorCode
	Field   string // the request field at fault
	Message string
	Hint    string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + " (" + e.Hint + ")"
}

func errf(code ErrorCode, field, hint, format string, args ...any) *Error {
	return &Error{Code: code, Field: field, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// away turns the absence of the database into an answer that clients wait for: they ask again.
func away(err *error) {
	if *err != nil && databaseAway(*err) {
		*err = errf(ErrUnavailable, "", "try again in a moment", "the database does not answer: %v", *err)
	}
}

// databaseAway reports whether a connection could not be made, broke, or was ended by the server.
func databaseAway(err error) bool {
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return true
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return strings.HasPrefix(pg.Code, "57P") || strings.HasPrefix(pg.Code, "08") // operator intervention, connection exception
	}
	return pgconn.SafeToRetry(err)
}
