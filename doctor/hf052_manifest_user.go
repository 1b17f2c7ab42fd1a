package doctor

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/topology"
)

var manifestRefused = Check{
	ID: "HF052", Title: "manifest of a service that declares, publishes or consumes what its user may not", Needs: SourceManifests, Runbook: driftPage,
	Find: func(f *Facts) (found []Finding) {
		if f.RabbitMQ == nil || len(f.RabbitMQ.Permissions) == 0 {
			return nil
		}
		for _, m := range f.Manifests {
			for _, v := range f.vhosts() {
				if m.User != "" && f.declaredIn(m, v) {
					found = append(found, f.refusals(m, v)...)
				}
			}
		}
		return found
	},
}

func (f *Facts) refusals(m topology.Manifest, v *vhost) []Finding {
	g, ok := f.grantsOf(m.User, v.name)
	var evidence []string
	for _, n := range manifestNeeds(m) {
		if !g.allow(n.right, n.name) {
			evidence = append(evidence, fmt.Sprintf("%s on %q, %s", n.right, resource(n.name), n.why))
		}
	}
	evidence = append(evidence, f.topicRefusals(m, v)...)
	if len(evidence) == 0 {
		return nil
	}
	missing := count(int64(len(evidence)), "grant")
	has := fmt.Sprintf("it has configure %q, write %q, read %q", g[configure], g[write], g[read])
	if !ok {
		has = fmt.Sprintf("there is no such user in virtual host %q, or it has no permission there", v.name)
	}
	return []Finding{{
		Severity: Error, Subject: fmt.Sprintf("service %q", m.Service),
		Summary:  fmt.Sprintf("%s missing for what its manifest says: its user %q will be refused with 403", missing, m.User),
		Evidence: append(cut(evidence), has),
		Notice:   "the service does not start; or it never made what its manifest declares, and uses other names",
		Remedy: []string{
			"a name that the user may not have is often the wrong name: mend the manifest (holdfast topology export shows what is there)",
			"or grant what is listed: " + setPermissions(m.User, v.name, g) + " with wider patterns",
		},
		Limits: "a declaration that is only a look (passive) needs less; a key with wildcards is not compared with topic permissions",
	}}
}

// manifestNeeds are the rights that RabbitMQ asks for, each once.
func manifestNeeds(m topology.Manifest) (all []need) {
	add := func(r right, name, why string) {
		n := need{r, name, why}
		if !slices.ContainsFunc(all, func(o need) bool { return o.right == r && o.name == name }) {
			all = append(all, n)
		}
	}
	for _, e := range m.Declares.Exchanges {
		add(configure, e.Name, "to declare it")
		if to, ok := e.Arguments[topology.ArgAlternate].(string); ok {
			add(read, e.Name, "to give it an alternate exchange")
			add(write, to, "to be an alternate exchange")
		}
	}
	for _, q := range m.Declares.Queues {
		add(configure, q.Name, "to declare it")
		if to, ok := q.DeadLetter(); ok {
			add(read, q.Name, "to give it a dead-letter exchange")
			add(write, to, "to be a dead-letter exchange")
		}
	}
	for _, b := range m.Declares.Bindings {
		add(write, b.Destination, "to bind it")
		add(read, b.Source, "to bind to it")
	}
	for _, p := range m.Publishes {
		add(write, p.Exchange, "to publish to it")
	}
	for _, c := range m.Consumes {
		add(read, c.Queue, "to consume it")
	}
	return all
}

// topicRefusals are the keys that a topic permission of the user refuses: one
// that exists for an exchange has to allow the key, too.
func (f *Facts) topicRefusals(m topology.Manifest, v *vhost) (lines []string) {
	for _, t := range f.RabbitMQ.TopicPermissions {
		if t.User != m.User || t.VHost != v.name {
			continue
		}
		for _, p := range m.Publishes {
			if p.Exchange == t.Exchange && !strings.ContainsAny(p.Key, "*#") && !keyAllowed(t.Write, p.Key) {
				lines = append(lines, fmt.Sprintf("topic permission: write %q on exchange %q refuses the key %q", t.Write, t.Exchange, p.Key))
			}
		}
		for _, b := range m.Declares.Bindings {
			if b.Source == t.Exchange && !keyAllowed(t.Read, b.Key) {
				lines = append(lines, fmt.Sprintf("topic permission: read %q on exchange %q refuses to bind %q", t.Read, t.Exchange, b.Key))
			}
		}
	}
	return lines
}

func keyAllowed(pattern, key string) bool {
	re, err := regexp.Compile(pattern)
	return err != nil || pattern != "" && re.MatchString(key)
}
