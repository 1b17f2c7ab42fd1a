package doctor

import "fmt"

var loneReplica = Check{
	ID: "HF035", Title: "quorum queue with one member in a cluster of several nodes", Needs: SourceRabbitMQ, Runbook: "broker-unavailable.md",
	Find: func(f *Facts) (found []Finding) {
		if len(f.RabbitMQ.Nodes) < 2 {
			return nil
		}
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if q.Type != "quorum" || len(q.Members) != 1 {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("it lives on one node alone, of %d: it is durable, and not available", len(f.RabbitMQ.Nodes)),
					Evidence: []string{fmt.Sprintf("members: %s", quoted(q.Members))},
					Notice:   "it stands still whenever that node is restarted",
					Remedy:   []string{"rabbitmq-queues grow NODE all --queue-pattern " + q.Name},
				})
			}
		}
		return found
	},
}
