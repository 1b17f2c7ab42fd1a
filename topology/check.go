package topology

import (
	"fmt"
	"maps"
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
	Unhandled   FaultKind = "unhandled"   // a key that arrives, and that the handler does not know
	Unfed       FaultKind = "unfed"       // a key that the handler knows, and that does not arrive
	Unconsumed  FaultKind = "unconsumed"  // a queue that nobody consumes
	Undeclared  FaultKind = "undeclared"  // a queue that is consumed, or an exchange that is bound, and declared by nobody
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
		for _, f := range slices.Concat(c.conflicts(), c.unpublished(), c.unbound(), c.handled(), c.consumption(), c.deadEnds()) {
			f.VHost = name
			faults = append(faults, f)
		}
	}
	return faults
}

func (c *comparison) conflicts() (faults []Fault) {
	for _, subject := range slices.Sorted(maps.Keys(c.differ)) {
		if !c.differ[subject] {
			continue
		}
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
		if b.ToExchange || b.Source == "" || e == nil || c.fed[b.Source] {
			continue
		}
		if c.takesSome(e, &b) {
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

// takesSome reports whether a binding takes anything that is published.
func (c *comparison) takesSome(e *Exchange, b *Binding) bool {
	return slices.ContainsFunc(c.published[b.Source], func(p owned) bool { return meets(e, b.Key, p.Key) })
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

func (c *comparison) keysOf(exchange string) (lines []string) {
	for _, p := range c.published[exchange] {
		lines = append(lines, fmt.Sprintf("service %q publishes %q", p.service, p.Key))
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
	faults = append(faults, c.undeclaredSources()...)
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

func (c *comparison) undeclaredSources() (faults []Fault) {
	told := map[string]bool{}
	for _, b := range c.sorted() {
		if c.index.Exchange(b.Source) != nil || told[b.Source] {
			continue
		}
		told[b.Source] = true
		faults = append(faults, Fault{
			Kind: Undeclared, Subject: fmt.Sprintf("exchange %q", b.Source), Summary: "queues are bound to it, and no service declares it",
			Evidence: []string{"bound: " + bindingName(b)}, Remedy: "declare it in the manifest of whoever binds or publishes; else the one that binds first is refused with 404",
		})
	}
	return faults
}

// keeps reports whether a queue is there to keep what others give away, or what
// Holdfast parks and holds.
func (c *comparison) keeps(name string) bool {
	if strings.HasSuffix(name, ".parked") || strings.HasSuffix(name, ".hold") || strings.HasSuffix(name, ".unrouted") || c.kept[name] {
		return true
	}
	return slices.ContainsFunc(c.index.To(name), func(b *Binding) bool { return c.deadLettered[b.Source] })
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
