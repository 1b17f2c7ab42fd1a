package doctor

import (
	"fmt"
	"time"
)

var setAsideOld = Check{
	ID: "HF115", Title: "messages that were set aside and forgotten", Needs: SourceStore, Runbook: orderPage,
	Find: func(f *Facts) (found []Finding) {
		for _, g := range f.Store.Asides {
			if g.Oldest < f.Limits.WithDefaults().ParkedAge {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: fmt.Sprintf("set aside by %q for %q, type %q", g.Consumer, g.Reason, g.Type),
				Summary:  fmt.Sprintf("%s, the oldest for %s", count(int64(g.Count), "message"), days(g.Oldest)),
				Evidence: []string{fmt.Sprintf("%d messages; the newest was set aside %s ago", g.Count, g.Newest.Round(time.Second))},
				Notice:   "a status that does not move: the event that was to move it came too early, and waits",
				Remedy:   []string{"holdfast setaside list --consumer " + shell(g.Consumer), "holdfast setaside redrive --consumer " + shell(g.Consumer) + " --reason " + shell(g.Reason)},
			})
		}
		return found
	},
}
