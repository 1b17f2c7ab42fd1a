package doctor

import "fmt"

var delayedOnOneNode = Check{
	ID: "HF031", Title: "delay held on one node", Needs: SourceRabbitMQ, Runbook: "broker-unavailable.md",
	Find: func(f *Facts) (found []Finding) {
		for _, e := range f.RabbitMQ.Exchanges {
			if e.Type != "x-delayed-message" {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: f.vhost(e.VHost).subject("exchange", e.Name),
				Summary:  "what is delayed in it is on one node, not replicated, and lost with its disk",
				Evidence: []string{"type x-delayed-message, of the delayed-message plugin"},
				Notice:   "delayed messages are gone after a node was lost, or late after a restart",
				Remedy:   []string{"delay by queues with a TTL instead (Holdfast's rungs are quorum queues)", fmt.Sprintf("then delete the exchange %q", e.Name)},
			})
		}
		return found
	},
}
