package doctor

import "fmt"

var unacknowledged = Check{
	ID: "HF033", Title: "consumer that does not acknowledge", Needs: SourceRabbitMQ, Runbook: crashPage,
	Find: func(f *Facts) (found []Finding) {
		told := map[Head]bool{}
		for _, c := range f.RabbitMQ.Consumers {
			v := f.vhost(c.VHost)
			if v == nil || c.Ack || told[Head{c.VHost, c.Queue}] {
				continue
			}
			q := v.byName[c.Queue]
			if q == nil || !q.Durable || q.Exclusive || q.Delete {
				continue // nobody expects its messages to outlive a client
			}
			told[Head{c.VHost, c.Queue}] = true
			found = append(found, Finding{
				Severity: Warning, Subject: v.subject("queue", c.Queue),
				Summary:  "a consumer takes its messages without acknowledging: what it has in hand when it ends is gone",
				Evidence: withOwner(f, c.VHost, c.Queue, fmt.Sprintf("consumer %q has ack_required = false", c.Tag), f.whose(c.Channel)),
				Notice:   "single messages vanish at each restart or crash of that consumer",
				Remedy:   []string{"consume with manual acknowledgements, or let Holdfast consume it"},
				Limits:   "a consumer for which a loss is fine looks the same",
			})
		}
		return found
	},
}
