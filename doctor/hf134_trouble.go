package doctor

import "strings"

var brokerTrouble = Check{
	ID: "HF134", Title: "broker that is in trouble, or could lose what it has", Needs: SourceBroker, Runbook: "broker-unavailable.md",
	Find: func(f *Facts) (found []Finding) {
		for _, text := range f.Broker.Survey.Trouble {
			subject, summary, _ := strings.Cut(text, ": ")
			found = append(found, Finding{
				Severity: Warning, Subject: subject, Summary: orDefault(summary, "it is in trouble"),
				Evidence: []string{f.Broker.Product + " says so of itself"},
				Notice:   "nothing until the next failure of a machine or a disk; then messages are unreachable, refused or gone",
				Remedy:   []string{"tell whoever runs the broker"},
			})
		}
		return found
	},
}
