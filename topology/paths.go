package topology

import (
	"slices"
	"strings"
)

// Promise is what a hop does with a message. The set is closed.
type Promise string

// The promises, from the best to the worst.
const (
	// Confirmed: the message leaves the queue only once all targets have it.
	Confirmed Promise = "confirmed"

	// AtMostOnce: it is published without waiting. A target that is down, full
	// or being elected loses it.
	AtMostOnce Promise = "at-most-once"

	// BlackHole: nothing takes it. It is gone.
	BlackHole Promise = "black hole"
)

// Cause is why a queue gives a message away. The set is closed.
type Cause string

// The causes.
const (
	CauseRejected Cause = "rejected" // by a consumer, without requeue
	CauseExpired  Cause = "expired"  // a TTL of the queue; a message's own cannot be seen
	CauseLength   Cause = "maxlen"   // the queue is full and drops its oldest
	CauseLimit    Cause = "delivery_limit"
)

// Rules are what of a broker's version decides where messages go.
type Rules struct {
	// DefaultLimit is the delivery limit of a quorum queue that names none: 20
	// from RabbitMQ 4.0 on, 0 (none) before.
	DefaultLimit int64
}

// RulesOf returns the rules of a RabbitMQ version, as "4.3.6".
func RulesOf(version string) Rules {
	major, _, _ := strings.Cut(version, ".")
	if len(major) == 1 && major < "4" {
		return Rules{}
	}
	return Rules{DefaultLimit: 20}
}

// Limit is the delivery limit in force of a queue, 0 for none.
func (r Rules) Limit(q *Queue) int64 {
	if q.Type != "quorum" {
		return 0
	}
	if n, ok := q.Number(ArgDeliveryLimit); ok {
		return max(n, 0)
	}
	return r.DefaultLimit
}

// Path is the way of what one queue gives away.
type Path struct {
	Queue  string  `json:"queue"`
	Causes []Cause `json:"causes"`
	Limit  int64   `json:"delivery_limit,omitempty"`
	Hops   []Hop   `json:"hops"`

	// Ends are the queues where it stays; empty is nowhere. Cycle says that it
	// comes back to a queue of the path, and Dropped that the broker drops it
	// there: each hop of the cycle is by expiry.
	Ends    []string `json:"ends,omitempty"`
	Cycle   bool     `json:"cycle,omitempty"`
	Dropped bool     `json:"dropped,omitempty"`
}

// Hop is one move that the broker makes.
type Hop struct {
	Queue    string   `json:"queue"`
	Exchange string   `json:"exchange"`
	Exists   bool     `json:"exists"` // the exchange does
	Keys     []string `json:"keys"`   // under which it is published
	Lost     []string `json:"lost_keys,omitempty"`
	Reaches  []string `json:"reaches,omitempty"`
	Promise  Promise  `json:"promise"`
}

// Paths returns the way of each queue that gives messages away or would, in the
// order of their names. A queue without a dead-letter exchange has a path
// without hops, if something makes it drop messages.
func Paths(x *Index, rules Rules) (paths []Path) {
	names := make([]string, 0, len(x.queues))
	for name := range x.queues {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		q := x.queues[name]
		if _, ok := q.DeadLetter(); !ok && !rules.drops(q) {
			continue
		}
		paths = append(paths, x.path(q, rules))
	}
	return paths
}

// drops reports whether a queue loses messages by itself.
func (r Rules) drops(q *Queue) bool {
	return slices.ContainsFunc(r.causes(q), func(c Cause) bool { return c != CauseRejected })
}

func (r Rules) causes(q *Queue) []Cause {
	causes := []Cause{CauseRejected}
	if _, ok := q.Number(ArgMessageTTL); ok {
		causes = append(causes, CauseExpired)
	}
	_, length := q.Number(ArgMaxLength)
	_, bytes := q.Number(ArgMaxLengthBytes)
	if overflow := q.Text(ArgOverflow); (length || bytes) && overflow != "reject-publish" {
		causes = append(causes, CauseLength)
	}
	if r.Limit(q) > 0 {
		causes = append(causes, CauseLimit)
	}
	return causes
}

