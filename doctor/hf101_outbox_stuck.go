package doctor

import (
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var outboxStuck = Check{
	ID: "HF101", Title: "outbox rows whose outcome nobody knows", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		limit := f.Limits.WithDefaults().OutboxAge
		for _, g := range f.Store.Outbox.Groups {
			if g.State != store.Publishing || g.Oldest < limit {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: f.destination(g.Destination),
				Summary:  fmt.Sprintf("%s claimed for publishing and never recorded, the oldest for %s", count(int64(g.Count), "row"), g.Oldest.Round(time.Second)),
				Evidence: cut(append([]string{fmt.Sprintf("%d publishing, last failure: %s", g.Count, orDefault(string(g.Class), "none"))}, f.relays()...)),
				Notice:   "these events were delivered, or were not: some of what they were to cause may be missing",
				Remedy: []string{
					"holdfast outbox stuck", "decide per event type whether its consumers tell a duplicate",
					"holdfast outbox rearm --state publishing --type TYPE",
				},
				Limits: "a relay that is at work on them just now would have recorded them long ago, unless its broker blocks",
			})
		}
		return found
	},
}
