package doctor

import (
	"fmt"
	"strings"
)

// burst is how many messages more between two looks are a burst, and not one
// failure or two.
const burst = 10

var growingParked = Check{
	ID: "HF024", Title: "parked, strays or dead letters that grow", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				before := v.before[q.Name]
				role := v.names.Role(q.Name)
				kept := role == RoleParked || role == RoleStrays || role == RoleForeign && v.dead[q.Name] && q.Consumers == 0 && !v.waits(q.Name)
				if before == nil || !kept || q.Messages-before.Messages < burst {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("it grows: %s in %v", count(q.Messages-before.Messages, "message"), f.RabbitMQ.TakenAt.Sub(f.Before.TakenAt).Round(second)),
					Evidence: withOwner(f, q.VHost, q.Name, fmt.Sprintf("%d messages, %d at the look before", q.Messages, before.Messages)),
					Notice:   "something fails for nearly every message right now; a single old one is another matter",
					Remedy:   []string{fmt.Sprintf("holdfast parked %s --from %s", sourceOf(q.Name), q.Name), "mend the cause first, then holdfast replay"},
				})
			}
		}
		return found
	},
}

// sourceOf is the queue that a parked or held queue belongs to, as one types it.
func sourceOf(name string) string {
	for _, suffix := range []string{".parked", ".hold"} {
		if source, ok := strings.CutSuffix(name, suffix); ok {
			return source
		}
	}
	return name
}
