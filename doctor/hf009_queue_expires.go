package doctor

import (
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/topology"
)

var queueThatExpires = Check{
	ID: "HF009", Title: "queue that is deleted, with what is in it, when it is not used", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				expires, ok := v.index.Queue(q.Name).Number(topology.ArgExpires)
				if !ok || !q.Durable || q.Exclusive || v.own(q.Name) { // a place of ours is HF028
					continue
				}
				severity, why := Warning, "it has a consumer now: it is deleted that long after the last one left"
				if q.Consumers == 0 {
					severity, why = Error, "it has no consumer, and declaring it again does not count as use on a quorum queue"
				}
				found = append(found, Finding{
					Severity: severity, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("it is deleted with all its messages after %v without use", time.Duration(expires)*time.Millisecond),
					Evidence: []string{fmt.Sprintf("x-expires in force: %d ms; %d messages", expires, q.Messages), why},
					Notice:   "all that waited is gone at once, together with the queue that would have shown it",
					Remedy:   []string{"declare it anew without x-expires, or take expires out of the policy that sets it"},
				})
			}
		}
		return found
	},
}
