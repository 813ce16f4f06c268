package checks

import (
	"fmt"
	"regexp"
)

// The fixed environment of a check: the same strings on every machine, so that a verdict means the same everywhere.
const (
	// SearchPath is PATH: system directories, Go's usual place and the tool directories of the private home.
	SearchPath = "/usr/local/go/bin:/home/check/go/bin:/home/check/.cargo/bin:/home/check/.local/bin:" +
		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// Home is HOME as the evidence names it: a private directory, empty apart from mounts. Levels without mount namespaces use
	// another place for the same purpose and are said to by their level.
	Home = "/home/check"
	// TempDir is TMPDIR as the evidence names it.
	TempDir = "/tmp"
)

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// NewEnvironment builds the environment of a check: a fixed base, and the names that the policy passes through with the caller's
// values. A name without a value is left out. HOME and TMPDIR cannot be passed through; PATH can.
func NewEnvironment(pass []string, lookup func(name string) (string, bool)) (Environment, error) {
	env := Environment{
		"CI":      "true",
		"HOME":    Home,
		"LANG":    "C.UTF-8",
		"LOGNAME": "check",
		"PATH":    SearchPath,
		"TMPDIR":  TempDir,
		"TZ":      "UTC",
		"USER":    "check",
	}
	for _, name := range pass {
		switch {
		case !envName.MatchString(name):
			return nil, fmt.Errorf("pass environment variable %q: not a variable name", name)
		case name == "HOME" || name == "TMPDIR":
			return nil, fmt.Errorf("pass environment variable %q: a check has its own", name)
		}
		if value, ok := lookup(name); ok {
			env[name] = value
		}
	}
	return env, nil
}
