package doctor

import "fmt"

var noAlertmanager = Check{
	ID: "HF204", Title: "Prometheus that sends its alerts to nobody", Needs: SourcePrometheus, Runbook: watchPage,
	Find: func(f *Facts) []Finding {
		if f.Prometheus.Alertmanagers > 0 || len(f.Prometheus.Rules) == 0 {
			return nil // without rules there is nothing to send: see HF200
		}
		firing := 0
		for _, r := range f.Prometheus.Rules {
			if r.State == "firing" {
				firing++
			}
		}
		return []Finding{{
			Severity: Error, Subject: "Alertmanager of " + f.Prometheus.URL,
			Summary:  "no Alertmanager is known: alerts fire where nobody sees them",
			Evidence: []string{fmt.Sprintf("0 Alertmanagers; %d rules, %d of them fire now", len(f.Prometheus.Rules), firing)},
			Notice:   "nobody is woken, whatever happens",
			Remedy: []string{
				"name one in prometheus.yml, under alerting, alertmanagers",
				f.Prometheus.reload(),
			},
			Limits: "Grafana or another system may evaluate and send alerts on the same metrics; that one has, does not prove that a message arrives",
		}}
	},
}
