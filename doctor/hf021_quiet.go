package doctor

import "fmt"

var quietConsumer = Check{
	ID: "HF021", Title: "consumers attached, messages ready, and nothing moves", Needs: SourceRabbitMQ, Runbook: crashPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				slots, _ := f.slots(q)
				if q.Consumers == 0 || v.own(q.Name) || !v.still(f, q) || slots > 0 && q.Unacked >= slots {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary: fmt.Sprintf("%s attached, %s ready, and nothing moves", count(q.Consumers, "consumer"), count(q.Ready, "message")),
					Evidence: withOwner(f, q.VHost, q.Name,
						fmt.Sprintf("no delivery and no acknowledgement for %v", f.RabbitMQ.TakenAt.Sub(f.Before.TakenAt).Round(second)),
						fmt.Sprintf("%d ready, %d handed out", q.Ready, q.Unacked), growth(v, q)),
					Notice: "nothing that this queue was to cause happens; its service is connected and says that it is well",
					Remedy: []string{"restart the consumer, whatever its health check says", "holdfast doctor"},
					Limits: "a consumer that is slower than the time between the two looks (--observe) looks the same",
				})
			}
		}
		return found
	},
}
