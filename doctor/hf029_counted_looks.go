package doctor

import "fmt"

var countedLooks = Check{
	ID: "HF029", Title: "parked or dead-letter queue of which looking is counted against a delivery limit", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				limit := v.rules.Limit(v.index.Queue(q.Name))
				if v.names.Role(q.Name) != RoleParked && !v.keeps(q.Name) || limit == 0 {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("looking at its messages can lose them: it has a delivery limit of %d", limit),
					Evidence: []string{limitOrigin(v, q.Name), fmt.Sprintf("%d messages", q.Messages)},
					Notice:   "a parked message is gone after somebody has looked at it often enough with a tool that closes its channel",
					Remedy: []string{
						"replay or export what is in it, delete the queue, and restart the consumer: on RabbitMQ 4 Holdfast declares it without a limit",
						"if a policy sets the limit: make its pattern leave this queue out",
					},
					Limits: "holdfast itself looks in a way that is free from RabbitMQ 4 on, and says so first where it is not",
				})
			}
		}
		return found
	},
}
