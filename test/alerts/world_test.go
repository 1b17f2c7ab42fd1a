package alerts

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/alerts"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// system is what a service, its relay and its database, and a broker say of
// themselves at one scrape.
type system struct {
	health  holdfast.Health
	relay   outbox.RelayStatus
	outbox  store.Status
	inboxes []store.InboxStatus
	asides  []store.AsideGroup
	broker  telemetry.BrokerLook
	down    error            // of the database
	events  []holdfast.Event // of this scrape
}

// well is a system at work in which nothing is wrong. n counts scrapes.
func well(n int64) system {
	now := time.Now()
	queue := func(name, role string, messages, consumers int64) telemetry.QueueLook {
		return telemetry.QueueLook{VHost: "/", Queue: name, Role: role, Messages: messages, Ready: messages, Consumers: consumers}
	}
	return system{
		health: holdfast.Health{
			Queue: "orders", State: holdfast.StateAttached, ProvenAt: now,
			Books: holdfast.Books{Received: 10*n + 1, Done: 10 * n, InFlight: 1},
		},
		relay: outbox.RelayStatus{
			State: outbox.RelayRunning, Lanes: 64, Books: outbox.RelayBooks{Published: 10 * n},
			Destinations: []outbox.DestinationStatus{{Destination: "orders", State: outbox.DestinationOpen}},
		},
		outbox: store.Status{Groups: []store.Group{
			{State: store.Published, Destination: "orders", Count: 1000, Oldest: time.Hour},
			{State: store.Pending, Destination: "orders", Count: 3, Oldest: 2 * time.Second},
		}},
		inboxes: []store.InboxStatus{{Consumer: "billing", Count: 1000, Duplicates: 7}},
		asides:  []store.AsideGroup{{Consumer: "billing", Reason: "gap", Count: 1, Oldest: time.Minute}},
		broker: telemetry.BrokerLook{
			Up: true, ExaminedAt: now,
			Queues: []telemetry.QueueLook{
				queue("orders", "source", 2, 1), queue("orders.parked", "parked", 5, 0), queue("orders.hold", "hold", 3, 1),
				queue("holdfast.retry.1000", "rung", 4, 0), queue("holdfast.unrouted", "strays", 0, 0),
			},
			Parked: []telemetry.ParkedLook{{VHost: "/", Queue: "orders.parked", Oldest: time.Hour}},
			Nodes:  []telemetry.NodeLook{{Node: "rabbit@a"}},
		},
		events: []holdfast.Event{{Kind: holdfast.EventDone, Queue: "orders", Attempt: 1, Duration: time.Millisecond}},
	}
}

// world tells of a system through package telemetry, as a service does.
type world struct {
	endpoint *telemetry.Prometheus
	tel      *telemetry.Telemetry

	mu      sync.Mutex
	scrapes int64
	change  func(*system)
	now     system
}

