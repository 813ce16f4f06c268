package service

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what the daemon does. Names follow Prometheus' conventions; nothing here reaches a decision.
type metrics struct {
	submissions prometheus.Counter
	decisions   *prometheus.CounterVec
	checks      *prometheus.CounterVec
	failures    *prometheus.CounterVec
	moves       prometheus.Counter
	stale       prometheus.Counter
	landings    prometheus.Counter
	hooks       *prometheus.CounterVec
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Namespace: "patchd", Name: name, Help: help})
	}
	vector := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "patchd", Name: name, Help: help}, []string{label})
	}
	return &metrics{
		submissions: counter("submissions_total", "Submissions admitted."),
		decisions:   vector("decisions_total", "Decisions recorded, by outcome.", "outcome"),
		checks:      vector("check_runs_total", "Runs of checks, by how they ended.", "status"),
		failures:    vector("job_failures_total", "Jobs that failed and are tried again, by kind.", "kind"),
		moves:       counter("target_moves_total", "Moves of guarded branches seen."),
		hooks:       vector("webhook_deliveries_total", "Tries to deliver a webhook, by how they ended.", "status"),
		landings:    counter("landings_total", "Rounds landed."),
		stale:       counter("stale_decisions_total", "Decisions worked out again because their target had moved."),
	}
}

// Metrics registers the daemon's counters.
func (s *Service) Metrics(r prometheus.Registerer) error {
	m := s.metrics
	for _, c := range []prometheus.Collector{m.submissions, m.decisions, m.checks, m.failures, m.moves, m.stale, m.landings, m.hooks} {
		if err := r.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	return nil
}
