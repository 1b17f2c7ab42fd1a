package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/topology"
)

var fallsBackToAtMostOnce = Check{
	ID: "HF007", Title: "at-least-once dead-lettering that is not in force", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, p := range v.paths {
				q := v.index.Queue(p.Queue)
				if confirmed, asked := q.AtLeastOnce(); confirmed || !asked || len(p.Hops) == 0 || p.Hops[0].Promise == topology.BlackHole {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", p.Queue),
					Summary:  "it asks for at-least-once dead-lettering and gets at-most-once, since its overflow is not reject-publish",
					Evidence: []string{fmt.Sprintf("%s: at-least-once; %s: %q", topology.ArgDeadLetterStrategy, topology.ArgOverflow, orDefault(q.Text(topology.ArgOverflow), "drop-head, the default"))},
					Notice:   "dead letters are lost whenever the queue behind is down or being elected, and nobody expects it",
					Remedy:   []string{"set overflow to reject-publish by the same policy: rabbitmqctl set_policy", "holdfast doctor"},
				})
			}
		}
		return found
	},
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
