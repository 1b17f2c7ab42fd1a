package doctor

import "fmt"

var strays = Check{
	ID: "HF030", Title: "strays: messages whose source queue was gone when they came back", Needs: SourceRabbitMQ, Runbook: "binding-nothing-publishes.md",
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if v.names.Role(q.Name) != RoleStrays || q.Messages == 0 {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("%s could not return: the source queue was gone", count(q.Messages, "message")),
					Evidence: []string{fmt.Sprintf("%d messages in the strays", q.Messages), growth(v, q)},
					Notice:   "these were to be tried again, and were not",
					Remedy:   []string{fmt.Sprintf("holdfast peek QUEUE --from %s", q.Name), fmt.Sprintf("make the queue again, then: holdfast replay QUEUE --from %s", q.Name)},
				})
			}
		}
		return found
	},
}
