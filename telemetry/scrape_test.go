package telemetry_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/telemetry"
)

const patience = time.Minute

// scene is an endpoint and what writes to it.
type scene struct {
	*testing.T
	*telemetry.Telemetry
	endpoint *telemetry.Prometheus
}

func newScene(t *testing.T, cfg telemetry.Config) scene {
	t.Helper()
	p, err := telemetry.NewPrometheus()
	if err != nil {
		t.Fatal(err)
	}
	cfg.MeterProvider = p
	tel, err := telemetry.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(tel.Close(), p.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	return scene{t, tel, p}
}

// scrape returns the series by their text, such as name{label="value"}.
func (s scene) scrape() map[string]string {
	s.Helper()
	answer := httptest.NewRecorder()
	s.endpoint.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if answer.Code != 200 {
		s.Fatalf("the endpoint answers %d: %s", answer.Code, answer.Body)
	}
	series := map[string]string{}
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimSpace(line)
		i := strings.LastIndexByte(line, ' ')
		series[line[:i]] = line[i+1:]
	}
	return series
}

func (s scene) want(series map[string]string, want map[string]string) {
	s.Helper()
	for name, value := range want {
		got, ok := series[name]
		switch {
		case !ok:
			s.Errorf("there is no %s", name)
		case got != value:
			s.Errorf("%s is %s, not %s", name, got, value)
		}
	}
}

// events are one of each kind that counts.
var eventsOfBilling = []holdfast.Event{
	{Kind: holdfast.EventAttached, Text: "RabbitMQ 4.3.6"},
	{Kind: holdfast.EventDetached, Err: broker.ErrUnreachable},
	{Kind: holdfast.EventUnsettled, Err: broker.ErrRefused},
	{Kind: holdfast.EventSlow},
	{Kind: holdfast.EventReturned},
	{Kind: holdfast.EventIsolated, Crashes: 1},
	{Kind: holdfast.EventDone, Duration: 2 * time.Millisecond, Attempt: 1},
	{Kind: holdfast.EventDelayed, Duration: time.Second, Attempt: 2, Settling: 3 * time.Millisecond, Err: errors.New("customer 4711 is broke")},
	{Kind: holdfast.EventHeld, Duration: time.Second, Attempt: 1, Lap: 4, Settling: time.Millisecond},
	{Kind: holdfast.EventParked, Duration: time.Second, Attempt: 5, Reason: holdfast.ReasonExhausted, Settling: time.Millisecond},
	{Kind: holdfast.EventParked, Attempt: 1, Reason: holdfast.ReasonCrashLoop, Crashes: 3},
	{Kind: holdfast.EventParked, Duration: time.Second, Attempt: 1, Reason: "made_up_by_4711"},
	{Kind: holdfast.EventDiscarded, Duration: time.Second, Attempt: 1},
	{Kind: holdfast.EventReleased},
}

// healthy is a consumer with every number in its books.
type healthy struct{ h holdfast.Health }

func (h healthy) Health() holdfast.Health { return h.h }

type relay struct{ s outbox.RelayStatus }

func (r relay) Status() outbox.RelayStatus { return r.s }

// database counts how often it was asked.
type database struct {
	asked atomic.Int64
	err   error
}

func (d *database) Status(context.Context) (store.Status, error) {
	d.asked.Add(1)
	return store.Status{
		Groups: []store.Group{
			{State: store.Pending, Destination: "orders", Count: 3, Oldest: 90 * time.Second},
			{State: store.Pending, Destination: "orders", Class: store.ClassRefused, Count: 1, Oldest: 100 * time.Second},
			{State: store.Published, Destination: "orders", Count: 1000, Oldest: time.Hour},
			{State: store.Failed, Destination: "mail", Class: store.ClassUnknown, Count: 2, Oldest: time.Minute},
		},
		Blockers: []store.Blocker{{Age: 7 * time.Second}, {Age: 9 * time.Second}},
	}, d.err
}

func (d *database) Inboxes(context.Context) ([]store.InboxStatus, error) {
	return []store.InboxStatus{{Consumer: "billing", Count: 12, Duplicates: 2}}, d.err
}

