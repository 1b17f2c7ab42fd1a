package doctor

import "fmt"

var stuckConsumer = Check{
	ID: "HF022", Title: "prefetch exhausted by a consumer that is stuck", Needs: SourceRabbitMQ, Runbook: crashPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				slots, channels := f.slots(q)
				if q.Consumers == 0 || v.own(q.Name) || slots == 0 || q.Unacked < slots || !v.still(f, q) {
					continue
				}
				evidence := []string{fmt.Sprintf("%d handed out of a prefetch of %d in all, and none acknowledged for %v",
					q.Unacked, slots, f.RabbitMQ.TakenAt.Sub(f.Before.TakenAt).Round(second))}
				for i, name := range channels {
					if i == most {
						break
					}
					evidence = append(evidence, f.whose(name))
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("%s with all in hand that the prefetch allows, and none of it is settled; %s behind", count(q.Consumers, "consumer"), count(q.Ready, "message")),
					Evidence: withOwner(f, q.VHost, q.Name, evidence...),
					Notice:   "nothing that this queue was to cause happens; consumers are attached and show no error",
					Remedy: []string{
						"look where its handlers hang (a dump of its stacks), then restart it: what it has in hand comes back",
						"give its handlers a deadline (Policy.Timeout)", "holdfast doctor",
					},
					Limits: "handlers that take longer than the time between the two looks (--observe) look the same",
				})
			}
		}
		return found
	},
}

// whose names the client behind a channel.
func (f *Facts) whose(channel string) string {
	for _, c := range f.RabbitMQ.Channels {
		if c.Name != channel {
			continue
		}
		for _, conn := range f.RabbitMQ.Connections {
			if conn.Name == c.Connection {
				return fmt.Sprintf("channel %q of user %q, client %q: %d unacknowledged", channel, conn.User, conn.ClientName, c.Unacked)
			}
		}
		return fmt.Sprintf("channel %q of user %q: %d unacknowledged", channel, c.User, c.Unacked)
	}
	return fmt.Sprintf("channel %q", channel)
}
