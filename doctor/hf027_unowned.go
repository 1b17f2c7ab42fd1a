package doctor

import (
	"fmt"
	"slices"
)

var unownedDeadLetters = Check{
	ID: "HF027", Title: "dead-letter queue with messages and nobody who looks", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if q.Messages == 0 || q.Consumers > 0 || v.own(q.Name) || !v.dead[q.Name] || v.waits(q.Name) || v.source(q.Name) {
					continue
				}
				evidence := []string{count(q.Messages, "message") + ", no consumer", growth(v, q)}
				if since, known := f.waitingSince(q); known {
					evidence = append(evidence, fmt.Sprintf("the oldest has waited for at least %s", days(f.Now.Sub(since))))
				}
				for _, p := range v.paths {
					if len(p.Hops) > 0 && slices.Contains(p.Hops[0].Reaches, q.Name) {
						evidence = append(evidence, fmt.Sprintf("it takes what %q gives away", p.Queue))
					}
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("%s dead-lettered, and nobody reads them", count(q.Messages, "message")),
					Evidence: withOwner(f, q.VHost, q.Name, cut(evidence)...),
					Notice:   "what these messages were to do has not happened",
					Remedy:   []string{fmt.Sprintf("holdfast parked QUEUE --from %s", q.Name), fmt.Sprintf("holdfast replay QUEUE --from %s --dry-run", q.Name)},
					Limits:   "a tool that fetches now and then, without a subscription, is not seen",
				})
			}
		}
		return found
	},
}

func cut(lines []string) []string { return lines[:min(len(lines), most)] }
