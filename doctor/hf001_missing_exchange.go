package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/topology"
)

var missingDeadLetterExchange = Check{
	ID: "HF001", Title: "dead-letter exchange that does not exist", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, exchange := range v.ended(func(h topology.Hop) bool { return !h.Exists }) {
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("exchange", exchange.name),
					Summary:  fmt.Sprintf("%s dead-letter to it, and it does not exist: what is rejected or expires there is gone", exchange.who()),
					Evidence: exchange.evidence(),
					Notice:   "single things never happen: the message that was to do them was rejected once, and no queue has it",
					Remedy: []string{
						"declare the exchange with a queue behind it, as the service that owns these queues does at its start",
						"holdfast doctor",
					},
					Limits: "it is not known whether anything has been rejected so far: the broker keeps no trace of what it drops",
				})
			}
		}
		return found
	},
}
