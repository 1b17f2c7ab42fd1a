package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-mq/holdfast"
)

// Consumer is a [holdfast.Consumer] or a [holdfast.Responder].
type Consumer interface {
	Health() holdfast.Health
}

// Watch reads what c knows of itself at each collection, from now on until stop
// is called: its books, and whether messages can arrive. Books of one collection
// balance. Two consumers of one queue in one process are one series: their counts
// are added, and it is as well as the worse of them.
func (t *Telemetry) Watch(c Consumer) (stop func()) {
	queue := healthOf(c).Queue
	t.queue(queue)
	return t.watched.consumers.add(c)
}

// watched are what is read at each collection.
type watched struct {
	consumers set[Consumer]
	relays    set[Relay]
	outboxes  set[*kept[outboxLook]]
	inboxes   set[*kept[inboxLook]]
	asides    set[*kept[asideLook]]
	brokers   set[func() BrokerLook]
}

// set is a set of things that need not be comparable.
type set[T any] struct {
	mu   sync.Mutex
	next int
	all  map[int]T
}

func (s *set[T]) add(v T) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[int]T{}
	}
	id := s.next
	s.next++
	s.all[id] = v
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.all, id)
	}
}

func (s *set[T]) list() []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]T, 0, len(s.all))
	for _, v := range s.all {
		out = append(out, v)
	}
	return out
}

// healthOf lets no fault of somebody's own Consumer end a collection.
func healthOf(c Consumer) (h holdfast.Health) {
	defer func() {
		if recover() != nil {
			h = holdfast.Health{}
		}
	}()
	return c.Health()
}

// standing is what the consumers of one queue know together.
type standing struct {
	books  holdfast.Books
	stuck  int
	proven time.Time // the earliest; zero while one was never attached

	attached, blocked, alone, refused, braked bool
}

func (s standing) with(h holdfast.Health) standing {
	add(&s.books, h.Books)
	s.stuck += h.Stuck
	s.attached = s.attached && h.State == holdfast.StateAttached
	s.blocked = s.blocked || h.Blocked != ""
	s.alone = s.alone || h.OneAtATime
	s.refused = s.refused || h.Credentials
	s.braked = s.braked || h.Braked != ""
	if h.ProvenAt.Before(s.proven) {
		s.proven = h.ProvenAt
	}
	return s
}

func add(to *holdfast.Books, b holdfast.Books) {
	to.Received += b.Received
	to.Done += b.Done
	to.Delayed += b.Delayed
	to.Held += b.Held
	to.Parked += b.Parked
	to.Discarded += b.Discarded
	to.Released += b.Released
	to.InFlight += b.InFlight
}

// standings reads all consumers, each once.
func (t *Telemetry) standings() map[*queue]standing {
	all := map[*queue]standing{}
	for _, c := range t.watched.consumers.list() {
		h := healthOf(c)
		if h.Queue == "" {
			continue
		}
		q := t.queue(h.Queue)
		s, known := all[q]
		if !known {
			s = standing{attached: true, proven: h.ProvenAt}
		}
		all[q] = s.with(h)
	}
	return all
}

func (t *Telemetry) observeConsumers(m *maker) {
	received := m.total("holdfast.received", "{delivery}", "Deliveries handed over by the broker.")
	consumed := m.total("messaging.client.consumed.messages", "{message}", "Number of messages that were delivered to the application.")
	settled := m.total("holdfast.settled", "{delivery}", "Deliveries settled, by their fate.")
	inFlight := m.gauge("holdfast.in_flight", "{delivery}", "Deliveries not settled yet.")
	stuck := m.gauge("holdfast.stuck", "{delivery}", "Deliveries whose copy the broker refuses.")
	attached := m.gauge("holdfast.attached", "", "1 while the consumer is attached to its queue.")
	proven := m.age("holdfast.proven_timestamp", "When the broker last confirmed the attachment.")
	blocked := m.gauge("holdfast.blocked", "", "1 while the broker accepts no publishes.")
	alone := m.gauge("holdfast.one_at_a_time", "", "1 while one message is taken at a time, since one may have killed a process.")
	refused := m.gauge("holdfast.credentials_refused", "", "1 while the broker refuses the login.")
	braked := m.gauge("holdfast.braked", "", "1 while the brake is on: most messages would be parked for one cause.")
	m.callback(func(_ context.Context, o metric.Observer) error {
		for q, s := range t.standings() {
			o.ObserveInt64(received, s.books.Received, q.labels)
			o.ObserveInt64(consumed, s.books.Received, labels(q.conventional()...))
			for fate, n := range settledBy(s.books) {
				o.ObserveInt64(settled, n, labels(keyQueue.String(q.name), keyFate.String(fate)))
			}
			o.ObserveInt64(inFlight, s.books.InFlight, q.labels)
			o.ObserveInt64(stuck, int64(s.stuck), q.labels)
			o.ObserveInt64(attached, one(s.attached), q.labels)
			if !s.proven.IsZero() {
				o.ObserveFloat64(proven, unix(s.proven), q.labels)
			}
			o.ObserveInt64(blocked, one(s.blocked), q.labels)
			o.ObserveInt64(alone, one(s.alone), q.labels)
			o.ObserveInt64(refused, one(s.refused), q.labels)
			o.ObserveInt64(braked, one(s.braked), q.labels)
		}
		return nil
	}, received, consumed, settled, inFlight, stuck, attached, proven, blocked, alone, refused, braked)
}

func settledBy(b holdfast.Books) map[string]int64 {
	return map[string]int64{
		fates[holdfast.EventDone]: b.Done, fates[holdfast.EventDelayed]: b.Delayed, fates[holdfast.EventHeld]: b.Held,
		fates[holdfast.EventParked]: b.Parked, fates[holdfast.EventDiscarded]: b.Discarded, fates[holdfast.EventReleased]: b.Released,
	}
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}

func unix(at time.Time) float64 { return float64(at.UnixMilli()) / 1e3 }
