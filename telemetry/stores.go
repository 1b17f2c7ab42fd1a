package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/holdfast-mq/holdfast/store"
)

const (
	keyState    = attribute.Key("state")
	keyClass    = attribute.Key("class")
	keyConsumer = attribute.Key("consumer")

	// noClass is the class of rows that have met no failure.
	noClass = "none"
)

// Outbox is what is asked of a [store.Outbox].
type Outbox interface {
	Status(context.Context) (store.Status, error)
}

// Inbox is what is asked of a [store.Inbox].
type Inbox interface {
	Inboxes(context.Context) ([]store.InboxStatus, error)
}

// SetAsides is what is asked of a [store.SetAsides].
type SetAsides interface {
	AsideReasons(context.Context) ([]store.AsideGroup, error)
}

// WatchOutbox counts the rows of an outbox at each collection, from now on until
// stop is called. The scope is the whole table, whoever writes to it: watch it in
// one place, such as the relay. The database is asked at most once in
// [Config.Refresh]; a collection waits 1 s for the answer and then tells the one
// of before, up to 2 min old.
func (t *Telemetry) WatchOutbox(o Outbox) (stop func()) {
	return t.watched.outboxes.add(&kept[outboxLook]{under: t.underway, ask: func(ctx context.Context) (outboxLook, error) {
		s, err := o.Status(ctx)
		return t.outboxLook(s), err
	}})
}

// WatchInbox does the same for the records of all consumers of an inbox.
func (t *Telemetry) WatchInbox(i Inbox) (stop func()) {
	consumers := newNames(maxConsumers)
	return t.watched.inboxes.add(&kept[inboxLook]{under: t.underway, ask: func(ctx context.Context) (inboxLook, error) {
		all, err := i.Inboxes(ctx)
		look := inboxLook{}
		for _, s := range all {
			n := look[consumers.bound(s.Consumer)]
			look[consumers.bound(s.Consumer)] = [2]int{n[0] + s.Count, n[1] + s.Duplicates}
		}
		return look, err
	}})
}

// WatchSetAsides does the same for what consumers have set aside.
func (t *Telemetry) WatchSetAsides(s SetAsides) (stop func()) {
	consumers, whys := newNames(maxConsumers), newNames(maxReasons)
	return t.watched.asides.add(&kept[asideLook]{under: t.underway, ask: func(ctx context.Context) (asideLook, error) {
		groups, err := s.AsideReasons(ctx)
		look := asideLook{}
		for _, g := range groups {
			key := [2]string{consumers.bound(g.Consumer), whys.bound(g.Reason)}
			look[key] = look[key].with(g.Count, g.Oldest)
		}
		return look, err
	}})
}

// heap counts rows, and knows how old the oldest is.
type heap struct {
	count  int
	oldest time.Duration
}

func (h heap) with(count int, oldest time.Duration) heap {
	return heap{h.count + count, max(h.oldest, oldest)}
}

type (
	outboxLook struct {
		rows    map[outboxKey]heap
		oldest  map[outboxKey]heap // without the class
		blocker time.Duration
	}
	outboxKey struct{ destination, state, class string }

	inboxLook map[string][2]int // records and duplicates by consumer
	asideLook map[[2]string]heap
)

func (t *Telemetry) outboxLook(s store.Status) outboxLook {
	look := outboxLook{rows: map[outboxKey]heap{}, oldest: map[outboxKey]heap{}}
	for _, g := range s.Groups {
		key := outboxKey{t.places.bound(g.Destination), string(g.State), string(g.Class)}
		if key.class == "" {
			key.class = noClass
		}
		look.rows[key] = look.rows[key].with(g.Count, g.Oldest)
		if g.State == store.Published {
			continue // the age of what is done says nothing
		}
		key.class = ""
		look.oldest[key] = look.oldest[key].with(g.Count, g.Oldest)
	}
	for _, b := range s.Blockers {
		look.blocker = max(look.blocker, b.Age)
	}
	return look
}

func (t *Telemetry) observeStores(m *maker) {
	t.observeOutboxes(m)
	t.observeInboxes(m)
	t.observeSetAsides(m)
}

func (t *Telemetry) observeOutboxes(m *maker) {
	rows := m.gauge("holdfast.outbox.rows", "{row}", "Rows of the whole outbox, by destination, state and class of their last failure.")
	oldest := m.age("holdfast.outbox.oldest", "Age of the oldest row since it may be published, or since it was claimed.")
	blocker := m.age("holdfast.outbox.blocker", "Age of the oldest open transaction that holds rows back; 0 for none.")
	up := m.gauge("holdfast.outbox.up", "", "1 while the database tells.")
	m.callback(func(ctx context.Context, o metric.Observer) error {
		for _, k := range t.watched.outboxes.list() {
			look, err := k.get(ctx, t.cfg.Refresh)
			o.ObserveInt64(up, one(err == nil))
			if err != nil {
				continue // old numbers would look like good ones
			}
			for key, h := range look.rows {
				o.ObserveInt64(rows, int64(h.count), labels(keyDestination.String(key.destination), keyState.String(key.state), keyClass.String(key.class)))
			}
			for key, h := range look.oldest {
				o.ObserveFloat64(oldest, h.oldest.Seconds(), labels(keyDestination.String(key.destination), keyState.String(key.state)))
			}
			o.ObserveFloat64(blocker, look.blocker.Seconds())
		}
		return nil
	}, rows, oldest, blocker, up)
}

func (t *Telemetry) observeInboxes(m *maker) {
	records := m.gauge("holdfast.inbox.records", "{message}", "Messages that a consumer has recorded as handled.")
	duplicates := m.gauge("holdfast.inbox.duplicates", "{delivery}", "How often recorded messages came again. A rising number is the inbox at work.")
	m.callback(func(ctx context.Context, o metric.Observer) error {
		for _, k := range t.watched.inboxes.list() {
			look, err := k.get(ctx, t.cfg.Refresh)
			if err != nil {
				continue
			}
			for consumer, n := range look {
				o.ObserveInt64(records, int64(n[0]), labels(keyConsumer.String(consumer)))
				o.ObserveInt64(duplicates, int64(n[1]), labels(keyConsumer.String(consumer)))
			}
		}
		return nil
	}, records, duplicates)
}

func (t *Telemetry) observeSetAsides(m *maker) {
	count := m.gauge("holdfast.set_aside", "{message}", "Messages set aside, by consumer and reason.")
	oldest := m.age("holdfast.set_aside.oldest", "Age of the oldest of them.")
	m.callback(func(ctx context.Context, o metric.Observer) error {
		for _, k := range t.watched.asides.list() {
			look, err := k.get(ctx, t.cfg.Refresh)
			if err != nil {
				continue
			}
			for key, h := range look {
				set := labels(keyConsumer.String(key[0]), keyReason.String(key[1]))
				o.ObserveInt64(count, int64(h.count), set)
				o.ObserveFloat64(oldest, h.oldest.Seconds(), set)
			}
		}
		return nil
	}, count, oldest)
}
