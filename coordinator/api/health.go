package api

import (
	"encoding/json"
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"patchd/coordinator/service"
)

// Health answers a probe.
type Health struct {
	Status  string `json:"status"`
	Version string `json:"version"`
}

// registerHealth adds the probes, which need no token and tell nothing, and the metrics, which need one.
func (f *face) registerHealth(mux *http.ServeMux, metrics prometheus.Gatherer) {
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { f.healthy(w, "alive") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		if err := f.service.Ready(r.Context()); err != nil {
			detail := "the daemon is not ready"
			var known *service.Error
			if errors.As(err, &known) {
				detail = known.Message
			}
			f.logger.DebugContext(r.Context(), "not ready", "error", err)
			problem(http.StatusServiceUnavailable, string(service.ErrUnavailable), "", detail, "ask again shortly").write(w)
			return
		}
		f.healthy(w, "ready")
	})
	if metrics == nil {
		return
	}
	handler := promhttp.HandlerFor(metrics, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		if _, err := f.authorize(r.Context(), r.Header.Get("Authorization"), service.ScopeRead); err != nil {
			var p *Problem
			if errors.As(err, &p) {
				p.write(w)
			}
			return
		}
		handler.ServeHTTP(w, r)
	})
}

func (f *face) healthy(w http.ResponseWriter, status string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(Health{status, f.version}) // the client is gone: nobody is left to tell
}
