package doctor

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/doctor/management"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/topology"
)

var now = time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)

// well is a system in which nothing is wrong: a source with a Holdfast consumer
// that has been through retries, holds and parks, a relay, an inbox, manifests
// that agree.
func well() *Facts {
	s := &management.Snapshot{
		TakenAt: now, AskedAt: now, ServerTime: now.Truncate(time.Second),
		Overview: management.Overview{Product: "RabbitMQ", Version: "4.3.6", RatesMode: "basic"},
		Nodes: []management.Node{
			{Name: "rabbit@a", Running: true, MemoryUsed: 100 << 20, MemoryLimit: 1 << 30, DiskFree: 50 << 30, DiskLimit: 50 << 20},
			{Name: "rabbit@b", Running: true, MemoryUsed: 100 << 20, MemoryLimit: 1 << 30, DiskFree: 50 << 30, DiskLimit: 50 << 20},
			{Name: "rabbit@c", Running: true, MemoryUsed: 100 << 20, MemoryLimit: 1 << 30, DiskFree: 50 << 30, DiskLimit: 50 << 20},
		},
		Permissions: []management.Permission{{User: "billing", VHost: "/", Configure: ".*", Write: ".*", Read: ".*"}},
		Connections: []management.Connection{
			{Name: "c1", ClientName: "billing consume", VHost: "/", User: "billing", State: "running"},
			{Name: "c2", ClientName: "billing publish", VHost: "/", User: "billing", State: "running"},
		},
		Channels: []management.Channel{
			{Name: "c1 (1)", Connection: "c1", VHost: "/", User: "billing", Prefetch: 10, Consumers: 1, Unacked: 1},
			{Name: "c2 (1)", Connection: "c2", VHost: "/", User: "billing", Confirm: true},
		},
		Consumers: []management.Consumer{{VHost: "/", Queue: "orders", Tag: "t", Channel: "c1 (1)", Prefetch: 10, Ack: true, Active: true}},
	}
	for _, name := range []string{"", "amq.topic"} {
		s.Exchanges = append(s.Exchanges, management.Exchange{VHost: "/", Name: name, Type: "direct", Durable: true})
	}
	exchange(s, "shop", "topic", nil).In = 10
	last(s.Exchanges).Out = 10
	exchange(s, "holdfast", "direct", nil)
	exchange(s, "holdfast.return", "direct", management.Arguments{"alternate-exchange": "holdfast.unrouted"})
	exchange(s, "holdfast.unrouted", "fanout", nil)
	exchange(s, "holdfast.retry.1000", "fanout", nil)
	q := queue(s, "orders", nil)
	q.Consumers, q.Ready, q.Unacked, q.Messages, q.Rates.Ack, q.Rates.Deliver = 1, 2, 1, 3, 1, 1
	queue(s, "orders.hold", management.Arguments{"x-delivery-limit": -1.0})
	queue(s, "orders.parked", management.Arguments{"x-delivery-limit": -1.0}).Messages = 1
	queue(s, "holdfast.unrouted", nil)
	queue(s, "holdfast.retry.1000", management.Arguments{
		"x-message-ttl": 1000.0, "x-dead-letter-exchange": "holdfast.return", "x-dead-letter-strategy": "at-least-once", "x-overflow": "reject-publish",
	})
	bind(s, "shop", "orders", "order.#")
	bind(s, "holdfast.return", "orders", "orders")
	bind(s, "holdfast", "orders.hold", "orders.hold")
	bind(s, "holdfast", "orders.parked", "orders.parked")
	bind(s, "holdfast.unrouted", "holdfast.unrouted", "holdfast.unrouted")
	bind(s, "holdfast.retry.1000", "holdfast.retry.1000", "holdfast.retry.1000")
	before := *s
	before.TakenAt = now.Add(-10 * time.Second)
	before.Queues = slices.Clone(s.Queues)
	return &Facts{
		Now: now, RabbitMQ: s, Before: &before,
		Store: &StoreFacts{
			Name: "db", Known: true,
			Outbox: store.Status{
				Groups:   []store.Group{{State: store.Published, Destination: "shop", Count: 100, Oldest: time.Hour}, {State: store.Pending, Destination: "shop", Count: 1, Oldest: time.Second}},
				Standing: store.Standing{Relays: []store.Relay{{ID: "r1", Name: "r1", Settings: "same", SeenAt: now}, {ID: "r2", Name: "r2", Settings: "same", SeenAt: now}}},
			},
			Inboxes: []store.InboxStatus{{Consumer: "billing", Count: 10, Oldest: 30 * 24 * time.Hour}},
			Asides:  []store.AsideGroup{{Consumer: "billing", Reason: "gap", Count: 1, Oldest: time.Minute, Newest: time.Minute}},
		},
		Service: &ServiceFacts{User: "billing", VHost: "/", Queues: []string{"orders"}, Rungs: []time.Duration{time.Second}},
		Manifests: []topology.Manifest{
			{
				Version: 1, Service: "shop", Declares: topology.Topology{Exchanges: []topology.Exchange{{Name: "shop", Type: "topic", Durable: true}}},
				Publishes: []topology.Publication{{Exchange: "shop", Key: "order.placed"}},
			},
			{Version: 1, Service: "billing", Owner: "billing team", Declares: topology.Topology{
				Exchanges: []topology.Exchange{{Name: "shop", Type: "topic", Durable: true}},
				Queues:    []topology.Queue{{Name: "orders", Type: "quorum", Durable: true}},
				Bindings:  []topology.Binding{{Source: "shop", Destination: "orders", Key: "order.#"}},
			}, Consumes: []topology.Consumption{{Queue: "orders"}}},
		},
	}
}

