package doctor

import (
	"fmt"
	"time"
)

// idleIntervals is how often in a row a rule may be left out: a Prometheus that
// restarts leaves out one or two.
const idleIntervals = 3

var ruleIdle = Check{
	ID: "HF201", Title: "alert rule that fails, or is not evaluated", Needs: SourcePrometheus, Runbook: watchPage,
	Find: func(f *Facts) (found []Finding) {
		for _, r := range f.Prometheus.Rules {
			if _, ours := shipped(r.Name); !ours {
				continue
			}
			summary, evidence := idle(f.Now, r)
			if summary == "" {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("alert rule %q", r.Name), Summary: summary, Evidence: evidence,
				Notice: "no alert, whatever happens: a rule that fails looks like one that has nothing to tell",
				Remedy: []string{
					"promtool check rules holdfast.yml",
					"see the page Status, Rules at " + f.Prometheus.URL + "/rules",
					"where many are late, its own load: prometheus_rule_group_iterations_missed_total",
				},
				Limits: "a Prometheus that has just started has evaluated nothing yet",
			})
		}
		return found
	},
}

func idle(now time.Time, r Rule) (summary string, evidence []string) {
	late := now.Sub(r.Evaluated)
	switch {
	case r.Health == "err":
		return "its evaluation fails", []string{r.LastError}
	case r.Evaluated.IsZero():
		return "it was never evaluated", []string{fmt.Sprintf("its health is %q; group %q is evaluated every %v", r.Health, r.Group, r.Interval)}
	case late > idleIntervals*r.Interval && r.Interval > 0:
		return "it is not evaluated any more", []string{
			fmt.Sprintf("evaluated %v ago for the last time", late.Round(time.Second)),
			fmt.Sprintf("group %q is to be evaluated every %v", r.Group, r.Interval),
		}
	}
	return "", nil
}
