package doctor

import (
	"fmt"
	"slices"
	"strings"
)

var droppedCycle = Check{
	ID: "HF008", Title: "ladder whose messages the broker drops as a cycle", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			told := map[string]bool{}
			for _, p := range v.paths {
				if !p.Dropped {
					continue
				}
				var members []string
				for _, h := range p.Hops {
					members = append(members, h.Queue)
				}
				slices.Sort(members)
				ring := strings.Join(slices.Compact(members), " → ")
				if told[ring] {
					continue
				}
				told[ring] = true
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", p.Queue),
					Summary:  "its messages expire from queue to queue and back, and the broker drops them at the second visit, without a word",
					Evidence: []string{fmt.Sprintf("a cycle of expiries without a consumer in it: %s", ring)},
					Notice:   "what waits in this ladder never comes back",
					Remedy:   []string{"let the last queue of the ladder lead to a queue without a TTL, where a consumer takes the message"},
				})
			}
		}
		return found
	},
}
