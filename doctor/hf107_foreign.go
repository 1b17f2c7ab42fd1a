package doctor

import (
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/store"
)

var foreignDestination = Check{
	ID: "HF107", Title: "outbox rows for a destination that no relay may write to", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		for _, g := range f.Store.Outbox.Groups {
			if g.State != store.Pending || !refusedClass(g.Class) {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: f.destination(g.Destination),
				Summary:  fmt.Sprintf("%s wait: %s", count(int64(g.Count), "row"), todo[g.Class]),
				Evidence: []string{fmt.Sprintf("last failure: %s; the oldest is %s late", g.Class, g.Oldest.Round(time.Second))},
				Notice:   "the events of one service are not published, while those of others in the same table are",
				Remedy:   []string{"run a relay as a user who may write there, or grant it to this one", "a table that several services share needs a relay that may write for all of them"},
			})
		}
		return found
	},
}
