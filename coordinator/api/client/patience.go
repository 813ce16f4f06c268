package client

import (
	"context"
	"errors"
	"net/http"
	"time"

	"patchd/coordinator/api"
)

// patience decides how long a request is repeated while nobody answers.
type patience struct {
	until   *time.Timer // nil: not at all
	pause   time.Duration
	waiting func(error)
}

// Pauses between repetitions: the first, and the longest.
const (
	firstPause = 50 * time.Millisecond
	mostPause  = time.Second
)

func newPatience(o Options, repeatable bool) *patience {
	p := &patience{pause: firstPause, waiting: o.Waiting}
	if repeatable && o.Patience > 0 {
		p.until = time.NewTimer(o.Patience)
	}
	return p
}

func (p *patience) stop() {
	if p.until != nil {
		p.until.Stop()
	}
}

// again waits for a while and reports whether to send the request once more.
func (p *patience) again(ctx context.Context, err error) bool {
	if p.until == nil || !temporary(err) {
		return false
	}
	if p.waiting != nil {
		p.waiting(err)
	}
	pause := time.NewTimer(p.pause)
	defer pause.Stop()
	p.pause = min(2*p.pause, mostPause)
	select {
	case <-ctx.Done():
		return false
	case <-p.until.C:
		p.until = nil
		return false
	case <-pause.C:
		return true
	}
}

// temporary reports whether the daemon was away or not ready, as in a restart.
func temporary(err error) bool {
	var away *UnreachableError
	if errors.As(err, &away) {
		return true
	}
	var p *api.Problem
	return errors.As(err, &p) && p.Status == http.StatusServiceUnavailable
}
