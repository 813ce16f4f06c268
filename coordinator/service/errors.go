package service

import "fmt"

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
