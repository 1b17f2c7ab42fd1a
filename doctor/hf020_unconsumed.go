package doctor

import "fmt"

var unconsumedQueue = Check{
	ID: "HF020", Title: "messages and no consumer", Needs: SourceRabbitMQ, Runbook: crashPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if q.Ready+q.Unacked == 0 || q.Consumers > 0 || v.own(q.Name) || v.dead[q.Name] || v.waits(q.Name) || q.Type == "stream" {
					continue
				}
				found = append(found, Finding{
					Severity: Error, Subject: v.subject("queue", q.Name),
					Summary:  fmt.Sprintf("%s and no consumer", count(q.Ready+q.Unacked, "message")),
					Evidence: withOwner(f, q.VHost, q.Name, fmt.Sprintf("%d ready, %d handed out, 0 consumers", q.Ready, q.Unacked), growth(v, q)),
					Notice:   "nothing that this queue was to cause happens, and nobody has an error",
					Remedy:   []string{"start the service that consumes it, or restart it if it says that it runs: its subscription is gone", "holdfast doctor"},
					Limits:   "a consumer that comes and goes, such as a nightly job, looks the same between its runs",
				})
			}
		}
		return found
	},
}

// growth says what the two looks say of a queue's length.
func growth(v *vhost, now managementQueue) string {
	before := v.before[now.Name]
	if before == nil {
		return ""
	}
	return fmt.Sprintf("%+d messages since the look before", now.Messages-before.Messages)
}

func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// withOwner adds who is to be told, where a manifest says so, and drops lines
// that are empty.
func withOwner(f *Facts, vhost, queue string, lines ...string) (all []string) {
	for _, line := range append(lines, owner(f, vhost, queue)) {
		if line != "" {
			all = append(all, line)
		}
	}
	return all
}

func owner(f *Facts, vhost, queue string) string {
	for _, m := range f.Manifests {
		if orDefault(m.VHost, "/") != vhost {
			continue
		}
		named := false
		for _, q := range m.Declares.Queues {
			named = named || q.Name == queue
		}
		for _, c := range m.Consumes {
			named = named || c.Queue == queue
		}
		if named {
			return fmt.Sprintf("owner: %s (service %s)", orDefault(m.Owner, "not said"), m.Service)
		}
	}
	return ""
}
