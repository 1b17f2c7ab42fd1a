package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/alerts"
)

var ruleMissing = Check{
	ID: "HF200", Title: "shipped alert rule that is not loaded", Needs: SourcePrometheus, Runbook: watchPage,
	Find: func(f *Facts) (found []Finding) {
		var missing []alerts.Rule
		for _, r := range alerts.All() {
			if f.Prometheus.loaded(r.Name) == nil {
				missing = append(missing, r)
			}
		}
		if len(missing) == len(alerts.All()) {
			return []Finding{noRuleLoaded(f.Prometheus)}
		}
		for _, r := range missing {
			found = append(found, Finding{
				Severity: Warning, Subject: fmt.Sprintf("alert rule %q", r.Name),
				Summary:  "Prometheus has not loaded it, and has loaded others of the file",
				Evidence: []string{fmt.Sprintf("%d rules are loaded, none by this name", len(f.Prometheus.Rules))},
				Notice:   "no alert when this happens: " + r.Annotations["summary"],
				Remedy:   loadRules(f.Prometheus),
				Limits:   "a rule of your own under another name may tell the same",
			})
		}
		return found
	},
}

// noRuleLoaded is one finding, since it has one cause.
func noRuleLoaded(p *PrometheusFacts) Finding {
	return Finding{
		Severity: Error, Subject: "alert rules of Holdfast",
		Summary: "Prometheus has loaded none of them",
		Evidence: []string{
			fmt.Sprintf("%d rules are shipped", len(alerts.All())),
			fmt.Sprintf("%d rules are loaded, all of them others", len(p.Rules)),
		},
		Notice: "nobody is told of a failure before users tell it",
		Remedy: loadRules(p),
		Limits: "rules of your own, or another Prometheus, may tell the same",
	}
}

func loadRules(p *PrometheusFacts) []string {
	return []string{
		"holdfast rules > holdfast.yml",
		"name holdfast.yml under rule_files in prometheus.yml",
		"promtool check config prometheus.yml",
		p.reload() + " (or restart it, where that is not enabled)",
	}
}
