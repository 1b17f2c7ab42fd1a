package doctor

import (
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

// beats is for how long a relay may be silent: it beats every second, and is held
// for dead after its lease, which is 15 s by default.
const beats = time.Minute

var noRelay = Check{
	ID: "HF103", Title: "outbox rows that wait, and no relay at work", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) []Finding {
		waiting := int64(0)
		oldest := time.Duration(0)
		for _, g := range f.Store.Outbox.Groups {
			if g.State == store.Pending || g.State == store.Publishing {
				waiting, oldest = waiting+int64(g.Count), max(oldest, g.Oldest)
			}
		}
		for _, r := range f.Store.Outbox.Relays {
			if f.sinceSeen(r) < beats {
				return nil
			}
		}
		if waiting == 0 || oldest < beats {
			return nil
		}
		return []Finding{{
			Severity: Error, Subject: "relays of " + f.Store.Name,
			Summary:  count(waiting, "row") + " to be published, and no relay is at work",
			Evidence: cut(f.relays()),
			Notice:   "nothing is published; services save and have no error",
			Remedy:   []string{"start one: holdfast relay", "holdfast outbox status"},
		}}
	},
}