func (d *database) AsideReasons(context.Context) ([]store.AsideGroup, error) {
	return []store.AsideGroup{
		{Consumer: "billing", Reason: "invalid_state", Type: "a", Count: 2, Oldest: 5 * time.Second},
		{Consumer: "billing", Reason: "invalid_state", Type: "b", Count: 1, Oldest: 8 * time.Second},
	}, d.err
}

// contract is what the alert rules select: each series of the scene below.
var contract = map[string]string{
	`holdfast_received_total{queue="billing"}`:                              "27",
	`holdfast_settled_total{fate="done",queue="billing"}`:                   "1",
	`holdfast_settled_total{fate="delayed",queue="billing"}`:                "2",
	`holdfast_settled_total{fate="held",queue="billing"}`:                   "3",
	`holdfast_settled_total{fate="parked",queue="billing"}`:                 "4",
	`holdfast_settled_total{fate="discarded",queue="billing"}`:              "5",
	`holdfast_settled_total{fate="released",queue="billing"}`:               "6",
	`holdfast_in_flight{queue="billing"}`:                                   "6",
	`holdfast_parked_total{queue="billing",reason="exhausted"}`:             "1",
	`holdfast_parked_total{queue="billing",reason="crash_loop"}`:            "1",
	`holdfast_parked_total{queue="billing",reason="verdict"}`:               "0",
	`holdfast_parked_total{queue="billing",reason="other"}`:                 "1",
	`holdfast_unsettled_total{queue="billing"}`:                             "1",
	`holdfast_stuck{queue="billing"}`:                                       "2",
	`holdfast_attached{queue="billing"}`:                                    "1",
	`holdfast_proven_timestamp_seconds{queue="billing"}`:                    "1.7e+09",
	`holdfast_blocked{queue="billing"}`:                                     "1",
	`holdfast_one_at_a_time{queue="billing"}`:                               "1",
	`holdfast_credentials_refused{queue="billing"}`:                         "0",
	`holdfast_braked{queue="billing"}`:                                      "1",
	`holdfast_detached_total{queue="billing"}`:                              "1",
	`holdfast_slow_handlers_total{queue="billing"}`:                         "1",
	`holdfast_returned_total{queue="billing"}`:                              "1",
	`holdfast_crashes_total{queue="billing"}`:                               "2",
	`holdfast_attempt_bucket{queue="billing",le="13"}`:                      "6",
	`holdfast_attempt_count{queue="billing"}`:                               "6",
	`holdfast_lap_bucket{queue="billing",le="3"}`:                           "0",
	`holdfast_lap_bucket{queue="billing",le="5"}`:                           "1",
	`holdfast_settle_duration_seconds_count{fate="parked",queue="billing"}`: "3",
	`holdfast_settle_duration_seconds_count{fate="held",queue="billing"}`:   "1",
	`messaging_client_consumed_messages_total{messaging_destination_name="billing",messaging_operation_name="process",messaging_system="rabbitmq"}`:                      "27",
	`messaging_process_duration_seconds_count{messaging_destination_name="billing",messaging_operation_name="process",messaging_system="rabbitmq"}`:                      "1",
	`messaging_process_duration_seconds_count{error_type="retry",messaging_destination_name="billing",messaging_operation_name="process",messaging_system="rabbitmq"}`:   "1",
	`messaging_process_duration_seconds_count{error_type="discard",messaging_destination_name="billing",messaging_operation_name="process",messaging_system="rabbitmq"}`: "1",

	`holdfast_relay_rows_total{outcome="published"}`:                               "7",
	`holdfast_relay_rows_total{outcome="failed"}`:                                  "6",
	`holdfast_relay_rows_total{outcome="left"}`:                                    "5",
	`holdfast_relay_rows_total{outcome="unknown"}`:                                 "4",
	`holdfast_relay_rows_total{outcome="refused"}`:                                 "3",
	`holdfast_relay_rows_total{outcome="returned"}`:                                "2",
	`holdfast_relay_rows_total{outcome="fenced"}`:                                  "1",
	`holdfast_relay_lanes`:                                                         "64",
	`holdfast_relay_up`:                                                            "1",
	`holdfast_relay_blocked`:                                                       "1",
	`holdfast_relay_destination_open{destination="orders"}`:                        "1",
	`holdfast_relay_destination_open{destination="mail"}`:                          "0",
	`holdfast_relay_differs_total`:                                                 "1",
	`holdfast_outbox_up`:                                                           "1",
	`holdfast_outbox_blocker_seconds`:                                              "9",
	`holdfast_inbox_records{consumer="billing"}`:                                   "12",
	`holdfast_inbox_duplicates{consumer="billing"}`:                                "2",
	`holdfast_outbox_oldest_seconds{destination="mail",state="failed"}`:            "60",
	`holdfast_outbox_oldest_seconds{destination="orders",state="pending"}`:         "100",
	`holdfast_outbox_rows{class="none",destination="orders",state="pending"}`:      "3",
	`holdfast_outbox_rows{class="refused",destination="orders",state="pending"}`:   "1",
	`holdfast_outbox_rows{class="none",destination="orders",state="published"}`:    "1000",
	`holdfast_outbox_rows{class="unknown",destination="mail",state="failed"}`:      "2",
	`holdfast_set_aside{consumer="billing",reason="invalid_state"}`:                "3",
	`holdfast_set_aside_oldest_seconds{consumer="billing",reason="invalid_state"}`: "8",

	`holdfast_broker_up`:                                                           "1",
	`holdfast_examined_timestamp_seconds`:                                          "1.7e+09",
	`holdfast_connections_blocked`:                                                 "3",
	`holdfast_queue_messages{queue="billing",role="source",vhost="/"}`:             "9",
	`holdfast_queue_ready{queue="billing",role="source",vhost="/"}`:                "5",
	`holdfast_queue_unacked{queue="billing",role="source",vhost="/"}`:              "4",
	`holdfast_queue_consumers{queue="billing",role="source",vhost="/"}`:            "1",
	`holdfast_queue_dead_letter_messages{queue="billing",role="source",vhost="/"}`: "2",
	`holdfast_parked_oldest_seconds{queue="billing.parked",vhost="/"}`:             "3600",
	`holdfast_node_alarm{node="rabbit@a",resource="memory"}`:                       "1",
	`holdfast_node_alarm{node="rabbit@a",resource="disk"}`:                         "0",
	`holdfast_node_alarm{node="rabbit@a",resource="files"}`:                        "0",
	`holdfast_findings{id="HF001",severity="error"}`:                               "2",
}

