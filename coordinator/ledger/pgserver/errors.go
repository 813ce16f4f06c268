package pgserver

import (
	"fmt"
	"strings"
)

// NotFoundError says that PostgreSQL's programs are not installed and could not be fetched. Its message is one
// line that says what to install.
type NotFoundError struct {
	// Major is the version that an existing cluster needs; zero when any will do.
	Major int
	// Cause is why fetching failed; nil when it was not tried.
	Cause error
}

func (e *NotFoundError) Error() string {
	what := "PostgreSQL's programs (initdb, postgres) were not found: install the package \"postgresql\""
	if e.Major != 0 {
		what = fmt.Sprintf("PostgreSQL %d's programs, which made this data directory, were not found: install the package \"postgresql-%d\"", e.Major, e.Major)
	}
	what += ", or give --database-url"
	if e.Cause != nil {
		line, _, _ := strings.Cut(e.Cause.Error(), "\n")
		what += " (fetching them failed: " + line + ")"
	}
	return what
}

// Unwrap gives the reason why fetching failed.
func (e *NotFoundError) Unwrap() error { return e.Cause }

// LockedError says that another daemon uses the data directory.
type LockedError struct{ Path string }

func (e *LockedError) Error() string {
	return fmt.Sprintf("data directory is in use by another daemon (lock file %q)", e.Path)
}

// StartError says that the server did not come up, with the end of what it logged.
type StartError struct {
	Reason string
	Log    string
}

func (e *StartError) Error() string {
	if e.Log == "" {
		return "server did not start: " + e.Reason
	}
	return "server did not start: " + e.Reason + ": " + e.Log
}
