package topology

import (
	"fmt"
	"slices"
	"strings"
)

// comparison is all manifests of one virtual host as one system.
type comparison struct {
	manifests []Manifest
	whole     Topology
	index     *Index
	said      map[string][]string // who declares what, by kind and name
	differ    map[string]bool     // whether declarations of one thing differ

	published    map[string][]owned // by exchange
	fed          map[string]bool    // exchanges that get more than is published to them
	deadLettered map[string]bool    // those of them that get dead letters
	kept         map[string]bool    // queues that get dead letters by their own name
}

// owned is a publication with whose it is.
type owned struct {
	Publication
	service string
}

func newComparison(manifests []Manifest) *comparison {
	c := &comparison{
		manifests: manifests, said: map[string][]string{}, differ: map[string]bool{},
		published: map[string][]owned{}, fed: map[string]bool{}, deadLettered: map[string]bool{}, kept: map[string]bool{},
	}
	queues, exchanges, bound := map[string]Queue{}, map[string]Exchange{}, map[string]bool{}
	for _, m := range manifests {
		for _, p := range m.Publishes {
			c.published[p.Exchange] = append(c.published[p.Exchange], owned{p, m.Service})
		}
		for _, e := range m.Declares.Exchanges {
			e.Alternate, _ = e.Arguments[ArgAlternate].(string)
			first, known := exchanges[e.Name]
			c.say("exchange", e.Name, m.Service, known && len(exchangeDetails(first, e)) > 0, plain(e.Type, e.Durable, e.Delete, e.Arguments))
			if !known {
				exchanges[e.Name] = e
				c.whole.Exchanges = append(c.whole.Exchanges, e)
			}
		}
		for _, q := range m.Declares.Queues {
			q.Type = q.kind()
			first, known := queues[q.Name]
			c.say("queue", q.Name, m.Service, known && len(queueDetails(first, q)) > 0, plain(q.Type, q.Durable, q.Delete, q.Arguments))
			if !known {
				queues[q.Name] = q
				c.whole.Queues = append(c.whole.Queues, q)
			}
		}
		for _, b := range m.Declares.Bindings {
			if key := bindingName(b); !bound[key] {
				bound[key] = true
				c.whole.Bindings = append(c.whole.Bindings, b)
			}
		}
	}
	for _, e := range predeclared {
		if _, known := exchanges[e.Name]; !known {
			c.whole.Exchanges = append(c.whole.Exchanges, e)
		}
	}
	c.index = NewIndex(&c.whole)
	c.feed()
	return c
}

func plain(kind string, durable, remove bool, args map[string]any) string {
	return fmt.Sprintf("type %q, durable %v, auto-delete %v, arguments %v", kind, durable, remove, args)
}

func (c *comparison) say(kind, name, service string, differs bool, what string) {
	key := fmt.Sprintf("%s %q", kind, name)
	c.said[key] = append(c.said[key], fmt.Sprintf("service %q: %s", service, what))
	c.differ[key] = c.differ[key] || differs
}

// feed notes which exchanges get messages that no manifest says somebody
// publishes: from another exchange, or as dead letters.
func (c *comparison) feed() {
	for _, b := range c.whole.Bindings {
		if b.ToExchange {
			c.fed[b.Destination] = true
		}
	}
	for _, e := range c.whole.Exchanges {
		if e.Alternate != "" {
			c.fed[e.Alternate] = true
		}
	}
	for i := range c.whole.Queues {
		q := &c.whole.Queues[i]
		if to, ok := q.DeadLetter(); ok {
			c.fed[to], c.deadLettered[to] = true, true
			if to == "" {
				c.kept[q.Text(ArgDeadLetterKey)] = true
			}
		}
	}
}

func (c *comparison) sorted() []Binding {
	return slices.SortedFunc(slices.Values(c.whole.Bindings), func(a, b Binding) int {
		return strings.Compare(a.Source+"\x00"+a.Destination+"\x00"+a.Key, b.Source+"\x00"+b.Destination+"\x00"+b.Key)
	})
}

func (c *comparison) sortedQueues() []Queue {
	return slices.SortedFunc(slices.Values(c.whole.Queues), func(a, b Queue) int { return strings.Compare(a.Name, b.Name) })
}
