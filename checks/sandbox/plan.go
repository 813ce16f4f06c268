package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// The places inside a mount namespace. They are the same on every machine.
const (
	// Checkout is where the worktree is seen.
	Checkout = "/home/check/src"
	// Home is the private home directory.
	Home = "/home/check"

	insideSelf = "/run/patchd/sandbox"
	insideUID  = 1000
)

// plan is what the supervisor and the launcher are told, as JSON over a pipe: nothing of it can be read from a process list.
type plan struct {
	Level     Level             `json:"level"`
	Self      []string          `json:"self"` // how the launcher is started, as seen from inside
	Dir       string            `json:"dir"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	View      []viewOp          `json:"view,omitempty"`    // built by the supervisor; empty where bubblewrap did it or nobody does
	PIDSpace  bool              `json:"pid_space"`         // the supervisor is process 1: killing all means killing -1
	User      int               `json:"user,omitempty"`    // a separate user to become; 0 keeps
	Private   string            `json:"private,omitempty"` // to be removed when the daemon is gone; where this process can see it
	ReadOnly  []string          `json:"read_only,omitempty"`
	ReadWrite []string          `json:"read_write,omitempty"`
	Memory    []string          `json:"memory,omitempty"` // file systems in memory: what is used counts as memory
	Disks     []string          `json:"disks,omitempty"`  // writable directories on real disks
	Limits    Limits            `json:"limits"`
}

// report is what the supervisor answers.
type report struct {
	Cause    Cause  `json:"cause"`
	ExitCode int    `json:"exit_code"`
	Signal   string `json:"signal,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

const cancelled Cause = "cancelled" // never leaves the package: Run returns the context's error

// withDefaults fills zero fields.
func (o Options) withDefaults() Options {
	if len(o.Self) > 0 {
		if path, err := filepath.EvalSymlinks(o.Self[0]); err == nil {
			o.Self = append([]string{path}, o.Self[1:]...)
		}
	}
	if o.Scratch == "" {
		o.Scratch = os.TempDir()
	}
	if len(o.Only) == 0 {
		o.Only = Levels()
	}
	if o.Bubblewrap == "" {
		o.Bubblewrap = findProgram("bwrap", "/usr/bin", "/usr/local/bin", "/bin", "/run/current-system/sw/bin")
	}
	return o
}

func findProgram(name string, dirs ...string) string {
	for _, dir := range dirs {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

const (
	gib              = 1 << 30
	defaultTimeout   = 10 * time.Minute
	defaultGrace     = 2 * time.Second
	defaultMemory    = 8 * gib
	defaultScratch   = 4 * gib
	defaultDisk      = 8 * gib
	defaultProcesses = 4096
)

// withDefaults fills zero fields; memory is the machine's, in bytes.
func (l Limits) withDefaults(memory int64) Limits {
	if l.Timeout <= 0 {
		l.Timeout = defaultTimeout
	}
	if l.Grace <= 0 {
		l.Grace = defaultGrace
	}
	if l.MemoryBytes <= 0 {
		l.MemoryBytes = defaultMemory
		if memory > 0 {
			l.MemoryBytes = min(l.MemoryBytes, memory/4*3)
		}
	}
	if l.ScratchBytes <= 0 {
		l.ScratchBytes = defaultScratch
	}
	if l.DiskBytes <= 0 {
		l.DiskBytes = defaultDisk
	}
	if l.Processes <= 0 {
		l.Processes = defaultProcesses
	}
	return l
}

// checked returns spec with resolved paths, or says what makes no sense in it.
func (spec Spec) checked() (Spec, error) {
	if len(spec.Args) == 0 || spec.Args[0] == "" {
		return spec, errors.New("no command")
	}
	for _, text := range append(slices.Clone(spec.Args), envPairs(spec.Env)...) {
		if strings.ContainsRune(text, 0) {
			return spec, errors.New("a NUL byte in an argument or variable")
		}
	}
	dir, err := filepath.EvalSymlinks(spec.Dir)
	if err != nil {
		return spec, fmt.Errorf("resolve worktree: %w", err)
	}
	if spec.Dir, err = filepath.Abs(dir); err != nil {
		return spec, fmt.Errorf("resolve worktree: %w", err)
	}
	if spec.Git == "" {
		spec.Git = GitReadOnly
	}
	spec.Mounts = slices.Clone(spec.Mounts)
	for i, m := range spec.Mounts {
		if err := m.check(); err != nil {
			return spec, err
		}
		if spec.Mounts[i].Source, err = filepath.EvalSymlinks(m.Source); err != nil {
			return spec, fmt.Errorf("resolve mount: %w", err)
		}
	}
	return spec, nil
}

// check refuses targets that would cover what the view itself provides.
func (m Mount) check() error {
	if !filepath.IsAbs(m.Source) || !filepath.IsAbs(m.Target) || filepath.Clean(m.Target) != m.Target {
		return fmt.Errorf("mount %q at %q: both must be clean absolute paths", m.Source, m.Target)
	}
	for _, own := range []string{"/proc", "/dev", "/sys", "/etc", "/usr", "/bin", "/sbin", "/lib", "/run/patchd", Checkout} {
		if m.Target == own || strings.HasPrefix(m.Target, own+"/") || strings.HasPrefix(own, m.Target+"/") {
			return fmt.Errorf("mount %q at %q: the place is taken", m.Source, m.Target)
		}
	}
	if m.Target == "/" || m.Target == Home || strings.HasPrefix(Home, m.Target+"/") {
		return fmt.Errorf("mount %q at %q: the place is taken", m.Source, m.Target)
	}
	return nil
}

// envPairs writes variables as NAME=value, sorted.
func envPairs(env map[string]string) []string {
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
