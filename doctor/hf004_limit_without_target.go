package doctor

import "fmt"

// ownLimit is from which delivery limit on a Holdfast consumer parks before the
// broker drops: its bound on crashes, by default 5, and one.
const ownLimit = 6

var limitWithoutTarget = Check{
	ID: "HF004", Title: "delivery limit without a dead-letter target", Needs: SourceRabbitMQ, Runbook: "poison-message.md",
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, p := range v.paths {
				if _, dead := v.index.Queue(p.Queue).DeadLetter(); dead || p.Limit == 0 || v.own(p.Queue) || v.keeps(p.Queue) || v.source(p.Queue) && p.Limit >= ownLimit {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", p.Queue),
					Summary:  fmt.Sprintf("limit %d, no dead-letter target: the message will be discarded", p.Limit),
					Evidence: []string{fmt.Sprintf("delivery limit in force: %d; no dead-letter exchange, by argument or policy", p.Limit), limitOrigin(v, p.Queue)},
					Notice:   "a message that failed or crashed its consumer that often is gone without a word",
					Remedy: []string{
						"give the queue a dead-letter exchange by a policy (its arguments cannot be changed): rabbitmqctl set_policy",
						"or let Holdfast consume it, which parks before the broker drops",
					},
					Limits: "a consumer that settles every message in time never gets there",
				})
			}
		}
		return found
	},
}

func limitOrigin(v *vhost, queue string) string {
	q := v.byName[queue]
	_, argument := q.Arguments.Number("x-delivery-limit")
	_, policy := q.Effective.Number("delivery-limit")
	switch {
	case argument:
		return "set by the queue's own argument"
	case policy:
		return "set by a policy"
	default:
		return "nobody set it: it is the default of RabbitMQ 4"
	}
}