func newWorld(t *testing.T) *world {
	t.Helper()
	endpoint, err := telemetry.NewPrometheus()
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Config{MeterProvider: endpoint, Refresh: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{endpoint: endpoint, tel: tel, change: func(*system) {}, now: well(0)}
	t.Cleanup(func() {
		if err := errors.Join(tel.Close(), endpoint.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	tel.Watch(consumer{w})
	tel.WatchRelay(relay{w})
	tel.WatchOutbox(database{w})
	tel.WatchInbox(database{w})
	tel.WatchSetAsides(database{w})
	tel.WatchBroker(w.brokerLook)
	return w
}

// set changes the system from now on, at each scrape.
func (w *world) set(change func(*system)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change = change
}

// step is the next scrape: the consumer is asked once in each.
func (w *world) step() system {
	w.mu.Lock()
	w.scrapes++
	w.now = well(w.scrapes)
	w.change(&w.now)
	now := w.now
	w.mu.Unlock()
	for _, e := range now.events {
		w.tel.Observe(e)
	}
	return now
}

func (w *world) look() system {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) brokerLook() telemetry.BrokerLook { return w.look().broker }

type consumer struct{ w *world }

func (c consumer) Health() holdfast.Health { return c.w.step().health }

type relay struct{ w *world }

func (r relay) Status() outbox.RelayStatus { return r.w.look().relay }

type database struct{ w *world }

func (d database) Status(context.Context) (store.Status, error) {
	s := d.w.look()
	return s.outbox, s.down
}

func (d database) Inboxes(context.Context) ([]store.InboxStatus, error) {
	s := d.w.look()
	return s.inboxes, s.down
}

func (d database) AsideReasons(context.Context) ([]store.AsideGroup, error) {
	s := d.w.look()
	return s.asides, s.down
}

func (s *system) queue(name string) *telemetry.QueueLook {
	i := slices.IndexFunc(s.broker.Queues, func(q telemetry.QueueLook) bool { return q.Queue == name })
	return &s.broker.Queues[i]
}

func (s *system) parked(reason holdfast.Reason) {
	s.events = append(s.events, holdfast.Event{Kind: holdfast.EventParked, Queue: "orders", Attempt: 1, Reason: reason})
}

// faults are what happens to the system, and the alerts that are to fire.
var faults = []struct {
	change func(*system)
	fire   []string
}{
	{ // the password was changed
		func(s *system) {
			s.health.State, s.health.Credentials, s.health.ProvenAt = holdfast.StateReconnecting, true, time.Now().Add(-time.Hour)
			q := s.queue("orders")
			q.Messages, q.Ready, q.Consumers = 900, 900, 0
		},
		[]string{"HoldfastConsumerDetached", "HoldfastCredentialsRefused", "HoldfastQueueUnconsumed"},
	},
	{ // a service was deployed that neither it nor its messages are fit for
		func(s *system) {
			s.parked(holdfast.ReasonMalformed)
			s.parked(holdfast.ReasonCrashLoop)
			s.parked(holdfast.ReasonExhausted)
			s.health.Stuck, s.health.Braked = 2, "malformed"
			s.queue("orders.parked").Messages = 40 * (time.Now().UnixMilli() / 250 % 1_000_000)
		},
		[]string{"HoldfastPoison", "HoldfastCrashLoop", "HoldfastExhausted", "HoldfastSettlementsStuck", "HoldfastBraked", "HoldfastParkedMany"},
	},
	{ // the consumer says that it is attached, and is not
		func(s *system) {
			s.health.ProvenAt = time.Now().Add(-time.Hour)
			s.health.Books = holdfast.Books{Received: 1, InFlight: 1}
			q := s.queue("orders")
			q.Messages, q.Ready, q.Unacked = 15, 5, 10
			s.events = nil
		},
		[]string{"HoldfastConsumerUnproven", "HoldfastQueueQuiet"},
	},
	{ // the broker's disk is full
		func(s *system) {
			s.health.Blocked, s.relay.State, s.broker.Blocked = "low on disk", outbox.RelayHeldUp, 2
			s.broker.Nodes[0].Disk = true
			s.outbox.Groups[1].Oldest = time.Hour
		},
		[]string{"HoldfastPublishBlocked", "HoldfastRelayBlocked", "HoldfastConnectionsBlocked", "HoldfastNodeAlarm", "HoldfastOutboxLate"},
	},
	{ // one message of last month, one destination that is gone, and somebody's open transaction
		func(s *system) {
			s.broker.Parked[0].Oldest = 30 * 24 * time.Hour
			s.asides[0].Oldest = 25 * time.Hour
			s.relay.Destinations[0].State = outbox.DestinationMissing
			s.outbox.Groups = append(s.outbox.Groups, store.Group{State: store.Failed, Destination: "orders", Class: store.ClassUnrouted, Count: 2, Oldest: time.Hour})
			s.outbox.Blockers = []store.Blocker{{Age: time.Hour}}
		},
		[]string{"HoldfastParkedOld", "HoldfastSetAsideOld", "HoldfastDestinationClosed", "HoldfastOutboxFailed", "HoldfastOutboxHeldBack"},
	},
	{ // the broker's management does not answer, and the database does not either
		func(s *system) {
			s.broker.Up, s.broker.ExaminedAt = false, time.Now().Add(-time.Hour)
			s.down = errors.New("no database")
		},
		[]string{"HoldfastBrokerDown", "HoldfastBlind", "HoldfastOutboxBlind"},
	},
}

// TestTelemetryTellsEveryMetricOfTheRules compares names only: which labels they
// have is what HF203 looks at, in a Prometheus.
func TestTelemetryTellsEveryMetricOfTheRules(t *testing.T) {
	w := newWorld(t)
	w.set(func(s *system) {
		s.broker.Findings = []telemetry.FindingCount{{ID: "HF001", Severity: "error", Count: 1}}
	})
	w.step() // the relay may be asked before the consumer
	answer := httptest.NewRecorder()
	w.endpoint.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	for _, metric := range alerts.Metrics() {
		if !strings.Contains(answer.Body.String(), "\n"+metric+"{") && !strings.Contains(answer.Body.String(), "\n"+metric+" ") {
			t.Errorf("nothing tells %s", metric)
		}
	}
}
