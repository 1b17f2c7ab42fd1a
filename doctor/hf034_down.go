package doctor

import "fmt"

var queueDown = Check{
	ID: "HF034", Title: "queue that is down or has lost its majority", Needs: SourceRabbitMQ, Runbook: "broker-unavailable.md",
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				members, online := len(q.Members), len(q.Online)
				lost := members > 0 && online <= members/2
				if !lost && q.State != "down" && q.State != "crashed" && q.State != "stopped" {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  "it takes and gives no messages",
					Evidence: cut([]string{fmt.Sprintf("state %q; %d of %d members online", q.State, online, members)}),
					Notice:   "publishing to it waits or fails, and nothing of it is processed",
					Remedy:   []string{"bring the missing nodes back: rabbitmqctl cluster_status", "rabbitmq-queues quorum_status " + q.Name},
				})
			}
		}
		return found
	},
}
