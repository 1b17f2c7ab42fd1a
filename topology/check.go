package topology

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// FaultKind is what a [Fault] is about. The set is closed.
type FaultKind string

// The kinds of fault.
const (
	Unpublished FaultKind = "unpublished" // a binding that nothing publishes to
	Unbound     FaultKind = "unbound"     // a publication that no binding takes
	Conflict    FaultKind = "conflict"    // one thing that is declared in two ways
	Unconsumed  FaultKind = "unconsumed"  // a queue that nobody consumes
	Undeclared  FaultKind = "undeclared"  // a queue that is consumed and declared by nobody
	DeadEnd     FaultKind = "dead_end"    // a dead-letter exchange that leads nowhere
)

// Fault is a disagreement between manifests.
type Fault struct {
	Kind     FaultKind `json:"kind"`
	VHost    string    `json:"vhost"`
	Subject  string    `json:"subject"`
	Summary  string    `json:"summary"`
	Evidence []string  `json:"evidence,omitempty"`
	Remedy   string    `json:"remedy"`
}

// Check compares the manifests of all services of a system with each other.
// What no manifest mentions is not known to it: leave one out, and what that
// service publishes has no publisher. The faults come in a fixed order.
func Check(manifests []Manifest) (faults []Fault) {
	hosts := map[string][]Manifest{}
	for _, m := range manifests {
		name := m.VHost
		if name == "" {
			name = "/"
		}
		hosts[name] = append(hosts[name], m)
	}
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		c := newComparison(hosts[name])
		for _, f := range slices.Concat(c.conflicts(), c.unpublished(), c.unbound(), c.consumption(), c.deadEnds()) {
			f.VHost = name
			faults = append(faults, f)
		}
	}
	return faults
}

// comparison is all manifests of one virtual host as one system.
type comparison struct {
	manifests []Manifest
	whole     Topology
	index     *Index
	said      map[string][]string // who declares what, by kind and name
	differ    map[string][]string // how declarations of one thing differ
}

func newComparison(manifests []Manifest) *comparison {
	c := &comparison{manifests: manifests, said: map[string][]string{}, differ: map[string][]string{}}
	queues, exchanges, bound := map[string]Queue{}, map[string]Exchange{}, map[string]bool{}
	for _, m := range manifests {
		for _, e := range m.Declares.Exchanges {
			e.Alternate, _ = e.Arguments[ArgAlternate].(string)
			first, known := exchanges[e.Name]
			c.say("exchange", e.Name, m.Service, known, reflect.DeepEqual(first, e), fmt.Sprintf("%+v", plain(e.Type, e.Durable, e.Delete, e.Arguments)))
			if !known {
				exchanges[e.Name] = e
				c.whole.Exchanges = append(c.whole.Exchanges, e)
			}
		}
		for _, q := range m.Declares.Queues {
			first, known := queues[q.Name]
			c.say("queue", q.Name, m.Service, known, reflect.DeepEqual(first, q), fmt.Sprintf("%+v", plain(q.Type, q.Durable, q.Delete, q.Arguments)))
			if !known {
				queues[q.Name] = q
				c.whole.Queues = append(c.whole.Queues, q)
			}
		}
		for _, b := range m.Declares.Bindings {
			key := fmt.Sprint(b.Source, "\x00", b.Destination, "\x00", b.Key, "\x00", b.ToExchange)
			if !bound[key] {
				bound[key] = true
				c.whole.Bindings = append(c.whole.Bindings, b)
			}
		}
	}
	c.index = NewIndex(&c.whole)
	return c
}

func plain(kind string, durable, remove bool, args map[string]any) string {
	return fmt.Sprintf("type %q, durable %v, auto-delete %v, arguments %v", kind, durable, remove, args)
}

func (c *comparison) say(kind, name, service string, known, same bool, what string) {
	key := kind + " " + fmt.Sprintf("%q", name)
	c.said[key] = append(c.said[key], fmt.Sprintf("service %q: %s", service, what))
	if known && !same {
		c.differ[key] = c.said[key]
	}
}

func (c *comparison) conflicts() (faults []Fault) {
	for _, subject := range slices.Sorted(maps.Keys(c.differ)) {
		faults = append(faults, Fault{
			Kind: Conflict, Subject: subject, Summary: "services declare it in different ways: the second one to start is refused with 406",
			Evidence: c.said[subject], Remedy: "declare it in one place, or in the same way in both",
		})
	}
	return faults
}

// unpublished are bindings to a queue of which no publication has a key.
func (c *comparison) unpublished() (faults []Fault) {
	for _, b := range c.sorted() {
		e := c.index.Exchange(b.Source)
		if b.ToExchange || b.Source == "" || e == nil || c.fed(b.Source) || c.deadLettered(b.Source) {
			continue
		}
		if slices.ContainsFunc(c.publications(), func(p Publication) bool { return p.Exchange == b.Source && meets(e, b.Key, p.Key) }) {
			continue
		}
		faults = append(faults, Fault{
			Kind: Unpublished, Subject: fmt.Sprintf("binding of queue %q to exchange %q with %q", b.Destination, b.Source, b.Key),
			Summary: "nothing is published that it takes", Evidence: c.keysOf(b.Source),
			Remedy: "mend the side that is wrong; a binding that nobody needs any more has to be removed by hand: declarations never remove",
		})
	}
	return faults
}

func meets(e *Exchange, binding, key string) bool {
	switch e.kind() {
	case "direct":
		return binding == key || key == "#" || key == "*"
	case "topic":
		return Overlap(binding, key)
	default:
		return true
	}
}

