package doctor

import "fmt"

var defaultExchangeRefused = Check{
	ID: "HF051", Title: "use of the default exchange that permissions refuse", Needs: SourceService, Runbook: driftPage,
	Find: func(f *Facts) (found []Finding) {
		s := f.Service
		if f.RabbitMQ == nil || len(f.RabbitMQ.Permissions) == 0 || s.User == "" {
			return nil
		}
		g, ok := f.grantsOf(s.User, s.VHost)
		v := f.vhost(s.VHost)
		if !ok || v == nil || g.allow(write, "") {
			return nil
		}
		for _, q := range v.queues {
			exchange, dead := v.index.Queue(q.Name).DeadLetter()
			if !dead || exchange != "" || !g.allow(configure, q.Name) {
				continue
			}
			found = append(found, Finding{
				Severity: Warning, Subject: v.subject("queue", q.Name),
				Summary:  fmt.Sprintf("it dead-letters through the default exchange, and %q may not: declaring it again will be refused with 403", s.User),
				Evidence: []string{`x-dead-letter-exchange ""; its resource is "amq.default"`, fmt.Sprintf("write of %q: %q", s.User, g[write])},
				Notice:   "the service that declares it does not start after its next deploy",
				Remedy:   []string{"dead-letter to an exchange of the service's own prefix", `or grant write on "amq.default"`},
			})
		}
		return found
	},
}
