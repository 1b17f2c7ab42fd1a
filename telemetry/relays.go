package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-mq/holdfast/outbox"
)

const (
	keyOutcome     = attribute.Key("outcome")
	keyDestination = attribute.Key("destination")
)

// Relay is an [outbox.Relay].
type Relay interface {
	Status() outbox.RelayStatus
}

// WatchRelay reads what r says of itself at each collection, from now on until
// stop is called. Two relays in one process are one: their counts are added, and
// they are as well as the worse of them.
func (t *Telemetry) WatchRelay(r Relay) (stop func()) {
	t.relayed.Add(context.Background(), 0)
	return t.watched.relays.add(r)
}

// ObserveRelay counts an event of a relay: it is for [outbox.RelayConfig].Observe.
func (t *Telemetry) ObserveRelay(e outbox.RelayEvent) {
	if e.Kind == outbox.RelayDiffers {
		t.relayed.Add(context.Background(), 1)
	}
}

// relaying is what the relays of the process say together.
type relaying struct {
	rows         map[string]int64
	lanes        int
	up           bool
	blocked      bool
	destinations map[string]bool // open
}

func statusOf(r Relay) (s outbox.RelayStatus) {
	defer func() {
		if recover() != nil {
			s = outbox.RelayStatus{}
		}
	}()
	return r.Status()
}

func (t *Telemetry) relaying(relays []Relay) relaying {
	all := relaying{rows: map[string]int64{}, up: true, destinations: map[string]bool{}}
	for _, r := range relays {
		s := statusOf(r)
		for outcome, n := range outcomes(s.Books) {
			all.rows[outcome] += n
		}
		all.lanes += s.Lanes
		all.up = all.up && answers(s.State)
		all.blocked = all.blocked || s.State == outbox.RelayHeldUp
		for _, d := range s.Destinations {
			name := t.places.bound(d.Destination)
			open, known := all.destinations[name]
			all.destinations[name] = (open || !known) && passes(d.State)
		}
	}
	return all
}

// answers reports whether a relay in this state has its database.
func answers(s outbox.RelayState) bool {
	return s == outbox.RelayRunning || s == outbox.RelayIdle || s == outbox.RelayHeldUp
}

// passes reports whether a destination takes rows or is not known yet. One that
// has not been tried is not closed: that would be an alert at each start.
func passes(s outbox.DestinationState) bool {
	return s == outbox.DestinationOpen || s == outbox.DestinationOpening
}

func outcomes(b outbox.RelayBooks) map[string]int64 {
	return map[string]int64{
		"published": b.Published, "failed": b.Failed, "left": b.Left, "unknown": b.Unknowns,
		"refused": b.Refusals, "returned": b.Returned, "fenced": b.Fenced,
	}
}

func (t *Telemetry) observeRelays(m *maker) {
	rows := m.total("holdfast.relay.rows", "{row}", "What became of the rows of the outbox that this relay has claimed.")
	lanes := m.gauge("holdfast.relay.lanes", "{lane}", "Lanes that this relay holds.")
	up := m.gauge("holdfast.relay.up", "", "1 while the database answers.")
	blocked := m.gauge("holdfast.relay.blocked", "", "1 while the broker accepts no publishes.")
	open := m.gauge("holdfast.relay.destination_open", "", "1 while rows can be published to the destination.")
	m.callback(func(_ context.Context, o metric.Observer) error {
		relays := t.watched.relays.list()
		if len(relays) == 0 {
			return nil
		}
		all := t.relaying(relays)
		for outcome, n := range all.rows {
			o.ObserveInt64(rows, n, labels(keyOutcome.String(outcome)))
		}
		o.ObserveInt64(lanes, int64(all.lanes))
		o.ObserveInt64(up, one(all.up))
		o.ObserveInt64(blocked, one(all.blocked))
		for name, isOpen := range all.destinations {
			o.ObserveInt64(open, one(isOpen), labels(keyDestination.String(name)))
		}
		return nil
	}, rows, lanes, up, blocked, open)
}
