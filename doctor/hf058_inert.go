package doctor

import (
	"fmt"
	"strings"
)

var inertResource = Check{
	ID: "HF058", Title: "exchange or queue that is declared, and that nobody may use", Needs: SourceRabbitMQ, Runbook: deadLetterPage,
	Find: func(f *Facts) (found []Finding) {
		if len(f.RabbitMQ.Permissions) == 0 {
			return nil
		}
		for _, v := range f.vhosts() {
			for _, q := range v.queues {
				if q.Messages > 0 || q.Consumers > 0 || f.anybody(v.name, func(g grants) bool { return g.allow(read, q.Name) || g.allow(write, q.Name) }) {
					continue
				}
				found = append(found, inert(v, "queue", q.Name, "read or write"))
			}
			for _, e := range f.RabbitMQ.Exchanges {
				if e.VHost != v.name || e.Name == "" || strings.HasPrefix(e.Name, "amq.") || e.In > 0 ||
					f.anybody(v.name, func(g grants) bool { return g.allow(write, e.Name) || g.allow(read, e.Name) }) {
					continue
				}
				found = append(found, inert(v, "exchange", e.Name, "read or write"))
			}
		}
		return found
	},
}

func (f *Facts) anybody(vhost string, may func(grants) bool) bool {
	for _, p := range f.RabbitMQ.Permissions {
		if p.VHost == vhost && !f.administers(p) && may(grants{configure: p.Configure, write: p.Write, read: p.Read}) {
			return true
		}
	}
	return !f.hasServices(vhost)
}

// administers reports whether a permission is that of somebody who may do
// everything: what only such a user may touch, no service does.
func (f *Facts) administers(p permission) bool {
	return p.Configure == ".*" && p.Write == ".*" && p.Read == ".*"
}

// hasServices reports whether services have users of their own here. Where all
// log in as one who may do everything, permissions say nothing.
func (f *Facts) hasServices(vhost string) bool {
	for _, p := range f.RabbitMQ.Permissions {
		if p.VHost == vhost && !f.administers(p) && p.Read != "" {
			return true
		}
	}
	return false
}

func inert(v *vhost, kind, name, what string) Finding {
	return Finding{
		Severity: Warning, Subject: v.subject(kind, name),
		Summary:  "it is declared, and no service may use it",
		Evidence: []string{fmt.Sprintf("no user but those who may do everything has %s on it", what), "it looks like the place where something goes, and nothing does"},
		Notice:   "somebody looks for dead letters in it, and it is empty for ever",
		Remedy:   []string{"find the name that the service really uses (holdfast topology export)", "remove this one where it is declared, and then here"},
		Limits:   "a user who may do everything can still use it",
	}
}
