package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

const (
	keyVHost    = attribute.Key("vhost")
	keyRole     = attribute.Key("role")
	keyNode     = attribute.Key("node")
	keyResource = attribute.Key("resource")
	keyID       = attribute.Key("id")
	keySeverity = attribute.Key("severity")

	maxBrokerQueues = 2000
)

// BrokerLook is a broker as somebody looked at it last: `holdfast serve` does,
// again and again.
type BrokerLook struct {
	// Up says that the broker could be looked at. Of one that could not, nothing
	// else is told, but when it was examined last and what was found elsewhere.
	Up bool

	// ExaminedAt is when the last look was complete; zero for never.
	ExaminedAt time.Time

	// Queues are told up to 2,000, in their order; the numbers of those beyond are
	// added by virtual host and role, under the name "other".
	Queues []QueueLook

	// Parked has a line for each parked queue whose head could be looked at.
	Parked []ParkedLook

	Nodes []NodeLook

	// Blocked is how many connections may not publish.
	Blocked int

	Findings []FindingCount
}

// QueueLook is one queue of a broker.
type QueueLook struct {
	VHost, Queue string

	// Role is source, parked, hold, rung, strays or dead.
	Role string

	Messages, Ready, Unacked, Consumers, DeadLetter int64
}

// ParkedLook is the oldest message of a parked queue; no age for an empty one.
type ParkedLook struct {
	VHost, Queue string
	Oldest       time.Duration
}

// NodeLook is what one node of a broker is short of.
type NodeLook struct {
	Node                string
	Memory, Disk, Files bool
}

// FindingCount counts the findings of one check.
type FindingCount struct {
	ID       string
	Severity string
	Count    int
}

// WatchBroker tells what look returns at each collection, from now on until stop
// is called. look is to return at once.
func (t *Telemetry) WatchBroker(look func() BrokerLook) (stop func()) {
	return t.watched.brokers.add(look)
}

func lookAt(look func() BrokerLook) (b BrokerLook) {
	defer func() {
		if recover() != nil {
			b = BrokerLook{}
		}
	}()
	return look()
}

// folded adds up what is beyond the bound.
func folded(queues []QueueLook) []QueueLook {
	if len(queues) <= maxBrokerQueues {
		return queues
	}
	rest := map[[2]string]*QueueLook{}
	for _, q := range queues[maxBrokerQueues:] {
		sum := rest[[2]string{q.VHost, q.Role}]
		if sum == nil {
			sum = &QueueLook{VHost: q.VHost, Queue: other, Role: q.Role}
			rest[[2]string{q.VHost, q.Role}] = sum
		}
		sum.Messages += q.Messages
		sum.Ready += q.Ready
		sum.Unacked += q.Unacked
		sum.Consumers += q.Consumers
		sum.DeadLetter += q.DeadLetter
	}
	out := append([]QueueLook(nil), queues[:maxBrokerQueues]...)
	for _, sum := range rest {
		out = append(out, *sum)
	}
	return out
}

// brokerInstruments are those of one look.
type brokerInstruments struct {
	messages, ready, unacked, consumers, deadLetter metric.Int64Observable
	alarm, blocked, findings, up                    metric.Int64Observable
	oldest, examined                                metric.Float64Observable
}

func (t *Telemetry) observeBrokers(m *maker) {
	i := brokerInstruments{
		messages:   m.gauge("holdfast.queue.messages", "{message}", "Messages in a queue of the broker."),
		ready:      m.gauge("holdfast.queue.ready", "{message}", "Messages that wait in it."),
		unacked:    m.gauge("holdfast.queue.unacked", "{message}", "Messages of it that are with consumers."),
		consumers:  m.gauge("holdfast.queue.consumers", "{consumer}", "Consumers of it."),
		deadLetter: m.gauge("holdfast.queue.dead_letter_messages", "{message}", "Messages that it keeps until their dead-letter target takes them."),
		oldest:     m.age("holdfast.parked.oldest", "Age of the oldest message of a parked queue; 0 when it is empty."),
		alarm:      m.gauge("holdfast.node_alarm", "", "1 while a node is short of memory, disk or files."),
		blocked:    m.gauge("holdfast.connections_blocked", "{connection}", "Connections that may not publish."),
		findings:   m.gauge("holdfast.findings", "{finding}", "What the doctor finds, by check and severity."),
		examined:   m.age("holdfast.examined_timestamp", "When the last look at the broker was complete."),
		up:         m.gauge("holdfast.broker_up", "", "1 while the broker can be looked at."),
	}
	m.callback(func(_ context.Context, o metric.Observer) error {
		for _, look := range t.watched.brokers.list() {
			i.observe(o, lookAt(look))
		}
		return nil
	}, i.messages, i.ready, i.unacked, i.consumers, i.deadLetter, i.oldest, i.alarm, i.blocked, i.findings, i.examined, i.up)
}

func (i brokerInstruments) observe(o metric.Observer, b BrokerLook) {
	o.ObserveInt64(i.up, one(b.Up))
	if !b.ExaminedAt.IsZero() {
		o.ObserveFloat64(i.examined, unix(b.ExaminedAt))
	}
	for _, f := range b.Findings {
		o.ObserveInt64(i.findings, int64(f.Count), labels(keyID.String(f.ID), keySeverity.String(f.Severity)))
	}
	if !b.Up {
		return // what was once seen says nothing of now
	}
	for _, q := range folded(b.Queues) {
		set := labels(keyVHost.String(q.VHost), keyQueue.String(q.Queue), keyRole.String(q.Role))
		o.ObserveInt64(i.messages, q.Messages, set)
		o.ObserveInt64(i.ready, q.Ready, set)
		o.ObserveInt64(i.unacked, q.Unacked, set)
		o.ObserveInt64(i.consumers, q.Consumers, set)
		o.ObserveInt64(i.deadLetter, q.DeadLetter, set)
	}
	for _, p := range b.Parked[:min(len(b.Parked), maxBrokerQueues)] {
		o.ObserveFloat64(i.oldest, p.Oldest.Seconds(), labels(keyVHost.String(p.VHost), keyQueue.String(p.Queue)))
	}
	for _, n := range b.Nodes {
		for resource, short := range map[string]bool{"memory": n.Memory, "disk": n.Disk, "files": n.Files} {
			o.ObserveInt64(i.alarm, one(short), labels(keyNode.String(n.Node), keyResource.String(resource)))
		}
	}
	o.ObserveInt64(i.blocked, int64(b.Blocked))
}
