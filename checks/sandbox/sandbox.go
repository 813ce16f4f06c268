package sandbox

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"
)

// Level is a way of confining, as it stands in the evidence.
type Level string

// The levels, strongest first.
const (
	Bubblewrap Level = "bubblewrap"
	Namespaces Level = "namespaces"
	Landlock   Level = "landlock"
	Unconfined Level = "unconfined"
)

// Levels lists all levels, strongest first. Unconfined is used only when it is allowed explicitly.
func Levels() []Level { return []Level{Bubblewrap, Namespaces, Landlock, Unconfined} }

// Describe says in one sentence what a level gives and what it does not.
func (l Level) Describe() string {
	switch l {
	case Bubblewrap:
		return "bubblewrap: own user, pid, mount, network, ipc and uts namespaces; system directories read-only, git data read-only, " +
			"private /tmp and home, loopback only, no capabilities"
	case Namespaces:
		return "own namespaces without bubblewrap: the same view and the same limits, set up by patchd itself"
	case Landlock:
		return "Landlock and seccomp without namespaces: writes only in the worktree and a private directory, no sockets at all (not even " +
			"loopback), the process table and system directories are visible, HOME and TMPDIR differ from host to host; root runs the " +
			"command as a separate user on a copy of the tree without git data, and cannot show it directories that only root may enter; as another user, before Landlock 6 the command can " +
			"signal the daemon"
	case Unconfined:
		return "no confinement: the command has every right of the daemon's user; only time, output and descendants are bounded"
	}
	return string(l)
}

// Mount shows a host path inside. Targets are absolute; those below /home/check are meant for caches and toolchains.
type Mount struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	Writable bool   `json:"writable"`
}

// GitAccess is what a command sees of the repository that its worktree belongs to.
type GitAccess string

// Git access. Writing is never possible where mount namespaces or Landlock exist.
const (
	GitReadOnly GitAccess = "read_only" // objects and refs can be read; configuration, hooks and logs are not shown
	GitHidden   GitAccess = "hidden"    // the worktree looks as if it were no repository
)

// Limits bound one run. A zero field takes the default named beside it.
type Limits struct {
	Timeout      time.Duration // 10 minutes
	Grace        time.Duration // between TERM and KILL: 2 seconds
	MemoryBytes  int64         // resident memory and private /tmp together: 8 GiB, or three quarters of the machine's when that is less
	ScratchBytes int64         // private home and /tmp together: 4 GiB
	DiskBytes    int64         // growth of the disk that holds the worktree: 8 GiB
	Processes    int           // at once: 4096
}

// Spec is one command to run.
type Spec struct {
	Dir    string            // the worktree: the working directory, writable
	Args   []string          // the argument vector
	Env    map[string]string // all variables; HOME and TMPDIR are adapted where the level has no mount namespace
	Mounts []Mount
	Git    GitAccess // "" means GitReadOnly
	Limits Limits
}

// Cause is why a run ended.
type Cause string

// The causes. All but Exited mean that the command did not end by itself or never began.
const (
	Exited         Cause = "exited"    // by exit status or by a signal that we did not send
	TimedOut       Cause = "timeout"   // at Limits.Timeout
	OutOfMemory    Cause = "memory"    // over Limits.MemoryBytes, or the kernel's own killer
	OutOfDisk      Cause = "disk"      // over Limits.DiskBytes
	TooMany        Cause = "processes" // over Limits.Processes
	Missing        Cause = "missing"   // a program named without a slash is nowhere on PATH
	NotExecutable  Cause = "not_exec"  // the program exists in the tree's terms only: absent or not executable at the path given
	SupervisorLost Cause = "lost"      // the supervisor ended without a report
	SetupFailed    Cause = "setup"     // the confinement could not be built
)

// Outcome is how a run ended. Everything that it started is gone when an Outcome is returned.
type Outcome struct {
	Cause    Cause
	ExitCode int    // -1 when a signal ended the command or it never began
	Signal   string // "SIGSEGV", … when a signal ended the command
	Detail   string // for people: what was missing, which limit, what failed
	Level    Level
}

// Options configure a Sandbox.
type Options struct {
	// Self is the command whose process calls [ServeExec] with the arguments that follow, for example
	// {"/usr/bin/patchd", "sandbox-exec"}. The program is given by absolute path.
	Self []string
	// Bubblewrap is the program's path; "" looks in the system's usual directories.
	Bubblewrap string
	// Scratch is a directory for private homes at levels without mount namespaces; "" is the system's temporary directory.
	Scratch string
	// AllowUnconfined permits the last level when nothing else works.
	AllowUnconfined bool
	// Only restricts the choice to these levels; empty means all.
	Only []Level
}

// RefusedError says that no level of confinement works here, and for each why.
type RefusedError struct{ Capabilities Capabilities }

// Error lists every level with its reason.
func (e *RefusedError) Error() string {
	var why []string
	for _, r := range e.Capabilities.Levels {
		if !r.Available {
			why = append(why, fmt.Sprintf("%s: %s", r.Level, r.Reason))
		}
	}
	return "refuse to run checks unconfined (" + strings.Join(why, "; ") + "); install bubblewrap, or allow it with --allow-unsandboxed-checks"
}

// ErrUnsupported says that this operating system has no way of confining that patchd knows.
var ErrUnsupported = errors.New("checks run on Linux only")

// LevelReport says whether a level works on this host.
type LevelReport struct {
	Level     Level  `json:"level"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"` // why not
}

// Capabilities is what a host allows, strongest level first.
type Capabilities struct {
	Levels []LevelReport `json:"levels"`
}

// Best returns the strongest level that works, or false.
func (c Capabilities) Best() (Level, bool) {
	for _, r := range c.Levels {
		if r.Available {
			return r.Level, true
		}
	}
	return "", false
}

// Available reports whether one level works.
func (c Capabilities) Available(level Level) bool {
	for _, r := range c.Levels {
		if r.Level == level {
			return r.Available
		}
	}
	return false
}

// Sandbox runs commands at one level, chosen when it was made. It is safe for concurrent use.
type Sandbox struct {
	opt       Options
	level     Level
	caps      Capabilities
	userSpace bool          // user namespaces work
	runs      atomic.Uint32 // numbers the separate users
}

// New chooses the strongest level that works here; *RefusedError when none does. Weaker levels are not tried: see [Probe].
func New(ctx context.Context, opt Options) (*Sandbox, error) {
	boxes, caps, err := probe(ctx, opt, true)
	if err != nil {
		return nil, err
	}
	if len(boxes) == 0 {
		return nil, &RefusedError{Capabilities: caps}
	}
	boxes[0].caps = caps
	return boxes[0], nil
}

// Probe tries every level in opt.Only by running a program in it, and says for each that fails why.
func Probe(ctx context.Context, opt Options) (Capabilities, error) {
	_, caps, err := probe(ctx, opt, false)
	return caps, err
}

// Level is how commands are confined.
func (s *Sandbox) Level() Level { return s.level }

// Capabilities is what was found out about the levels up to the one in use.
func (s *Sandbox) Capabilities() Capabilities { return s.caps }