// TestScrape_has_the_names_that_the_alert_rules_use holds the contract: names
// and labels as they are scraped, to the letter.
func TestScrape_has_the_names_that_the_alert_rules_use(t *testing.T) {
	t.Parallel()
	s := newScene(t, telemetry.Config{})
	for _, e := range eventsOfBilling {
		e.Queue = "billing"
		s.Observe(e)
	}
	s.Watch(healthy{holdfast.Health{
		Queue: "billing", State: holdfast.StateAttached, ProvenAt: time.Unix(1700000000, 0), Stuck: 2, Blocked: "disk", OneAtATime: true, Braked: "f",
		Books: holdfast.Books{Received: 27, Done: 1, Delayed: 2, Held: 3, Parked: 4, Discarded: 5, Released: 6, InFlight: 6},
	}})
	s.WatchRelay(relay{outbox.RelayStatus{
		State: outbox.RelayHeldUp, Lanes: 64,
		Destinations: []outbox.DestinationStatus{
			{Destination: "orders", State: outbox.DestinationOpen}, {Destination: "mail", State: outbox.DestinationMissing},
		},
		Books: outbox.RelayBooks{Published: 7, Failed: 6, Left: 5, Unknowns: 4, Refusals: 3, Returned: 2, Fenced: 1},
	}})
	s.ObserveRelay(outbox.RelayEvent{Kind: outbox.RelayDiffers})
	db := &database{}
	s.WatchOutbox(db)
	s.WatchInbox(db)
	s.WatchSetAsides(db)
	s.WatchBroker(func() telemetry.BrokerLook { return lookOfBroker })

	got := s.scrape()
	s.want(got, contract)
	for name := range got {
		if strings.Contains(name, "4711") {
			t.Errorf("%s has what a message says as a label", name)
		}
	}
	if _, ok := got[`holdfast_outbox_oldest_seconds{destination="orders",state="published"}`]; ok {
		t.Error("the age of published rows is told")
	}
}