func exchange(s *management.Snapshot, name, kind string, args management.Arguments) *management.Exchange {
	s.Exchanges = append(s.Exchanges, management.Exchange{VHost: "/", Name: name, Type: kind, Durable: true, Arguments: args})
	return last(s.Exchanges)
}

func queue(s *management.Snapshot, name string, args management.Arguments) *management.Queue {
	q := management.Queue{
		VHost: "/", Name: name, Type: "quorum", Durable: true, Arguments: args, State: "running", Node: "rabbit@a", DeliveryLimit: 20,
		Members: []string{"rabbit@a", "rabbit@b", "rabbit@c"}, Online: []string{"rabbit@a", "rabbit@b", "rabbit@c"},
	}
	if n, ok := args.Number("x-delivery-limit"); ok {
		q.DeliveryLimit = n
	}
	s.Queues = append(s.Queues, q)
	return last(s.Queues)
}

func bind(s *management.Snapshot, source, queue, key string) {
	s.Bindings = append(s.Bindings, management.Binding{VHost: "/", Source: source, Destination: queue, Key: key})
}

func last[T any](list []T) *T { return &list[len(list)-1] }

func named(s *management.Snapshot, name string) *management.Queue {
	for i := range s.Queues {
		if s.Queues[i].Name == name {
			return &s.Queues[i]
		}
	}
	return nil
}

// dlx makes a foreign queue that dead-letters.
func dlx(s *management.Snapshot, args management.Arguments) *management.Queue {
	all := management.Arguments{"x-dead-letter-exchange": "dlx", "x-dead-letter-routing-key": "dead"}
	for k, v := range args {
		all[k] = v
	}
	q := queue(s, "work", all)
	q.Consumers = 1
	bind(s, "shop", "work", "order.placed")
	return q
}

func dlq(s *management.Snapshot) *management.Queue {
	exchange(s, "dlx", "direct", nil)
	bind(s, "dlx", "work.dlq", "dead")
	return queue(s, "work.dlq", management.Arguments{"x-delivery-limit": -1.0})
}

