package doctor

import "fmt"

var deadLetterBuffer = Check{
	ID: "HF026", Title: "at-least-once dead letters that have nowhere to go, piling up unseen", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				before := v.before[q.Name]
				if q.DeadLetter == 0 || f.Before != nil && (before == nil || before.DeadLetter == 0 || q.DeadLetter < before.DeadLetter) {
					continue // they are on their way
				}
				target := "without a dead-letter exchange"
				if exchange, ok := v.index.Queue(q.Name).DeadLetter(); ok {
					target = fmt.Sprintf("to exchange %q", exchange)
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("%s held in its dead-letter buffer: nothing takes them", count(q.DeadLetter, "message")),
					Evidence: []string{fmt.Sprintf("messages_dlx: %d; they are neither ready nor handed out, and go %s", q.DeadLetter, target)},
					Notice:   "rejected or delayed messages neither come back nor appear in a dead-letter queue; no consumer and no count of ready messages shows them",
					Remedy:   []string{"give the exchange a queue that takes their key: they leave by themselves, at the broker's next try within 3 minutes", "holdfast doctor"},
					Limits:   "one look alone may see some that are on their way",
				})
			}
		}
		return found
	},
}
