package doctor

import "github.com/holdfast-mq/holdfast/topology"

var unlimitedBeforeVersion4 = Check{
	ID: "HF006", Title: "delivery limit of -1 on RabbitMQ 3, which drops at the first requeue", Needs: SourceRabbitMQ, Runbook: "poison-message.md",
	Find: func(f *Facts) (found []Finding) {
		if topology.RulesOf(f.RabbitMQ.Overview.Version).DefaultLimit > 0 {
			return nil
		}
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if n, ok := q.Arguments.Number(topology.ArgDeliveryLimit); !ok || n >= 0 {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  "its delivery limit is -1, which RabbitMQ 3 takes and then drops every message at its first requeue",
					Evidence: []string{"argument x-delivery-limit: -1; RabbitMQ " + f.RabbitMQ.Overview.Version},
					Notice:   "messages vanish whenever a consumer is restarted",
					Remedy:   []string{"declare the queue anew without x-delivery-limit: RabbitMQ 3 has no limit then", "or go to RabbitMQ 4 first"},
				})
			}
		}
		return found
	},
}
