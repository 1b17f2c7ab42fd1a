package doctor

import (
	"fmt"
	"time"
)

var databaseClock = Check{
	ID: "HF116", Title: "database's clock differs from here, or from the broker's", Needs: SourceStore, Runbook: orderPage,
	Find: func(f *Facts) []Finding {
		limit := f.Limits.WithDefaults().ClockSkew
		if !f.Store.Known || f.Store.Clock.Abs() <= limit {
			return nil
		}
		evidence := []string{fmt.Sprintf("the database is %v %s", f.Store.Clock.Abs().Round(time.Millisecond), aheadOrBehind(f.Store.Clock))}
		if broker, known := f.brokerSkew(); known {
			evidence = append(evidence, fmt.Sprintf("the broker is %v %s", broker.Abs().Round(time.Second), aheadOrBehind(broker)))
		}
		return []Finding{{
			Severity: Warning, Subject: "clock of " + f.Store.Name,
			Summary:  fmt.Sprintf("it is %v %s", f.Store.Clock.Abs().Round(time.Second), aheadOrBehind(f.Store.Clock)),
			Evidence: evidence,
			Notice:   "rows with a not-before come early or late; what is newer is told wrongly where two clocks stamp one thing",
			Remedy:   []string{"chronyc tracking", "set the clock of whichever is wrong by a time server"},
			Limits:   "leases and claims do not go by a wall clock: no message is published twice for it",
		}}
	},
}
