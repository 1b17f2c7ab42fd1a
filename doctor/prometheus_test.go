package doctor

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/alerts"
	"github.com/holdfast-mq/holdfast/broker"
)

// wired is a Prometheus that has loaded all rules and scrapes a service, a relay
// and holdfast serve.
func wired() *Facts {
	p := &PrometheusFacts{URL: "http://prometheus:9090", Labels: alerts.Labels(), Alertmanagers: 1}
	for _, r := range alerts.All() {
		p.Rules = append(p.Rules, Rule{
			Group: r.Group, Name: r.Name, Query: strings.ReplaceAll(r.Expr, "by (", "by("), Health: "ok",
			Evaluated: now.Add(-20 * time.Second), Interval: 15 * time.Second, State: "inactive",
		})
	}
	p.Rules = append(p.Rules, Rule{Name: "TheirOwn", Query: "up == 0", Health: "err", LastError: "theirs", Interval: time.Minute})
	p.Targets = []Target{
		{Job: "billing", Address: "billing:9464", Up: true, Ours: true},
		{Job: "holdfast", Address: "serve:9464", Up: true, Ours: true},
		{Job: "theirs", Address: "db:9187", LastError: "connection refused"},
	}
	return &Facts{Now: now, Prometheus: p}
}

// brokenWiring is one fault each in wiring that is well otherwise; what it
// changes is what the finding is about.
var brokenWiring = []struct {
	name, id, subject, evidence string
	seed                        func(*PrometheusFacts)
}{
	{"no rule", "HF200", "alert rules of Holdfast", "1 rules are loaded", func(p *PrometheusFacts) {
		p.Rules = p.Rules[len(p.Rules)-1:]
		delete(p.Labels, "holdfast_parked_total")
	}},
	{"one rule less", "HF200", `alert rule "HoldfastStrays"`, "none by this name", func(p *PrometheusFacts) {
		p.Rules = slices.DeleteFunc(p.Rules, func(r Rule) bool { return r.Name == "HoldfastStrays" })
	}},
	{"a rule that fails", "HF201", `alert rule "HoldfastStrays"`, "many-to-many", func(p *PrometheusFacts) {
		r := p.loaded("HoldfastStrays")
		r.Health, r.LastError = "err", "many-to-many matching not allowed"
	}},
	{"a rule never evaluated", "HF201", `alert rule "HoldfastStrays"`, "unknown", func(p *PrometheusFacts) {
		r := p.loaded("HoldfastStrays")
		r.Health, r.Evaluated = "unknown", time.Time{}
	}},
	{"a rule evaluated long ago", "HF201", `alert rule "HoldfastStrays"`, "46s ago", func(p *PrometheusFacts) {
		p.loaded("HoldfastStrays").Evaluated = now.Add(-46 * time.Second)
	}},
	{"another expression", "HF202", `alert rule "HoldfastSettlementsStuck"`, "holdfast_stuck > 5", func(p *PrometheusFacts) {
		p.loaded("HoldfastSettlementsStuck").Query = "holdfast_stuck > 5"
	}},
	{"another value in quotes", "HF202", `alert rule "HoldfastStrays"`, `"stra ys"`, func(p *PrometheusFacts) {
		p.loaded("HoldfastStrays").Query = `holdfast_queue_messages{role="stra ys"} > 0`
	}},
	{"an observer forgotten", "HF203", `metric "holdfast_parked_total"`, "HoldfastPoison", func(p *PrometheusFacts) { delete(p.Labels, "holdfast_parked_total") }},
	{"a label dropped", "HF203", `metric "holdfast_parked_total"`, "queue", func(p *PrometheusFacts) { p.Labels["holdfast_parked_total"] = []string{"queue"} }},
	{"no Alertmanager", "HF204", "Alertmanager of http://prometheus:9090", "0 Alertmanagers", func(p *PrometheusFacts) { p.Alertmanagers = 0 }},
	{"a target down", "HF205", `target "billing:9464" of job "billing"`, "connection refused", func(p *PrometheusFacts) {
		p.Targets[0].Up, p.Targets[0].LastError = false, "connection refused"
	}},
	{"no holdfast serve", "HF205", "scrape of holdfast serve", "3 targets", func(p *PrometheusFacts) {
		p.Targets[1].Ours = false
		delete(p.Labels, "holdfast_broker_up")
	}},
}

func TestAPrometheusThatIsWellWiredGivesNoFinding(t *testing.T) {
	for _, found := range Examine(wired()).Findings {
		t.Errorf("%s %s: %s %v", found.ID, found.Subject, found.Summary, found.Evidence)
	}
}

func TestEveryFaultOfTheWiringIsFoundOnce(t *testing.T) {
	for _, c := range brokenWiring {
		t.Run(c.name, func(t *testing.T) {
			f := wired()
			c.seed(f.Prometheus)
			found := Examine(f).Findings
			if len(found) != 1 || found[0].ID != c.id || found[0].Subject != c.subject {
				t.Fatalf("found %+v, want one of %s on %s", found, c.id, c.subject)
			}
			if !strings.Contains(strings.Join(found[0].Evidence, "; "), c.evidence) {
				t.Errorf("the evidence %q does not say %q", found[0].Evidence, c.evidence)
			}
			whole(t, found[0])
		})
	}
}

func TestAMetricThatNothingTellsYetIsNoFinding(t *testing.T) {
	f := wired()
	for _, metric := range []string{
		"holdfast_broker_up", "holdfast_queue_messages", "holdfast_relay_up", "holdfast_relay_blocked", "holdfast_set_aside", "holdfast_proven_timestamp_seconds",
	} {
		delete(f.Prometheus.Labels, metric)
	}
	for _, found := range Examine(f).Findings {
		if found.ID == "HF203" {
			t.Errorf("%s: %s", found.Subject, found.Summary)
		}
	}
}

func TestEveryCheckOfThePrometheusHasAFault(t *testing.T) {
	shown := map[string]bool{}
	for _, c := range brokenWiring {
		shown[c.id] = true
	}
	for _, c := range prometheusChecks {
		if !shown[c.ID] {
			t.Errorf("no fault shows that %s finds anything", c.ID)
		}
	}
}

// TestLookAtAnotherServer names what is wrong in a person's words, and keeps what
// is secret in a query out of the address that it shows.
func TestLookAtAnotherServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"data": 7}`) }))
	defer server.Close()
	_, err := LookAtPrometheus(t.Context(), server.URL+"/?token=topsecret")
	if !errors.Is(err, broker.ErrUnreachable) || strings.Contains(err.Error(), "struct") || strings.Contains(err.Error(), "topsecret") {
		t.Errorf("%v", err)
	}
}
