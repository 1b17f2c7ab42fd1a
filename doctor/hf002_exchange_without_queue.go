package doctor

import (
	"fmt"

	"github.com/holdfast-mq/holdfast/topology"
)

var deadLetterExchangeWithoutQueue = Check{
	ID: "HF002", Title: "dead-letter exchange with no queue behind it", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			bare := func(h topology.Hop) bool {
				return h.Exists && h.Promise == topology.BlackHole && !v.leadsToQueue(h.Exchange)
			}
			for _, exchange := range v.ended(bare) {
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("exchange", exchange.name),
					Summary:  fmt.Sprintf("%s dead-letter to it, and no queue is bound to it: a black hole", exchange.who()),
					Evidence: exchange.evidence(),
					Notice:   "single things never happen, and the dead-letter queue that somebody believes in is empty",
					Remedy: []string{
						"bind a durable queue to the exchange, before anything else is rejected",
						"holdfast doctor",
					},
					Limits: "what was dropped so far cannot be counted: the broker keeps no trace of it",
				})
			}
		}
		return found
	},
}

// leadsToQueue reports whether an exchange has any way to a queue: a binding,
// another exchange, an alternate one.
func (v *vhost) leadsToQueue(exchange string) bool { return v.leads(exchange, map[string]bool{}) }

func (v *vhost) leads(exchange string, seen map[string]bool) bool {
	e := v.index.Exchange(exchange)
	if exchange == "" {
		return true // to the queue that the key names
	}
	if e == nil || seen[exchange] {
		return false
	}
	seen[exchange] = true
	for _, b := range v.index.From(exchange) {
		if !b.ToExchange || v.leads(b.Destination, seen) {
			return true
		}
	}
	return e.Alternate != "" && v.leads(e.Alternate, seen)
}
