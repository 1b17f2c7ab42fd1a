package doctor

import (
	"fmt"
	"time"
)

var oldParked = Check{
	ID: "HF023", Title: "parked message that has waited for too long", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		limit := f.Limits.WithDefaults().ParkedAge
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if v.names.Role(q.Name) != RoleParked || q.Messages == 0 {
					continue
				}
				since, known := f.waitingSince(q)
				if !known || f.Now.Sub(since) < limit {
					continue
				}
				found = append(found, Finding{
					Severity: Warning, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("its oldest message has waited for a person for %s", days(f.Now.Sub(since))),
					Evidence: withOwner(f, q.VHost, q.Name, fmt.Sprintf("%s parked, the oldest since %s", count(q.Messages, "message"), since.Format(time.RFC3339))),
					Notice:   "what these messages were to do has not happened, for some of them since that day",
					Remedy:   []string{fmt.Sprintf("holdfast parked %s", sourceOf(q.Name)), "decide: holdfast replay, discard or export"},
					Limits:   "the age is that of the message at the head, which is the oldest unless somebody put some back",
				})
			}
		}
		return found
	},
}

// waitingSince is how long at least the head of a queue has been there: its own
// timestamp, or that nobody has used the queue since.
func (f *Facts) waitingSince(q managementQueue) (time.Time, bool) {
	switch {
	case !q.HeadAt.IsZero():
		return q.HeadAt, true
	case !f.Heads[Head{q.VHost, q.Name}].IsZero():
		return f.Heads[Head{q.VHost, q.Name}], true
	default:
		return q.IdleSince, !q.IdleSince.IsZero()
	}
}

func days(d time.Duration) string {
	const day = 24 * time.Hour
	if d < 2*day {
		return d.Round(time.Minute).String()
	}
	return fmt.Sprintf("%d days", d/day)
}
