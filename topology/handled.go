package topology

import (
	"fmt"
	"slices"
)

// handled compares the keys that a handler knows, where its service says them,
// with those that arrive in its queue.
func (c *comparison) handled() (faults []Fault) {
	for _, m := range c.manifests {
		for _, use := range m.Consumes {
			if len(use.Keys) > 0 {
				faults = append(faults, c.keysAgree(m.Service, use)...)
			}
		}
	}
	return faults
}

func (c *comparison) keysAgree(service string, use Consumption) (faults []Fault) {
	arriving := c.arriving(use.Queue)
	subject := fmt.Sprintf("handler of service %q for queue %q", service, use.Queue)
	for _, key := range arriving {
		if key != use.Queue && !overlapsAny(key, use.Keys) { // sent to the queue itself, it has no key of its own
			faults = append(faults, Fault{
				Kind: Unhandled, Subject: subject, Summary: fmt.Sprintf("%q arrives, and it does not know it", key),
				Evidence: []string{fmt.Sprintf("it knows %q", use.Keys)}, Remedy: "handle that key, or bind the queue so that it does not get it",
			})
		}
	}
	for _, key := range use.Keys {
		if !overlapsAny(key, arriving) && !c.toldOf(use.Queue, key) {
			faults = append(faults, Fault{
				Kind: Unfed, Subject: subject, Summary: fmt.Sprintf("it knows %q, which does not arrive", key),
				Evidence: []string{fmt.Sprintf("what arrives: %q", arriving)}, Remedy: "bind the queue with that key, or publish it; or take it out of the handler",
			})
		}
	}
	return faults
}

// arriving are the keys of publications of which a queue gets some, sorted.
func (c *comparison) arriving(queue string) (keys []string) {
	for _, m := range c.manifests {
		for _, p := range m.Publishes {
			if slices.Contains(c.index.Route(p.Exchange, p.Key), queue) || c.partly(p, queue) {
				keys = append(keys, p.Key)
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// partly reports whether a binding of the queue takes some of what a key with
// wildcards stands for.
func (c *comparison) partly(p Publication, queue string) bool {
	e := c.index.Exchange(p.Exchange)
	return e != nil && slices.ContainsFunc(c.index.To(queue), func(b *Binding) bool { return b.Source == p.Exchange && meets(e, b.Key, p.Key) })
}

// toldOf reports whether a binding of the queue takes the key and is a fault of
// its own, or gets what no manifest tells.
func (c *comparison) toldOf(queue, key string) bool {
	return slices.ContainsFunc(c.index.To(queue), func(b *Binding) bool {
		e := c.index.Exchange(b.Source)
		return e == nil || meets(e, b.Key, key) && (c.fed[b.Source] || !c.takesSome(e, b))
	})
}

func overlapsAny(key string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return Overlap(key, other) })
}
