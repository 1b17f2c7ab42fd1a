package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/topology"
)

var deadLetterKeyUnbound = Check{
	ID: "HF003", Title: "dead-letter binding that does not match the key that will be used", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, p := range v.paths {
				for _, h := range p.Hops {
					if h.Exists && len(h.Lost) > 0 && v.leadsToQueue(h.Exchange) && h.Queue == p.Queue {
						found = append(found, keyUnbound(v, h))
					}
				}
			}
		}
		return found
	},
}

func keyUnbound(v *vhost, h topology.Hop) Finding {
	from := "the key that the message came with"
	if q := v.index.Queue(h.Queue); q.Text(topology.ArgDeadLetterKey) != "" {
		from = topology.ArgDeadLetterKey
	}
	severity := Error
	if len(h.Lost) < len(h.Keys) {
		severity = Warning
	}
	evidence := []string{fmt.Sprintf("it dead-letters to %q under %s: %s", h.Exchange, from, quoted(h.Keys))}
	if len(h.Lost) < len(h.Keys) {
		evidence = append(evidence, "of these, no binding takes "+quoted(h.Lost))
	}
	for i, b := range v.index.From(h.Exchange) {
		if i == most {
			break
		}
		evidence = append(evidence, fmt.Sprintf("%q is bound with %q", b.Destination, b.Key))
	}
	return Finding{
		Severity: severity, Subject: v.subject("queue", h.Queue),
		Summary:  fmt.Sprintf("no binding of %q takes the key that its dead letters have: they are gone", h.Exchange),
		Evidence: evidence,
		Notice:   "what this queue rejects is nowhere, while dead-letter queues of others fill as they should",
		Remedy: []string{
			fmt.Sprintf("bind the dead-letter queue to %q with the key %q, or make the queue's policy set dead-letter-routing-key to a key that is bound", h.Exchange, h.Lost[0]),
			"holdfast doctor",
		},
		Limits: "the keys are those that the queue is bound by: what is published to it by its own name, past its bindings, is not seen",
	}
}
