package holdfast

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestReadinessAndLiveness(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	good := Health{Queue: "q", State: StateAttached, ProvenAt: now, TurnAt: now}
	for name, c := range map[string]struct {
		change func(*Health)
		reason Symptom
		ready  bool
		dead   bool
	}{
		"attached":                       {change: func(*Health) {}, ready: true},
		"new":                            {change: func(h *Health) { *h = Health{State: StateNew} }, reason: SymptomDetached},
		"connecting":                     {change: func(h *Health) { h.State = StateConnecting }, reason: SymptomDetached},
		"the broker is down for a day":   {change: func(h *Health) { h.State, h.ProvenAt, h.Err = StateReconnecting, now.Add(-24*time.Hour), "refused" }, reason: SymptomDetached},
		"refused credentials":            {change: func(h *Health) { h.State, h.Credentials = StateReconnecting, true }, reason: SymptomCredentials},
		"proven just in time":            {change: func(h *Health) { h.ProvenAt = now.Add(-DefaultProven) }, ready: true},
		"not proven lately":              {change: func(h *Health) { h.ProvenAt = now.Add(-DefaultProven - 1) }, reason: SymptomUnproven},
		"braked":                         {change: func(h *Health) { h.Braked = "f" }, reason: SymptomBraked},
		"blocked":                        {change: func(h *Health) { h.Blocked = "disk" }, reason: SymptomBlocked, ready: true},
		"stuck":                          {change: func(h *Health) { h.Stuck = 1 }, reason: SymptomStuck, ready: true},
		"one at a time":                  {change: func(h *Health) { h.OneAtATime = true }, reason: SymptomOneAtATime, ready: true},
		"hanging while attached":         {change: func(h *Health) { h.TurnAt = now.Add(-DefaultTurn - 1) }, reason: SymptomHanging, dead: true},
		"hanging while it connects":      {change: func(h *Health) { h.State, h.TurnAt = StateReconnecting, now.Add(-DefaultTurn-1) }, reason: SymptomHanging, dead: true},
		"a long grace":                   {change: func(h *Health) { h.State, h.TurnAt = StateStopping, now.Add(-time.Hour) }, reason: SymptomDetached},
		"stopped in order":               {change: func(h *Health) { h.State = StateStopped }, reason: SymptomDetached},
		"stopped for good, with a fault": {change: func(h *Health) { h.State, h.Err = StateStopped, "no such queue" }, reason: SymptomFailed, dead: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := good
			c.change(&h)
			if got := ready(h, now); got.OK != c.ready || got.Reason != c.reason {
				t.Errorf("ready: %+v", got)
			}
			if got := alive(h, now); got.OK == c.dead {
				t.Errorf("alive: %+v", got)
			}
		})
	}
}

func TestReadinessNamesTheQueueAndNoErrorText(t *testing.T) {
	t.Parallel()
	of := func(h Health) Monitored { return MonitorFunc(func() Health { return h }) }
	now := time.Now()
	handler := Readiness(
		of(Health{Queue: "good", State: StateAttached, ProvenAt: now}),
		of(Health{Queue: "bad", State: StateReconnecting, Err: "secret", StuckErr: "secret", Blocked: "secret", Since: now}),
	)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/ready", nil))
	if w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), "secret") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	var got struct {
		OK     bool
		Queues []HealthCheck
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || len(got.Queues) != 2 || !got.Queues[0].OK || got.Queues[1].OK || got.Queues[1].Reason != SymptomDetached {
		t.Errorf("%+v", got)
	}
	for _, none := range []http.Handler{Readiness(), Liveness()} {
		w := httptest.NewRecorder()
		none.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `{"ok":true,"queues":[]}` {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w = httptest.NewRecorder()
		none.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
		if w.Code != http.StatusMethodNotAllowed {
			t.Errorf("POST: %d", w.Code)
		}
	}
}