var lookOfBroker = telemetry.BrokerLook{
	Up: true, ExaminedAt: time.Unix(1700000000, 0), Blocked: 3,
	Queues:   []telemetry.QueueLook{{VHost: "/", Queue: "billing", Role: "source", Messages: 9, Ready: 5, Unacked: 4, Consumers: 1, DeadLetter: 2}},
	Parked:   []telemetry.ParkedLook{{VHost: "/", Queue: "billing.parked", Oldest: time.Hour}},
	Nodes:    []telemetry.NodeLook{{Node: "rabbit@a", Memory: true}},
	Findings: []telemetry.FindingCount{{ID: "HF001", Severity: "error", Count: 2}},
}

// TestScrape_of_a_broker_that_is_down tells nothing that was true before.
func TestScrape_of_a_broker_that_is_down(t *testing.T) {
	t.Parallel()
	s := newScene(t, telemetry.Config{})
	s.WatchBroker(func() telemetry.BrokerLook {
		down := lookOfBroker
		down.Up = false
		return down
	})
	got := s.scrape()
	s.want(got, map[string]string{`holdfast_broker_up`: "0", `holdfast_examined_timestamp_seconds`: "1.7e+09"})
	for name := range got {
		if strings.HasPrefix(name, "holdfast_queue") || strings.HasPrefix(name, "holdfast_node") {
			t.Errorf("%s is told of a broker that nobody can look at", name)
		}
	}
}

// TestScrape_takes_the_worse_of_two_consumers_of_one_queue keeps a consumer that
// is attached from hiding one that is not.
func TestScrape_takes_the_worse_of_two_consumers_of_one_queue(t *testing.T) {
	t.Parallel()
	s := newScene(t, telemetry.Config{})
	s.Watch(healthy{holdfast.Health{Queue: "q", State: holdfast.StateAttached, ProvenAt: time.Unix(2e9, 0), Books: holdfast.Books{Received: 2, Done: 2}}})
	stop := s.Watch(healthy{holdfast.Health{Queue: "q", State: holdfast.StateReconnecting, Credentials: true, ProvenAt: time.Unix(1e9, 0), Books: holdfast.Books{Received: 3, InFlight: 3}}})
	for range 20 { // they are read in any order
		s.want(s.scrape(), map[string]string{
			`holdfast_attached{queue="q"}`: "0", `holdfast_credentials_refused{queue="q"}`: "1",
			`holdfast_received_total{queue="q"}`: "5", `holdfast_settled_total{fate="done",queue="q"}`: "2", `holdfast_in_flight{queue="q"}`: "3",
			`holdfast_proven_timestamp_seconds{queue="q"}`: "1e+09",
		})
	}
	stop()
	s.want(s.scrape(), map[string]string{`holdfast_attached{queue="q"}`: "1", `holdfast_received_total{queue="q"}`: "2"})
}

// TestScrape_bounds_the_names_it_tells_apart feeds more names than it takes.
func TestScrape_bounds_the_names_it_tells_apart(t *testing.T) {
	t.Parallel()
	s := newScene(t, telemetry.Config{})
	const many = 3000
	s.Observe(holdfast.Event{Kind: holdfast.EventStopping, Queue: "amq.gen-first"})
	groups := make([]store.Group, many)
	for i := range many {
		s.Observe(holdfast.Event{Kind: holdfast.EventDetached, Queue: fmt.Sprint("queue", i)})
		groups[i] = store.Group{State: store.Pending, Destination: fmt.Sprint("to", i), Count: 1}
	}
	s.Observe(holdfast.Event{Kind: holdfast.EventDetached, Queue: "amq.gen-JzTY20BRgKO"})
	s.Observe(holdfast.Event{Kind: holdfast.EventDetached, Queue: "amq.gen-a1b2c3d4e5f"})
	s.WatchOutbox(statusFunc(func() (store.Status, error) { return store.Status{Groups: groups}, nil }))
	s.WatchBroker(func() telemetry.BrokerLook {
		look := telemetry.BrokerLook{Up: true}
		for i := range many {
			look.Queues = append(look.Queues, telemetry.QueueLook{Queue: fmt.Sprint("queue", i), Role: "source", Messages: 1})
		}
		return look
	})
	got := s.scrape()
	s.want(got, map[string]string{
		`holdfast_detached_total{queue="other"}`:                                 "2501",
		`holdfast_detached_total{queue="amq.gen"}`:                               "2",
		`holdfast_outbox_rows{class="none",destination="other",state="pending"}`: "2900",
		`holdfast_queue_messages{queue="other",role="source",vhost=""}`:          "1000",
	})
	count := func(prefix string) (n int) {
		for name := range got {
			if strings.HasPrefix(name, prefix) {
				n++
			}
		}
		return n
	}
	for prefix, most := range map[string]int{"holdfast_detached_total": 501, "holdfast_outbox_rows": 101, "holdfast_queue_messages": 2001} {
		if n := count(prefix); n != most {
			t.Errorf("%s has %d series, not %d", prefix, n, most)
		}
	}
}