// faults are each one fault in a system that is well otherwise, by the check that
// is to find it.
var faults = map[string]func(f *Facts){
	"HF001": func(f *Facts) { dlx(f.RabbitMQ, nil) },
	"HF002": func(f *Facts) { dlx(f.RabbitMQ, nil); exchange(f.RabbitMQ, "dlx", "direct", nil) },
	"HF003": func(f *Facts) {
		dlx(f.RabbitMQ, management.Arguments{"x-dead-letter-routing-key": "other"})
		dlq(f.RabbitMQ)
	},
	"HF004": func(f *Facts) { queue(f.RabbitMQ, "work", nil).Consumers = 1 },
	"HF005": func(f *Facts) {
		q := named(f.RabbitMQ, "orders")
		q.Policy, q.Effective = "unlimited", management.Arguments{"delivery-limit": -1.0}
	},
	"HF006": func(f *Facts) {
		f.RabbitMQ.Overview.Version = "3.10.8"
		for i := range f.RabbitMQ.Queues {
			f.RabbitMQ.Queues[i].DeliveryLimit = 0
			delete(f.RabbitMQ.Queues[i].Arguments, "x-delivery-limit")
		}
		named(f.RabbitMQ, "orders").Arguments = management.Arguments{"x-delivery-limit": -1.0}
		f.Manifests[1].Declares.Queues[0].Arguments = map[string]any{"x-delivery-limit": -1.0}
	},
	"HF007": func(f *Facts) {
		dlx(f.RabbitMQ, management.Arguments{"x-dead-letter-strategy": "at-least-once"})
		dlq(f.RabbitMQ)
	},
	"HF008": func(f *Facts) {
		q := queue(f.RabbitMQ, "round", management.Arguments{"x-message-ttl": 1000.0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "round", "x-delivery-limit": -1.0})
		q.Consumers = 0
	},
	"HF009": func(f *Facts) {
		queue(f.RabbitMQ, "idle", management.Arguments{"x-expires": 60000.0, "x-delivery-limit": -1.0})
	},
	"HF010": func(f *Facts) {
		exchange(f.RabbitMQ, "bare", "topic", management.Arguments{"alternate-exchange": "gone"})
	},
	"HF020": func(f *Facts) { q := named(f.RabbitMQ, "orders"); q.Consumers = 0; f.RabbitMQ.Consumers = nil },
	"HF021": func(f *Facts) { still(f, 1) },
	"HF022": func(f *Facts) { still(f, 10) },
	"HF023": func(f *Facts) { named(f.RabbitMQ, "orders.parked").HeadAt = now.Add(-25 * time.Hour) },
	"HF024": func(f *Facts) { named(f.RabbitMQ, "orders.parked").Messages = 1000 },
	"HF025": func(f *Facts) { f.RabbitMQ.Nodes[0].DiskFree = 100 << 20 },
	"HF026": func(f *Facts) {
		named(f.RabbitMQ, "holdfast.retry.1000").DeadLetter = 50
		named(f.Before, "holdfast.retry.1000").DeadLetter = 50
	},
	"HF027": func(f *Facts) { dlx(f.RabbitMQ, nil); dlq(f.RabbitMQ).Messages = 5 },
	"HF028": func(f *Facts) {
		q := named(f.RabbitMQ, "orders.parked")
		q.Policy, q.Effective = "all", management.Arguments{"message-ttl": 86400000.0}
	},
	"HF029": func(f *Facts) { named(f.RabbitMQ, "orders.parked").DeliveryLimit = 20 },
	"HF030": func(f *Facts) { named(f.RabbitMQ, "holdfast.unrouted").Messages = 1 },
	"HF031": func(f *Facts) {
		exchange(f.RabbitMQ, "later", "x-delayed-message", management.Arguments{"x-delayed-type": "topic"})
	},
	"HF032": func(f *Facts) {
		q := queue(f.RabbitMQ, "wait", management.Arguments{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "orders"})
		q.Messages, q.Ready = 4, 4
	},
	"HF033": func(f *Facts) {
		f.RabbitMQ.Consumers = append(f.RabbitMQ.Consumers, management.Consumer{VHost: "/", Queue: "orders", Tag: "u", Channel: "c1 (1)", Prefetch: 10})
	},
	"HF034": func(f *Facts) { named(f.RabbitMQ, "orders").Online = []string{"rabbit@a"} },
	"HF035": func(f *Facts) {
		q := named(f.RabbitMQ, "orders")
		q.Members, q.Online = q.Members[:1], q.Online[:1]
	},
	"HF036": func(f *Facts) { f.RabbitMQ.Nodes = f.RabbitMQ.Nodes[:1] },
	"HF040": func(f *Facts) {
		f.RabbitMQ.Nodes[0].MemoryAlarm = true
		f.RabbitMQ.Connections[1].State = "blocked"
	},
	"HF041": func(f *Facts) { f.RabbitMQ.Nodes[0].MemoryUsed = 1000 << 20 },
	"HF042": func(f *Facts) { f.RabbitMQ.Connections[1].State = "blocked" },
	"HF043": func(f *Facts) { f.RabbitMQ.Channels[1].Connection = "c1" },
	"HF044": func(f *Facts) { f.RabbitMQ.Nodes[2].Running = false },
	"HF046": func(f *Facts) { f.RabbitMQ.ServerTime = now.Add(-time.Minute) },
	"HF050": func(f *Facts) { f.RabbitMQ.Permissions[0].Configure = "^orders" },
	"HF051": func(f *Facts) {
		f.RabbitMQ.Permissions[0].Write = "^[a-z]+(?:$|[.](hold|parked|return|unrouted|retry[.]1000))"
		f.RabbitMQ.Permissions[0].Write = "^(orders|holdfast|shop|work)"
		q := queue(f.RabbitMQ, "work", management.Arguments{"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "work.dlq"})
		q.Consumers = 1
		queue(f.RabbitMQ, "work.dlq", management.Arguments{"x-delivery-limit": -1.0})
	},
	"HF052": func(f *Facts) {
		f.Manifests[1].User = "bill"
		f.RabbitMQ.Permissions = append(f.RabbitMQ.Permissions, management.Permission{User: "bill", VHost: "/", Configure: "^orders$", Write: "^orders$", Read: "^(orders|shop|holdfast.*)"})
	},
	"HF055": func(f *Facts) {
		f.Manifests[1].Declares.Queues[0].Arguments = map[string]any{"x-max-length": 10.0}
	},
	"HF058": func(f *Facts) {
		f.RabbitMQ.Permissions = append(f.RabbitMQ.Permissions, management.Permission{User: "mail", VHost: "/", Read: "^(orders|holdfast|shop)", Write: "^(orders|holdfast|shop)"})
		queue(f.RabbitMQ, "acme.audit-feed.dlq", management.Arguments{"x-delivery-limit": -1.0})
	},
	"HF060": func(f *Facts) { f.Service.Login = fmt.Errorf("%w: 403", broker.ErrCredentials) },
	"HF061": func(f *Facts) { f.Service.Stored, f.Service.StoredDiffers = true, true },
	"HF070": func(f *Facts) {
		f.Manifests[1].Declares.Bindings = append(f.Manifests[1].Declares.Bindings, topology.Binding{Source: "shop", Destination: "orders", Key: "refund.#"})
	},
	"HF071": func(f *Facts) {
		f.Manifests[0].Publishes = append(f.Manifests[0].Publishes, topology.Publication{Exchange: "shop", Key: "refund.made"})
	},
	"HF072": func(f *Facts) {
		f.Manifests[0].Declares.Exchanges[0].Durable = false
		f.RabbitMQ.Exchanges[2].Durable = false
	},
	"HF073": func(f *Facts) { e := exchange(f.RabbitMQ, "void", "topic", nil); e.In = 7 },
	"HF100": func(f *Facts) { f.Store.Outbox.Groups[1].Oldest = time.Hour },
	"HF101": func(f *Facts) {
		f.Store.Outbox.Groups = append(f.Store.Outbox.Groups, store.Group{State: store.Publishing, Destination: "shop", Count: 2, Oldest: time.Hour})
	},
	"HF102": func(f *Facts) {
		f.Store.Outbox.Groups = append(f.Store.Outbox.Groups, store.Group{State: store.Failed, Destination: "shop", Class: store.ClassUnrouted, Count: 2, Oldest: time.Hour})
	},
	"HF103": func(f *Facts) { f.Store.Outbox.Relays = nil; f.Store.Outbox.Groups[1].Oldest = 2 * time.Minute },
	"HF105": func(f *Facts) { f.Store.Outbox.Relays[1].Settings = "other" },
	"HF106": func(f *Facts) {
		f.Store.Outbox.Blockers = []store.Blocker{{PID: 7, User: "app", State: "idle in transaction", Age: time.Hour}}
	},
	"HF107": func(f *Facts) {
		f.Store.Outbox.Groups = append(f.Store.Outbox.Groups, store.Group{State: store.Pending, Destination: "theirs", Class: store.ClassPermission, Count: 2, Oldest: time.Hour})
	},
	"HF108": func(f *Facts) { f.Store.Err = fmt.Errorf("%w: a column is missing", store.ErrSchema) },
	"HF110": func(f *Facts) {
		named(f.RabbitMQ, "orders.parked").HeadAt = now.Add(-20 * time.Hour)
		f.Store.Inboxes[0].Oldest = time.Hour
	},
	"HF115": func(f *Facts) { f.Store.Asides[0].Oldest = 25 * time.Hour },
	"HF116": func(f *Facts) { f.Store.Clock = -time.Minute },
}

// still makes the queue one in which nothing has moved between the looks.
func still(f *Facts, unacked int64) {
	for _, s := range []*management.Snapshot{f.RabbitMQ, f.Before} {
		q := named(s, "orders")
		q.Ready, q.Unacked, q.Messages, q.Rates = 5, unacked, 5+unacked, management.QueueRates{}
	}
}

func TestASystemThatIsWellGivesNoFinding(t *testing.T) {
	r := Examine(well())
	for _, found := range r.Findings {
		t.Errorf("%s %s: %s %v", found.ID, found.Subject, found.Summary, found.Evidence)
	}
	if len(r.Findings) == 0 && r.Ran < 50 {
		t.Errorf("only %d checks ran", r.Ran)
	}
}

func TestEveryFaultIsFoundOnceAndByOneCheckAlone(t *testing.T) {
	for id, seed := range faults {
		t.Run(id, func(t *testing.T) {
			f := well()
			seed(f)
			found := Examine(f).Findings
			if len(found) != 1 || found[0].ID != id {
				for _, other := range found {
					t.Logf("%s %s: %s %v", other.ID, other.Subject, other.Summary, other.Evidence)
				}
				t.Fatalf("%d findings, want one of %s", len(found), id)
			}
			whole(t, found[0])
		})
	}
}

// whole wants everything that a person needs.
func whole(t *testing.T, f Finding) {
	t.Helper()
	if f.Severity == 0 || f.Subject == "" || f.Summary == "" || len(f.Evidence) == 0 || f.Notice == "" || len(f.Remedy) == 0 || f.Runbook == "" {
		t.Errorf("something is missing: %+v", f)
	}
}

func TestEveryCheckHasAFaultThatItFinds(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Checks() {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		if faults[c.ID] == nil && c.Needs != SourcePrometheus && c.Needs != SourceBroker {
			t.Errorf("no fault shows that %s (%s) finds anything", c.ID, c.Title)
		}
	}
}

// TestWithoutRatesNothingIsCalledStill: all rates are 0 then, and it says so.
func TestWithoutRatesNothingIsCalledStill(t *testing.T) {
	f := well()
	still(f, 10)
	f.RabbitMQ.Overview.RatesMode = "none"
	if r := Examine(f); len(r.Findings) != 0 || len(r.Blind) != 1 {
		t.Errorf("%+v, blind: %q", r.Findings, r.Blind)
	}
}

func TestABoundedQueueFillsNoDisk(t *testing.T) {
	f := well()
	f.RabbitMQ.Nodes[0].DiskFree = 100 << 20
	named(f.RabbitMQ, "orders.parked").Arguments = management.Arguments{"x-delivery-limit": -1.0, "x-max-length": 10.0, "x-overflow": "reject-publish"}
	if r := Examine(f); len(r.Findings) != 0 {
		t.Errorf("%+v", r.Findings)
	}
}

func TestACheckThatFailsStopsNoOther(t *testing.T) {
	bad := Check{ID: "HF999", Title: "bad", Needs: SourceRabbitMQ, Find: func(*Facts) []Finding { panic(errors.New("a defect")) }}
	found := bad.run(well())
	if len(found) != 1 || found[0].ID != "HF999" || found[0].Severity != Warning {
		t.Errorf("found %+v", found)
	}
}