func (x *Index) path(q *Queue, rules Rules) Path {
	w := walk{index: x, path: Path{Queue: q.Name, Causes: rules.causes(q), Limit: rules.Limit(q)}, been: map[string]bool{}}
	w.from(q, x.published(q))
	slices.Sort(w.path.Ends)
	w.path.Ends = slices.Compact(w.path.Ends)
	return w.path
}

// walk follows one path. Each branch has its own keys and its own way back: two
// branches that meet are no cycle.
type walk struct {
	index *Index
	path  Path
	way   []*Queue        // from the first queue to here
	been  map[string]bool // queues, each with the keys it was reached under
}

func (w *walk) from(q *Queue, keys []string) {
	if at := slices.Index(w.way, q); at >= 0 {
		w.path.Cycle, w.path.Dropped = true, w.path.Dropped || !slices.ContainsFunc(w.way[at:], lasting)
		return
	}
	id := q.Name + "\x00" + strings.Join(keys, "\x00")
	if w.been[id] {
		return
	}
	w.been[id] = true
	exchange, dead := q.DeadLetter()
	if len(w.way) > 0 && (!dead || lasting(q)) {
		w.path.Ends = append(w.path.Ends, q.Name) // a consumer takes it there, or nobody does
		return
	}
	if !dead {
		return
	}
	h := w.index.hop(q, exchange, keys)
	w.path.Hops = append(w.path.Hops, h)
	w.way = append(w.way, q)
	for _, name := range h.Reaches {
		w.from(w.index.queues[name], h.Keys)
	}
	w.way = w.way[:len(w.way)-1]
}

// lasting reports whether messages leave a queue otherwise than by expiry.
func lasting(q *Queue) bool {
	_, ttl := q.Number(ArgMessageTTL)
	return !ttl
}

func (x *Index) hop(q *Queue, exchange string, keys []string) Hop {
	h := Hop{Queue: q.Name, Exchange: exchange, Exists: x.exchanges[exchange] != nil, Keys: keys}
	if key := q.Text(ArgDeadLetterKey); key != "" {
		h.Keys = []string{key}
	}
	for _, key := range h.Keys {
		reached := x.Route(exchange, key)
		if len(reached) == 0 {
			reached = x.partly(exchange, key)
		}
		if len(reached) == 0 {
			h.Lost = append(h.Lost, key)
		}
		h.Reaches = append(h.Reaches, reached...)
	}
	slices.Sort(h.Reaches)
	h.Reaches = slices.Compact(h.Reaches)
	switch confirmed, _ := q.AtLeastOnce(); {
	case len(h.Reaches) == 0:
		h.Promise = BlackHole
	case confirmed:
		h.Promise = Confirmed
	default:
		h.Promise = AtMostOnce
	}
	return h
}

// partly are the queues that take some of what a key with wildcards stands for.
// Which keys are really published is not known, so that the rest is not called
// lost.
func (x *Index) partly(exchange, key string) (queues []string) {
	if !strings.ContainsAny(key, "*#") {
		return nil
	}
	for _, b := range x.from[exchange] {
		if !b.ToExchange && x.queues[b.Destination] != nil && Overlap(b.Key, key) {
			queues = append(queues, b.Destination)
		}
	}
	return queues
}

// published are the keys with which messages come to a queue: those that it is
// bound by, and its own name where nothing else leads to it.
func (x *Index) published(q *Queue) (keys []string) {
	for _, b := range x.to[q.Name] {
		if e := x.exchanges[b.Source]; b.Source == "" || e != nil && e.kind() != "direct" && e.kind() != "topic" {
			continue // the key is not what routes
		}
		if !slices.Contains(keys, b.Key) {
			keys = append(keys, b.Key)
		}
	}
	if len(keys) == 0 {
		keys = []string{q.Name}
	}
	slices.Sort(keys)
	return keys
}
