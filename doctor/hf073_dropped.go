package doctor

import "fmt"

var droppedByExchange = Check{
	ID: "HF073", Title: "exchange that takes messages and routes none of them", Needs: SourceRabbitMQ, Runbook: bindingPage,
	Find: func(f *Facts) (found []Finding) {
		for _, e := range f.RabbitMQ.Exchanges {
			v := f.vhost(e.VHost)
			if e.Name == "" || e.In == 0 || v.own(e.Name) || e.Internal {
				continue
			}
			dropped := e.In - e.Out // of a fan-out Out may be more, so that only a surplus of In tells
			if dropped <= 0 || e.Out > 0 && e.InRate <= e.OutRate {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: v.subject("exchange", e.Name),
				Summary:  fmt.Sprintf("at least %s published to it reached no queue", count(dropped, "message")),
				Evidence: []string{fmt.Sprintf("%d published in, %d routed out, since the broker counts", e.In, e.Out), fmt.Sprintf("%d bindings lead from it", len(v.index.From(e.Name)))},
				Notice:   "what these messages were to do does not happen; the publishers have no error, unless they publish mandatory",
				Remedy:   []string{"compare the keys that are published with those that are bound: holdfast topology check", "publish mandatory, or through the outbox: unroutable is then a failed row"},
				Limits:   "the counts begin with the node's statistics; a mandatory publish that was returned to its publisher counts, too",
			})
		}
		return found
	},
}
