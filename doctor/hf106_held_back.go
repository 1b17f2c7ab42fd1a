package doctor

import (
	"fmt"
	"time"
)

var rowsHeldBack = Check{
	ID: "HF106", Title: "open transaction that holds outbox rows back", Needs: SourceStore, Runbook: confirmPage,
	Find: func(f *Facts) (found []Finding) {
		for _, b := range f.Store.Outbox.Blockers {
			if b.Age < f.Limits.WithDefaults().OutboxAge {
				continue
			}
			found = append(found, Finding{
				Severity: Error, Subject: fmt.Sprintf("transaction of process %d on %s", b.PID, f.Store.Name),
				Summary:  fmt.Sprintf("it has touched the outbox and is open for %s", b.Age.Round(time.Second)),
				Evidence: []string{fmt.Sprintf("user %q, application %q, %s", b.User, b.Application, b.State), "last statement: " + b.Query},
				Notice:   "what it has written is not published, since it is not committed; and the rows of its keys wait behind it",
				Remedy: []string{
					"look first whose it is and whether it works: it may be a long batch",
					fmt.Sprintf("psql \"$HOLDFAST_STORE\" -c 'SELECT pg_terminate_backend(%d)'", b.PID),
				},
				Limits: "whether it will ever commit",
			})
		}
		return found
	},
}
