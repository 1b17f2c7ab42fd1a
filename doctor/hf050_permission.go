package doctor

import "fmt"

var permissionMissing = Check{
	ID: "HF050", Title: "permission that the configured consumer will need and does not have", Needs: SourceService, Runbook: driftPage,
	Find: func(f *Facts) []Finding {
		s := f.Service
		if f.RabbitMQ == nil || len(f.RabbitMQ.Permissions) == 0 || s.User == "" {
			return nil
		}
		g, _ := f.grantsOf(s.User, s.VHost)
		var evidence []string
		for _, n := range s.needs() {
			if !g.allow(n.right, n.name) {
				evidence = append(evidence, fmt.Sprintf("%s on %q, %s", n.right, n.name, n.why))
			}
		}
		if len(evidence) == 0 {
			return nil
		}
		missing := int64(len(evidence))
		return []Finding{{
			Severity: Error, Subject: fmt.Sprintf("user %q", s.User),
			Summary:  fmt.Sprintf("%s missing for what the consumer will do: it will be refused with 403", count(missing, "grant")),
			Evidence: append(cut(evidence), fmt.Sprintf("it has configure %q, write %q, read %q", g[configure], g[write], g[read])),
			Notice:   "the service does not start, or its first failing message cannot be delayed, held or parked",
			Remedy:   []string{"grant what is listed: " + setPermissions(s.User, s.VHost, g) + " with wider patterns", "docs/permissions.md has the whole list"},
			Limits:   "names and rungs are those that the doctor was told: --queue, --namespace, --ladder",
		}}
	},
}
