package holdfast

import (
	"encoding/json"
	"net/http"
	"time"
)

const (
	// DefaultProven is how old a proof of the attachment may be for a consumer to
	// be ready. It is proven every 15 s, and the broker may take 10 s to answer.
	DefaultProven = time.Minute

	// DefaultTurn is how long a consumer may not have gone round its own loop
	// before it is not alive.
	DefaultTurn = 5 * time.Minute
)

// Monitored is a [Consumer] or a [Responder], or a relay or anything else by
// [MonitorFunc]. Health may be called concurrently.
type Monitored interface {
	Health() Health
}

// MonitorFunc is a function that is [Monitored]. For what is no consumer, Queue is
// the name to show, State is StateAttached while it works, and Err says why not;
// without ProvenAt and TurnAt neither is asked for.
type MonitorFunc func() Health

// Health calls f.
func (f MonitorFunc) Health() Health { return f() }

// HealthCheck is what [Readiness] and [Liveness] say of one consumer. It carries no
// error text, since whoever asks may be anybody: that is in [Health] and in the
// log.
type HealthCheck struct {
	Queue    string    `json:"queue"`
	OK       bool      `json:"ok"`
	State    State     `json:"state"`
	Reason   Symptom   `json:"reason,omitempty"` // also where OK: what else is wrong
	Since    time.Time `json:"since,omitzero"`   // of State, or of the brake
	ProvenAt time.Time `json:"proven_at,omitzero"`

	// Fingerprint is what the brake is on for.
	Fingerprint string `json:"fingerprint,omitempty"`
}

// Symptom is the worst that is wrong with a consumer. The set is closed.
type Symptom string

// The symptoms, the worst first. The last three do not keep a consumer from being
// ready: messages arrive.
const (
	SymptomHanging     Symptom = "hanging"             // it does not go round its own loop any more
	SymptomFailed      Symptom = "failed"              // Run has returned an error
	SymptomCredentials Symptom = "credentials_refused" // the broker refuses who we are
	SymptomDetached    Symptom = "not_attached"        // connecting, reconnecting, stopping, stopped
	SymptomUnproven    Symptom = "not_proven_lately"   // attached once, and not proven for too long
	SymptomBraked      Symptom = "braked"              // attached, and standing still
	SymptomBlocked     Symptom = "blocked"             // the broker accepts no publishes: failing messages wait
	SymptomStuck       Symptom = "stuck"               // copies are refused: their messages wait
	SymptomOneAtATime  Symptom = "one_at_a_time"       // a message may have killed a process
)

// Readiness answers 200 while messages can arrive at every one of all, and 503
// otherwise: attached, proven within [DefaultProven], and not braked. A broker that
// is down makes a process not ready; its restart would not help.
//
// The answer to a GET is {"ok": …, "queues": […]}, one [HealthCheck] for each, in
// their order. It reads what consumers know, and asks no broker.
func Readiness(all ...Monitored) http.Handler { return healthHandler{all, ready} }

// Liveness answers 200 while every one of all can help itself, and 503 when only a
// restart can: its loop has stood for [DefaultTurn], or its Run has returned an
// error. It is never about the broker: a consumer that cannot reach it is alive.
func Liveness(all ...Monitored) http.Handler { return healthHandler{all, alive} }

type healthHandler struct {
	all   []Monitored
	check func(Health, time.Time) HealthCheck
}

// ServeHTTP implements [http.Handler].
func (h healthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "ask with GET", http.StatusMethodNotAllowed)
		return
	}
	answer := struct {
		OK     bool          `json:"ok"`
		Queues []HealthCheck `json:"queues"`
	}{true, make([]HealthCheck, 0, len(h.all))}
	for _, m := range h.all {
		c := h.check(m.Health(), time.Now())
		answer.OK = answer.OK && c.OK
		answer.Queues = append(answer.Queues, c)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if !answer.OK {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	_ = json.NewEncoder(w).Encode(answer) // the client is gone, and it was its answer
}

// ready judges whether messages can arrive.
func ready(h Health, now time.Time) HealthCheck {
	c := checkOf(h, symptomOf(h, now))
	switch c.Reason {
	case "", SymptomBlocked, SymptomStuck, SymptomOneAtATime:
		c.OK = true
	}
	return c
}

// alive judges whether a restart is needed.
func alive(h Health, now time.Time) HealthCheck {
	c := checkOf(h, symptomOf(h, now))
	c.OK = c.Reason != SymptomHanging && c.Reason != SymptomFailed
	return c
}

func checkOf(h Health, s Symptom) HealthCheck {
	c := HealthCheck{Queue: h.Queue, State: h.State, Reason: s, Since: h.Since, ProvenAt: h.ProvenAt, Fingerprint: h.Braked}
	if s == SymptomBraked {
		c.Since = h.BrakedSince
	}
	return c
}

func symptomOf(h Health, now time.Time) Symptom {
	switch {
	case h.hanging(now):
		return SymptomHanging
	case h.State == StateStopped && h.Err != "":
		return SymptomFailed
	case h.Credentials:
		return SymptomCredentials
	case h.State != StateAttached:
		return SymptomDetached
	case !h.ProvenAt.IsZero() && now.Sub(h.ProvenAt) > DefaultProven:
		return SymptomUnproven
	case h.Braked != "":
		return SymptomBraked
	case h.Blocked != "":
		return SymptomBlocked
	case h.Stuck > 0:
		return SymptomStuck
	case h.OneAtATime:
		return SymptomOneAtATime
	default:
		return ""
	}
}

// hanging is never said of a consumer that does not run, or that is told to stop:
// its grace may be long.
func (h Health) hanging(now time.Time) bool {
	switch h.State {
	case StateConnecting, StateAttached, StateReconnecting:
		return !h.TurnAt.IsZero() && now.Sub(h.TurnAt) > DefaultTurn
	default:
		return false
	}
}
