package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	llsys "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// leastLandlock is the first version of Landlock that also guards truncation.
const leastLandlock = 3

// probe tries levels in order and returns a Sandbox for each that works; with first it stops at the first.
func probe(ctx context.Context, opt Options, first bool) ([]*Sandbox, Capabilities, error) {
	opt = opt.withDefaults()
	var caps Capabilities
	if len(opt.Self) == 0 || !filepath.IsAbs(opt.Self[0]) {
		return nil, caps, errors.New("probe sandbox: the program to start again must be given by absolute path")
	}
	dir, err := os.MkdirTemp("", "patchd-probe-")
	if err != nil {
		return nil, caps, fmt.Errorf("probe sandbox: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty directory of ours

	var boxes []*Sandbox
	for _, level := range Levels() {
		if !slices.Contains(opt.Only, level) {
			continue
		}
		box, reason := tryLevel(ctx, opt, level, dir)
		if err := ctx.Err(); err != nil {
			return nil, caps, fmt.Errorf("probe sandbox: %w", err)
		}
		caps.Levels = append(caps.Levels, LevelReport{Level: level, Available: box != nil, Reason: reason})
		if box == nil {
			continue
		}
		boxes = append(boxes, box)
		if first {
			break
		}
	}
	return boxes, caps, nil
}

// tryLevel returns a Sandbox, or why the level does not work.
func tryLevel(ctx context.Context, opt Options, level Level, dir string) (*Sandbox, string) {
	switch level {
	case Bubblewrap:
		if opt.Bubblewrap == "" {
			return nil, "bwrap is not installed"
		}
	case Landlock:
		if v, err := llsys.LandlockGetABIVersion(); err != nil || v < leastLandlock {
			return nil, fmt.Sprintf("the kernel's Landlock is absent or too old (version %d, %d is needed)", max(v, 0), leastLandlock)
		}
	case Unconfined:
		if !opt.AllowUnconfined {
			return nil, "not allowed"
		}
	case Namespaces:
	}
	box := &Sandbox{opt: opt, level: level, userSpace: true}
	why := box.try(ctx, dir)
	if why != "" && level == Namespaces && os.Geteuid() == 0 {
		box.userSpace = false
		if box.try(ctx, dir) == "" {
			return box, ""
		}
	}
	if why != "" {
		return nil, why
	}
	return box, ""
}

// try runs a program that does nothing; "" when that works.
func (s *Sandbox) try(ctx context.Context, dir string) string {
	var said firstBytes
	end, err := s.Run(ctx, Spec{
		Dir: dir, Args: []string{"true"}, Env: map[string]string{"PATH": "/usr/bin:/bin:/run/current-system/sw/bin"},
		Limits: Limits{Timeout: 20 * time.Second, Grace: time.Second},
	}, &said)
	switch {
	case err != nil:
		return err.Error()
	case end.Cause == Exited && end.ExitCode == 0:
		return ""
	case len(said) > 0:
		line, _, _ := strings.Cut(string(said), "\n")
		return fmt.Sprintf("%s (%s)", line, end.Detail)
	case end.Detail != "":
		return end.Detail
	}
	return fmt.Sprintf("a trial ended with %s, exit status %d", end.Cause, end.ExitCode)
}

// firstBytes keeps the beginning of what a failing trial prints.
type firstBytes []byte

// Write keeps at most 400 bytes.
func (f *firstBytes) Write(p []byte) (int, error) {
	const most = 400
	if room := most - len(*f); room > 0 {
		*f = append(*f, p[:min(room, len(p))]...)
	}
	return len(p), nil
}
