//go:build !linux

package sandbox

import (
	"context"
	"io"
)

// ServeExec is what patchd's hidden mode runs on Linux; elsewhere it only fails.
func ServeExec([]string) int { return 2 }

// Run fails with ErrUnsupported.
func (s *Sandbox) Run(context.Context, Spec, io.Writer) (Outcome, error) {
	return Outcome{}, ErrUnsupported
}

func probe(_ context.Context, opt Options, _ bool) ([]*Sandbox, Capabilities, error) {
	var caps Capabilities
	for _, level := range opt.withDefaults().Only {
		caps.Levels = append(caps.Levels, LevelReport{Level: level, Reason: ErrUnsupported.Error()})
	}
	return nil, caps, nil
}

// viewOp is a step in building the view; only Linux has any.
type viewOp struct{}
