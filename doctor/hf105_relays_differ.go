package doctor

import "fmt"

var relaysDiffer = Check{
	ID: "HF105", Title: "relays of one table with different settings", Needs: SourceStore, Runbook: "duplicate-delivery.md",
	Find: func(f *Facts) []Finding {
		first, differ := "", false
		var evidence []string
		for _, r := range f.Store.Outbox.Relays {
			if f.sinceSeen(r) >= beats {
				continue
			}
			evidence = append(evidence, fmt.Sprintf("relay %q: %s", r.Name, r.Settings))
			differ = differ || first != "" && r.Settings != first
			first = r.Settings
		}
		if !differ {
			return nil
		}
		return []Finding{{
			Severity: Warning, Subject: "relays of " + f.Store.Name,
			Summary:  "they disagree on leases or on what becomes of unknown outcomes; the more careful setting holds meanwhile",
			Evidence: cut(evidence),
			Notice:   "rows are left for a human that nobody expected to be, or are taken over later than they should",
			Remedy:   []string{"give all relays of a table the same --lease, --leave and --leave-all", "holdfast outbox status"},
		}}
	},
}
