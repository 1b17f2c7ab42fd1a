package doctor

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdfast-mq/holdfast/topology"
)

var argumentsDiffer = Check{
	ID: "HF055", Title: "declaration that will be refused with 406 at the next deploy", Needs: SourceRabbitMQ, Runbook: bindingPage,
	Find: func(f *Facts) (found []Finding) {
		for _, v := range f.vhosts() {
			told := f.conflicts() // which of the two is declared is for whoever mends that
			for _, d := range f.declarations(v) {
				for _, q := range d.topology.Queues {
					found = addDifference(found, v, told, "queue", q.Name, d.by, queueDifferences(q, v.byName[q.Name]))
				}
				for _, e := range d.topology.Exchanges {
					found = addDifference(found, v, told, "exchange", e.Name, d.by, exchangeDifferences(e, v.index.Exchange(e.Name)))
				}
			}
		}
		return found
	},
}

// declaration is what somebody will declare.
type declaration struct {
	by       string
	topology topology.Topology
}

func (f *Facts) declarations(v *vhost) (all []declaration) {
	for _, m := range f.Manifests {
		if f.declaredIn(m, v) {
			all = append(all, declaration{fmt.Sprintf("service %q", m.Service), m.Declares})
		}
	}
	if s := f.Service; s != nil && s.VHost == v.name {
		all = append(all, declaration{"the consumer", s.declares(v)})
	}
	return all
}

// declaredIn reports whether a manifest is about a virtual host: the one that it
// names, and the only one that is looked at.
func (f *Facts) declaredIn(m topology.Manifest, v *vhost) bool {
	return orDefault(m.VHost, "/") == v.name || len(f.vhosts()) == 1
}

// declares is what a consumer of Holdfast makes at its start, as far as the
// arguments do not depend on what the driver is told beyond this.
func (s *ServiceFacts) declares(v *vhost) topology.Topology {
	var t topology.Topology
	exchange := func(name, kind string, args map[string]any) {
		t.Exchanges = append(t.Exchanges, topology.Exchange{Name: name, Type: kind, Durable: true, Arguments: args})
	}
	ns := s.namespace()
	exchange(ns, "direct", nil)
	exchange(ns+".unrouted", "fanout", nil)
	exchange(ns+".return", "direct", map[string]any{topology.ArgAlternate: ns + ".unrouted"})
	for _, rung := range s.Rungs {
		name := fmt.Sprintf("%s.retry.%d", ns, rung/time.Millisecond)
		exchange(name, "fanout", nil)
		args := map[string]any{topology.ArgMessageTTL: float64(rung / time.Millisecond), topology.ArgDeadLetterExchange: ns + ".return"}
		if there := v.byName[name]; there != nil && there.Type == "quorum" {
			args[topology.ArgDeadLetterStrategy], args[topology.ArgOverflow] = "at-least-once", "reject-publish"
		}
		t.Queues = append(t.Queues, topology.Queue{Name: name, Durable: true, Arguments: args})
	}
	return t
}

func addDifference(found []Finding, v *vhost, told map[string]bool, kind, name, by string, evidence []string) []Finding {
	if len(evidence) == 0 || told[fmt.Sprintf("%s %q", kind, name)] {
		return found
	}
	told[fmt.Sprintf("%s %q", kind, name)] = true
	return append(found, Finding{
		Severity: Error, Subject: v.subject(kind, name),
		Summary:  fmt.Sprintf("it exists with other arguments than %s will declare: that will be refused with 406", by),
		Evidence: cut(evidence),
		Notice:   "after the next deploy or restart the service does not start, or starts and stops again and again",
		Remedy: []string{
			"set what can be set by a policy, and leave the declaration as it is: rabbitmqctl set_policy",
			"or drain it, delete it, and let the service declare it anew",
		},
		Limits: "arguments that only the declaring side knows to be equal are compared as they are written",
	})
}

func queueDifferences(want topology.Queue, have *managementQueue) (lines []string) {
	if have == nil {
		return nil
	}
	lines = differ(lines, "durable", want.Durable, have.Durable)
	if want.Type != "" {
		lines = differ(lines, "type", want.Type, have.Type)
	}
	lines = differ(lines, "auto-delete", want.Delete, have.Delete)
	return argumentDifferences(lines, want.Arguments, have.Arguments)
}

func exchangeDifferences(want topology.Exchange, have *topology.Exchange) (lines []string) {
	if have == nil {
		return nil
	}
	lines = differ(lines, "type", want.Type, have.Type)
	lines = differ(lines, "durable", want.Durable, have.Durable)
	lines = differ(lines, "auto-delete", want.Delete, have.Delete)
	return argumentDifferences(lines, want.Arguments, have.Arguments)
}

func differ[T comparable](lines []string, name string, want, have T) []string {
	if want == have {
		return lines
	}
	return append(lines, fmt.Sprintf("%s: %v will be declared, %v is there", name, want, have))
}

// argumentDifferences leaves out the type, which is compared as what it is.
func argumentDifferences(lines []string, want, have map[string]any) []string {
	names := slices.Sorted(maps.Keys(want))
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if _, both := want[name]; !both {
			names = append(names, name)
		}
	}
	for _, name := range names {
		w, h := shown(want[name]), shown(have[name])
		if name != topology.ArgQueueType && w != h {
			lines = append(lines, fmt.Sprintf("%s: %s will be declared, %s is there", name, w, h))
		}
	}
	return lines
}

func shown(v any) string {
	if v == nil {
		return "nothing"
	}
	if n, ok := v.(float64); ok && n == float64(int64(n)) {
		return fmt.Sprint(int64(n))
	}
	return fmt.Sprint(v)
}
