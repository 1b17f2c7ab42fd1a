package topology

import (
	"slices"
	"strings"
)

// Index finds what leads where. It is made once and only read.
type Index struct {
	queues    map[string]*Queue
	exchanges map[string]*Exchange
	from      map[string][]*Binding // by source
	to        map[string][]*Binding // by destination queue
}

// NewIndex makes the index of a topology, which must not change meanwhile. The
// default exchange is always there.
func NewIndex(t *Topology) *Index {
	x := &Index{
		queues: map[string]*Queue{}, exchanges: map[string]*Exchange{"": {Type: "direct", Durable: true}},
		from: map[string][]*Binding{}, to: map[string][]*Binding{},
	}
	for i := range t.Queues {
		x.queues[t.Queues[i].Name] = &t.Queues[i]
	}
	for i := range t.Exchanges {
		x.exchanges[t.Exchanges[i].Name] = &t.Exchanges[i]
	}
	for i := range t.Bindings {
		b := &t.Bindings[i]
		x.from[b.Source] = append(x.from[b.Source], b)
		if !b.ToExchange {
			x.to[b.Destination] = append(x.to[b.Destination], b)
		}
	}
	return x
}

// Queue returns a queue, or nil.
func (x *Index) Queue(name string) *Queue { return x.queues[name] }

// Exchange returns an exchange, or nil.
func (x *Index) Exchange(name string) *Exchange { return x.exchanges[name] }

// From are the bindings that lead from an exchange.
func (x *Index) From(exchange string) []*Binding { return x.from[exchange] }

// To are the bindings that lead to a queue, without the one that every queue has
// to the default exchange.
func (x *Index) To(queue string) []*Binding { return x.to[queue] }

// Route returns the queues that a message reaches which is published to an
// exchange with a key, sorted. A key may have wildcards, as a binding's: then
// it stands for all that it matches, and reaches what takes all of them. An
// exchange that is missing reaches nothing; where nothing matches, the alternate
// exchange is followed.
func (x *Index) Route(exchange, key string) []string {
	found := map[string]bool{}
	x.route(exchange, key, found, map[string]bool{})
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (x *Index) route(exchange, key string, found, seen map[string]bool) {
	e := x.exchanges[exchange]
	if e == nil || seen[exchange] {
		return
	}
	seen[exchange] = true
	if exchange == "" {
		if x.queues[key] != nil {
			found[key] = true
		}
		return
	}
	matched := false
	for _, b := range x.from[exchange] {
		if !b.takes(e, key) {
			continue
		}
		matched = true
		if b.ToExchange {
			x.route(b.Destination, key, found, seen)
		} else if x.queues[b.Destination] != nil {
			found[b.Destination] = true
		}
	}
	if !matched && e.Alternate != "" {
		x.route(e.Alternate, key, found, seen)
	}
}

// takes reports whether a message with that key takes the binding. What an
// exchange decides by more than the key (headers, a hash) counts as taken.
func (b *Binding) takes(e *Exchange, key string) bool {
	switch e.kind() {
	case "direct":
		return b.Key == key
	case "topic":
		return Matches(b.Key, key)
	default:
		return true
	}
}

// kind is the type that routes: a delayed-message exchange names it in an
// argument.
func (e *Exchange) kind() string {
	if e.Type == "x-delayed-message" {
		kind, _ := e.Arguments["x-delayed-type"].(string)
		return kind
	}
	return e.Type
}

// Matches reports whether a binding key of a topic exchange takes all that a
// key stands for: * is one word and # any number of words, in both.
func Matches(binding, key string) bool {
	if !strings.ContainsAny(binding, "*#") {
		return binding == key
	}
	return match(strings.Split(binding, "."), strings.Split(key, "."))
}

// match goes back to the last # only: whoever may bind chooses the pattern, and
// going back to each would take for ever.
func match(pattern, words []string) bool {
	hash, mark := -1, 0
	i, j := 0, 0
	for j < len(words) {
		switch {
		case i < len(pattern) && pattern[i] == "#":
			hash, mark = i, j
			i++
		case i < len(pattern) && words[j] != "#" && (pattern[i] == "*" || pattern[i] == words[j]):
			i++
			j++
		case hash >= 0:
			mark++
			i, j = hash+1, mark
		default:
			return false
		}
	}
	for i < len(pattern) && pattern[i] == "#" {
		i++
	}
	return i == len(pattern)
}

// Overlap reports whether there is a key that both patterns match.
func Overlap(a, b string) bool { return overlap(strings.Split(a, "."), strings.Split(b, ".")) }

// overlap fills a table from the ends, one row for each word of a: asking anew
// for each pair of rests would take for ever with many #.
func overlap(a, b []string) bool {
	below := make([]bool, len(b)+2) // one more, so that no rest is without a next
	for i := len(a); i >= 0; i-- {
		row := make([]bool, len(b)+2)
		for j := len(b); j >= 0; j-- {
			row[j] = meet(a[i:], b[j:], below[j:], row[j:])
		}
		below = row
	}
	return below[0]
}

// meet reports whether two rests overlap. below and row are what is known of
// shorter ones: below[0] without the first word of a, row[1] without that of b,
// below[1] without both.
func meet(a, b []string, below, row []bool) bool {
	switch {
	case many(a) || many(b):
		return below[0] || row[1]
	case len(a) == 0 || len(b) == 0:
		return len(a) == len(b)
	default:
		return (a[0] == b[0] || a[0] == "*" || b[0] == "*") && below[1]
	}
}

func many(words []string) bool { return len(words) > 0 && words[0] == "#" }
