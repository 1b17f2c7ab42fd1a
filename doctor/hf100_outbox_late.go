package doctor

import (
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var outboxLate = Check{
	ID: "HF100", Title: "outbox rows that wait for too long", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		limit := f.Limits.WithDefaults().OutboxAge
		for _, g := range f.Store.Outbox.Groups {
			if g.State != store.Pending || g.Oldest < limit || refusedClass(g.Class) {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: f.destination(g.Destination),
				Summary:  fmt.Sprintf("%s to be published, the oldest %s late", count(int64(g.Count), "row"), g.Oldest.Round(time.Second)),
				Evidence: cut(append([]string{fmt.Sprintf("%d pending of the whole table, last failure: %s", g.Count, orDefault(string(g.Class), "none"))}, f.relays()...)),
				Notice:   "what these events were to cause has not happened; the business writes are there",
				Remedy:   []string{"holdfast outbox status", "is the broker blocked? rabbitmq-diagnostics alarms", "is a relay running? holdfast relay"},
				Limits:   "the rows may be those of any service that shares the table",
			})
		}
		return found
	},
}

// refusedClass are the failures that have a check of their own.
func refusedClass(c store.Class) bool { return c == store.ClassMissing || c == store.ClassPermission }

func (f *Facts) destination(name string) string {
	if name == "" {
		return "outbox of " + f.Store.Name
	}
	return fmt.Sprintf("outbox destination %q", name)
}

func (f *Facts) relays() (lines []string) {
	for _, r := range f.Store.Outbox.Relays {
		lanes := 0
		for _, l := range f.Store.Outbox.Leases {
			if l.Relay == r.ID {
				lanes++
			}
		}
		lines = append(lines, fmt.Sprintf("relay %q with %d lanes, seen %s ago", r.Name, lanes, f.sinceSeen(r).Round(time.Second)))
	}
	if len(lines) == 0 {
		lines = append(lines, "no relay has ever been seen, or all have left in order")
	}
	return lines
}

// sinceSeen is by the database's clock, which the relays' beats are of.
func (f *Facts) sinceSeen(r store.Relay) time.Duration {
	return max(f.Now.Add(f.Store.Clock).Sub(r.SeenAt), 0)
}