// fed reports whether an exchange gets messages from another one.
func (c *comparison) fed(exchange string) bool {
	for _, b := range c.whole.Bindings {
		if b.ToExchange && b.Destination == exchange {
			return true
		}
	}
	for _, e := range c.whole.Exchanges {
		if e.Alternate == exchange {
			return true
		}
	}
	return false
}

// deadLettered reports whether queues give their messages to an exchange: the
// broker publishes there.
func (c *comparison) deadLettered(exchange string) bool {
	for i := range c.whole.Queues {
		if to, ok := c.whole.Queues[i].DeadLetter(); ok && to == exchange {
			return true
		}
	}
	return false
}

func (c *comparison) publications() (all []Publication) {
	for _, m := range c.manifests {
		all = append(all, m.Publishes...)
	}
	return all
}

func (c *comparison) keysOf(exchange string) (lines []string) {
	for _, m := range c.manifests {
		for _, p := range m.Publishes {
			if p.Exchange == exchange {
				lines = append(lines, fmt.Sprintf("service %q publishes %q", m.Service, p.Key))
			}
		}
	}
	if len(lines) == 0 {
		lines = append(lines, fmt.Sprintf("no service publishes to %q", exchange))
	}
	slices.Sort(lines)
	return lines
}

func (c *comparison) unbound() (faults []Fault) {
	for _, m := range c.manifests {
		for _, p := range m.Publishes {
			if len(c.index.Route(p.Exchange, p.Key)) > 0 || c.someRoute(p) {
				continue
			}
			var evidence []string
			for _, b := range c.index.From(p.Exchange) {
				evidence = append(evidence, fmt.Sprintf("%q is bound with %q", b.Destination, b.Key))
			}
			if c.index.Exchange(p.Exchange) == nil {
				evidence = append(evidence, "no service declares that exchange")
			}
			slices.Sort(evidence)
			faults = append(faults, Fault{
				Kind: Unbound, Subject: fmt.Sprintf("publication of service %q to exchange %q with %q", m.Service, p.Exchange, p.Key),
				Summary: "no binding takes it", Evidence: evidence, Remedy: "bind the queue that is to have it, or publish under the key that is bound",
			})
		}
	}
	return faults
}

// someRoute reports whether a key with wildcards overlaps with a binding, which
// takes some of what it stands for.
func (c *comparison) someRoute(p Publication) bool {
	e := c.index.Exchange(p.Exchange)
	if e == nil || !strings.ContainsAny(p.Key, "*#") {
		return false
	}
	return slices.ContainsFunc(c.index.From(p.Exchange), func(b *Binding) bool { return meets(e, b.Key, p.Key) })
}

func (c *comparison) consumption() (faults []Fault) {
	by := map[string][]string{}
	for _, m := range c.manifests {
		for _, use := range m.Consumes {
			by[use.Queue] = append(by[use.Queue], m.Service)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(by)) {
		if c.index.Queue(name) == nil {
			faults = append(faults, Fault{
				Kind: Undeclared, Subject: fmt.Sprintf("queue %q", name), Summary: "it is consumed, and no service declares it",
				Evidence: []string{"consumed by " + strings.Join(by[name], ", ")}, Remedy: "declare it in the manifest of whoever owns it",
			})
		}
	}
	for _, q := range c.sortedQueues() {
		if _, dead := q.DeadLetter(); len(by[q.Name]) > 0 || dead || c.keeps(q.Name) {
			continue
		}
		faults = append(faults, Fault{
			Kind: Unconsumed, Subject: fmt.Sprintf("queue %q", q.Name), Summary: "no service says that it consumes it",
			Evidence: c.said[fmt.Sprintf("queue %q", q.Name)], Remedy: "say who consumes it, or remove it",
		})
	}
	return faults
}

// keeps reports whether a queue is there to keep what others give away, or what
// Holdfast parks and holds.
func (c *comparison) keeps(name string) bool {
	if strings.HasSuffix(name, ".parked") || strings.HasSuffix(name, ".hold") || strings.HasSuffix(name, ".unrouted") {
		return true
	}
	return slices.ContainsFunc(c.index.To(name), func(b *Binding) bool { return c.deadLettered(b.Source) })
}

func (c *comparison) deadEnds() (faults []Fault) {
	for _, p := range Paths(c.index, Rules{}) {
		if len(p.Hops) == 0 || p.Hops[0].Promise != BlackHole {
			continue
		}
		h := p.Hops[0]
		faults = append(faults, Fault{
			Kind: DeadEnd, Subject: fmt.Sprintf("queue %q", p.Queue), Summary: fmt.Sprintf("what it rejects goes to exchange %q, where no queue takes it", h.Exchange),
			Evidence: []string{fmt.Sprintf("keys: %q", h.Keys)}, Remedy: "declare a queue, and bind it to that exchange with the key that is used",
		})
	}
	return faults
}

func (c *comparison) sorted() []Binding {
	return slices.SortedFunc(slices.Values(c.whole.Bindings), func(a, b Binding) int {
		return strings.Compare(a.Source+"\x00"+a.Destination+"\x00"+a.Key, b.Source+"\x00"+b.Destination+"\x00"+b.Key)
	})
}

func (c *comparison) sortedQueues() []Queue {
	return slices.SortedFunc(slices.Values(c.whole.Queues), func(a, b Queue) int { return strings.Compare(a.Name, b.Name) })
}
