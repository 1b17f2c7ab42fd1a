package doctor

import (
	"fmt"
	"regexp"
	"strings"
)

// right is one of the three that RabbitMQ knows.
type right string

const (
	configure right = "configure"
	write     right = "write"
	read      right = "read"
)

// need is one right on one name.
type need struct {
	right right
	name  string
	why   string
}

// needs are the rights that a consumer of Holdfast uses, as docs/permissions.md
// lists them.
func (s *ServiceFacts) needs() (all []need) {
	add := func(name, why string, rights ...right) {
		for _, r := range rights {
			all = append(all, need{r, name, why})
		}
	}
	if len(s.Queues) == 0 {
		return nil // only its login is known, and it may consume nothing
	}
	ns := s.namespace()
	for _, q := range s.Queues {
		add(q, "to bind it to its way back", write)
		add(q, "to consume it", read)
		add(q+".hold", "to hold", configure, write, read)
		if !s.SharedParked {
			add(q+".parked", "to park", configure, write)
		}
	}
	if s.SharedParked {
		add(ns+".parked", "to park", configure, write)
	}
	add(ns, "to hold and park", configure, write, read)
	add(ns+".return", "to let messages return", configure, write, read)
	add(ns+".unrouted", "to keep strays", configure, write, read)
	for _, rung := range s.Rungs {
		add(fmt.Sprintf("%s.retry.%d", ns, rung.Milliseconds()), "to delay", configure, write, read)
	}
	return all
}

func (s *ServiceFacts) namespace() string { return orDefault(s.Namespace, "holdfast") }

// grants are the patterns of one user in one virtual host.
type grants map[right]string

func (f *Facts) grantsOf(user, vhost string) (grants, bool) {
	for _, p := range f.RabbitMQ.Permissions {
		if p.User == user && p.VHost == vhost {
			return grants{configure: p.Configure, write: p.Write, read: p.Read}, true
		}
	}
	return nil, false
}

// allow reports whether the user has the right on a name, as RabbitMQ decides:
// the pattern may match anywhere in it, and an empty one matches nothing. A
// pattern that Go cannot read counts as one that matches.
func (g grants) allow(r right, name string) bool {
	pattern := g[r]
	if pattern == "" {
		return false
	}
	re, err := regexp.Compile(pattern)
	return err != nil || re.MatchString(resource(name))
}

// resource is a name as permissions know it.
func resource(name string) string {
	if name == "" {
		return "amq.default"
	}
	return name
}

func setPermissions(user, vhost string, g grants) string {
	return fmt.Sprintf("rabbitmqctl set_permissions -p %s %s %s", shell(vhost), shell(user),
		strings.Join([]string{shell(g[configure]), shell(g[write]), shell(g[read])}, " "))
}

func shell(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
