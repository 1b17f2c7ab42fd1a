package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/topology"
)

var mixedDelays = Check{
	ID: "HF032", Title: "wait queue that relies on a TTL of each message", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if _, ttl := v.index.Queue(q.Name).Number(topology.ArgMessageTTL); ttl || q.Consumers > 0 || v.own(q.Name) || v.source(q.Name) || !v.waits(q.Name) {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary: "messages wait in it for as long as each says: a short wait behind a long one is as long",
					Evidence: []string{
						"no TTL of its own, no consumer, and it dead-letters to a queue that is consumed",
						fmt.Sprintf("%d messages wait", q.Messages),
					},
					Notice: "a retry that was to come in a second comes in ten minutes",
					Remedy: []string{"use a queue for each delay, with x-message-ttl (Holdfast's rungs are that)"},
					Limits: "it cannot be seen whether the messages really have different expirations, only that nothing else ends their wait",
				})
			}
		}
		return found
	},
}