type statusFunc func() (store.Status, error)

func (f statusFunc) Status(context.Context) (store.Status, error) { return f() }

// TestScrape_does_not_hammer_the_database asks once, however often it is scraped,
// and does so of one that is down, too.
func TestScrape_does_not_hammer_the_database(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{"up": nil, "down": store.ErrUnreachable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, telemetry.Config{Refresh: time.Hour})
			db := &database{err: err}
			s.WatchOutbox(db)
			for range 5 {
				s.scrape()
			}
			if n := db.asked.Load(); n != 1 {
				t.Errorf("it was asked %d times", n)
			}
			up := map[bool]string{true: "1", false: "0"}[err == nil]
			s.want(s.scrape(), map[string]string{`holdfast_outbox_up`: up})
			if _, told := s.scrape()[`holdfast_outbox_blocker_seconds`]; told != (err == nil) {
				t.Errorf("numbers are told: %v", told)
			}
		})
	}
}

// TestScrape_survives_what_panics tells all that can be told.
func TestScrape_survives_what_panics(t *testing.T) {
	t.Parallel()
	s := newScene(t, telemetry.Config{})
	s.Watch((*holdfast.Consumer)(nil))
	s.WatchRelay((*outbox.Relay)(nil))
	s.WatchOutbox(statusFunc(func() (store.Status, error) { panic("store") }))
	s.WatchBroker(func() telemetry.BrokerLook { panic("look") })
	s.Observe(holdfast.Event{})
	s.ObserveRelay(outbox.RelayEvent{})
	s.want(s.scrape(), map[string]string{`holdfast_outbox_up`: "0", `holdfast_broker_up`: "0", `holdfast_relay_up`: "0"})
}

// TestScrape_books_balance scrapes again and again while a consumer works.
func TestScrape_books_balance(t *testing.T) {
	t.Parallel()
	s := newScene(t, telemetry.Config{})
	b := membroker.New()
	t.Cleanup(func() { _ = b.Close() })
	b.DeclareQueue("busy")
	const total = 2000
	for range total {
		if err := b.Publish(t.Context(), broker.Target{Queue: "busy"}, &broker.Message{Body: []byte("x")}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var n atomic.Int64
	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue: "busy", Concurrency: 4, Observer: s, Tracer: s,
		Handler: func(context.Context, *holdfast.Message) error {
			if n.Add(1)%10 == 0 {
				return holdfast.Park(errors.New("every tenth"))
			}
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Watch(c)
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	for deadline := time.Now().Add(patience); ; {
		got := s.scrape()
		sum := 0
		for _, fate := range []string{"done", "delayed", "held", "parked", "discarded", "released"} {
			sum += number(t, got[`holdfast_settled_total{fate="`+fate+`",queue="busy"}`])
		}
		sum += number(t, got[`holdfast_in_flight{queue="busy"}`])
		if received := number(t, got[`holdfast_received_total{queue="busy"}`]); received != sum {
			t.Fatalf("received %d, settled and in flight %d", received, sum)
		}
		// Events come after the books.
		if got[`holdfast_parked_total{queue="busy",reason="verdict"}`] == "200" && got[`holdfast_settled_total{fate="done",queue="busy"}`] == "1800" {
			s.want(got, map[string]string{`holdfast_attached{queue="busy"}`: "1", `holdfast_settled_total{fate="parked",queue="busy"}`: "200"})
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the work does not end")
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	s.want(s.scrape(), map[string]string{`holdfast_attached{queue="busy"}`: "0"})
}

func number(t *testing.T, text string) (n int) {
	t.Helper()
	if _, err := fmt.Sscan(text, &n); err != nil {
		t.Fatalf("%q is no number", text)
	}
	return n
}
