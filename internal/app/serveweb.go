package app

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/holdfast-mq/holdfast/doctor"
)

// lookoutHealth is what a lookout says of itself.
type lookoutHealth struct {
	Live  bool `json:"live"`
	Ready bool `json:"ready"`

	// Error is why nothing answered, Blind what else could not be looked at.
	Error      string    `json:"error,omitempty"`
	ExaminedAt time.Time `json:"examined_at,omitzero"` // the last complete look
	Findings   int       `json:"findings"`
	Blind      []string  `json:"blind,omitempty"`
}

// health is alive as long as looks begin, and ready while they are complete. A
// broker that is down makes it not ready, and restarting it would mend nothing.
func (l *Lookout) health(now time.Time) lookoutHealth {
	s := l.sight()
	h := lookoutHealth{
		Live:       s.began.IsZero() || now.Sub(s.began) < l.cfg.Every+2*lookTimeout,
		Ready:      s.err == nil && !s.complete.IsZero() && now.Sub(s.complete) < l.cfg.Every+lookTimeout,
		ExaminedAt: s.complete.UTC(), Findings: len(s.report.Findings), Blind: s.report.Blind,
	}
	if s.err != nil {
		h.Error = s.err.Error()
	}
	return h
}

// lookoutReport is the last look that was answered.
type lookoutReport struct {
	ExaminedAt time.Time `json:"examined_at,omitzero"`

	// Error says that what follows is of an earlier look, and why.
	Error string `json:"error,omitempty"`
	doctor.Report
}

// Handler serves /metrics, /health (live and ready in one answer, 503 when it is
// not ready), /health/live, /health/ready and /findings.
func (l *Lookout) Handler(metrics http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)
	answer := func(ok func(lookoutHealth) bool) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			h := l.health(time.Now())
			writeJSON(w, ok(h), h)
		}
	}
	ready := answer(func(h lookoutHealth) bool { return h.Ready })
	mux.Handle("GET /health", ready)
	mux.Handle("GET /health/ready", ready)
	mux.Handle("GET /health/live", answer(func(h lookoutHealth) bool { return h.Live }))
	mux.HandleFunc("GET /findings", func(w http.ResponseWriter, _ *http.Request) {
		s := l.sight()
		out := lookoutReport{ExaminedAt: s.complete.UTC(), Report: s.report}
		if s.err != nil {
			out.Error = s.err.Error()
		}
		if out.Findings == nil {
			out.Findings = []doctor.Finding{}
		}
		writeJSON(w, s.facts != nil, out)
	})
	return mux
}

func writeJSON(w http.ResponseWriter, ok bool, v any) {
	code := http.StatusOK
	if !ok {
		code = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(v) // the client is gone, and it was its answer
}
