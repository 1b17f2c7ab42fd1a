package telemetry

import (
	"context"
	"errors"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// The attributes of metrics of ours. They are short, since they are typed into
// queries and rules.
const (
	keyQueue  = attribute.Key("queue")
	keyFate   = attribute.Key("fate")
	keyReason = attribute.Key("reason")
)

// events are the instruments that count what happens.
type events struct {
	parked, unsettled, detached, slow, returned, crashes metric.Int64Counter

	process, settle metric.Float64Histogram
	attempt, lap    metric.Int64Histogram
}

func newEvents(m *maker) events {
	return events{
		parked:    m.counter("holdfast.parked", "{message}", "Messages parked for a human, by reason."),
		unsettled: m.counter("holdfast.unsettled", "{settlement}", "Settlements that failed; the original stays."),
		detached:  m.counter("holdfast.detached", "{session}", "Sessions with the broker that ended or did not begin."),
		slow:      m.counter("holdfast.slow_handlers", "{handler}", "Handlers that neared the broker's own limit."),
		returned:  m.counter("holdfast.returned", "{message}", "Held messages that came back."),
		crashes:   m.counter("holdfast.crashes", "{delivery}", "Deliveries that arrived charged with a crash."),
		process:   m.seconds("messaging.process.duration", "Duration of processing operation."),
		settle:    m.seconds("holdfast.settle.duration", "From the handler's end until a copy was confirmed."),
		attempt:   m.steps("holdfast.attempt", "{attempt}", "Which attempt of its message a handler's call was."),
		lap:       m.steps("holdfast.lap", "{lap}", "Holds that a message has been through, at each hold."),
	}
}

// reasons are why a message is parked: each has a series from the start on, or
// the first one would be no increase to who asks for increases.
var reasons = []holdfast.Reason{
	holdfast.ReasonVerdict, holdfast.ReasonExhausted, holdfast.ReasonLapsExhausted, holdfast.ReasonMalformed,
	holdfast.ReasonNoncanonicalRoute, holdfast.ReasonCrashLoop, holdfast.ReasonOversize,
}

// serverNamed begins the names that RabbitMQ makes for queues of one connection:
// the rest is an id, and no label.
const serverNamed = "amq.gen"

// fates are the words for what became of a delivery.
var fates = map[holdfast.EventKind]string{
	holdfast.EventDone: "done", holdfast.EventDelayed: "delayed", holdfast.EventHeld: "held",
	holdfast.EventParked: "parked", holdfast.EventDiscarded: "discarded", holdfast.EventReleased: "released",
}

// queue is what is the same for all events of a source queue, made once.
type queue struct {
	name    string
	system  attribute.KeyValue // not valid while nobody has said which broker it is
	labels  metric.MeasurementOption
	add     []metric.AddOption
	record  []metric.RecordOption
	success []metric.RecordOption // of messaging.process.duration

	span  string // the name of an attempt's span, and how it begins
	begin []trace.SpanStartOption
}

func newQueue(name, system string) *queue {
	q := &queue{name: name, labels: labels(keyQueue.String(name))}
	if system != "" {
		q.system = semconv.MessagingSystemKey.String(system)
	}
	q.add = []metric.AddOption{q.labels}
	q.record = []metric.RecordOption{q.labels}
	q.success = []metric.RecordOption{labels(q.conventional()...)}
	q.span = process + " " + name
	q.begin = []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(q.conventional(semconv.MessagingOperationTypeProcess)...),
	}
	return q
}

func labels(kv ...attribute.KeyValue) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(kv...))
}

// conventional are the attributes that the conventions ask of metrics.
func (q *queue) conventional(more ...attribute.KeyValue) []attribute.KeyValue {
	kv := append([]attribute.KeyValue{semconv.MessagingDestinationName(q.name), semconv.MessagingOperationName(process)}, more...)
	if q.system.Valid() {
		kv = append(kv, q.system)
	}
	return kv
}

// queue returns what is known of a queue. All beyond the bound share one.
func (t *Telemetry) queue(name string) *queue {
	if q, ok := t.queues.Load(name); ok {
		return q.(*queue)
	}
	if strings.HasPrefix(name, serverNamed) {
		name = serverNamed
	}
	bound := t.names.bound(name)
	q, known := t.queues.LoadOrStore(bound, newQueue(bound, ""))
	if !known {
		t.begin(q.(*queue))
	}
	return q.(*queue)
}

// begin makes the series of a queue.
func (t *Telemetry) begin(q *queue) {
	ctx := context.Background()
	for _, c := range []metric.Int64Counter{t.events.unsettled, t.events.detached, t.events.slow, t.events.returned, t.events.crashes} {
		c.Add(ctx, 0, q.add...)
	}
	for _, reason := range reasons {
		t.events.parked.Add(ctx, 0, labels(keyQueue.String(q.name), keyReason.String(string(reason))))
	}
}

// Observe counts an event. It implements [holdfast.Observer].
func (t *Telemetry) Observe(e holdfast.Event) {
	q, ctx := t.queue(e.Queue), context.Background()
	switch e.Kind {
	case holdfast.EventAttached:
		t.learn(q, e.Text)
	case holdfast.EventDetached:
		t.events.detached.Add(ctx, 1, q.add...)
	case holdfast.EventUnsettled:
		t.events.unsettled.Add(ctx, 1, q.add...)
	case holdfast.EventSlow:
		t.events.slow.Add(ctx, 1, q.add...)
	case holdfast.EventReturned:
		t.events.returned.Add(ctx, 1, q.add...)
	case holdfast.EventIsolated:
		t.events.crashes.Add(ctx, 1, q.add...)
	default:
		if fate := fates[e.Kind]; fate != "" {
			t.settled(ctx, q, fate, e)
		}
	}
}

// learn remembers which broker a queue is on.
func (t *Telemetry) learn(q *queue, product string) {
	if system := systemOf(product); system != q.system.Value.AsString() {
		t.queues.Store(q.name, newQueue(q.name, system))
	}
}

// settled counts one end of a delivery.
func (t *Telemetry) settled(ctx context.Context, q *queue, fate string, e holdfast.Event) {
	ev := &t.events
	if e.Duration > 0 { // the handler ran
		ev.process.Record(ctx, e.Duration.Seconds(), q.processed(e)...)
		ev.attempt.Record(ctx, int64(e.Attempt), q.record...)
	}
	if e.Crashes > 0 {
		ev.crashes.Add(ctx, 1, q.add...)
	}
	switch e.Kind {
	case holdfast.EventParked:
		ev.parked.Add(ctx, 1, labels(keyQueue.String(q.name), keyReason.String(reasonOf(e))))
	case holdfast.EventHeld:
		ev.lap.Record(ctx, int64(e.Lap), q.record...)
	case holdfast.EventDelayed:
	default:
		return // no copy was made
	}
	ev.settle.Record(ctx, e.Settling.Seconds(), labels(keyQueue.String(q.name), keyFate.String(fate)))
}

func (q *queue) processed(e holdfast.Event) []metric.RecordOption {
	class := errorClass(e)
	if class == "" {
		return q.success
	}
	return []metric.RecordOption{labels(q.conventional(semconv.ErrorTypeKey.String(class))...)}
}

func reasonOf(e holdfast.Event) string {
	for _, reason := range reasons {
		if e.Reason == reason {
			return string(reason)
		}
	}
	return other
}

// errorClass is the class of failure that an attempt ended with: why it was
// parked, or else what the verdict was. It is never a text: those carry what
// messages say.
func errorClass(e holdfast.Event) string {
	switch e.Kind {
	case holdfast.EventDone:
		return ""
	case holdfast.EventParked:
		return reasonOf(e)
	case holdfast.EventDelayed:
		return "retry"
	case holdfast.EventHeld:
		return "hold"
	case holdfast.EventDiscarded:
		return "discard"
	case holdfast.EventReleased:
		return "released"
	default:
		return settlementClass(e.Err)
	}
}

// settlements are the classes of settlements that failed, by their name.
var settlements = []struct {
	class error
	name  string
}{
	{broker.ErrUnknown, "unknown"},
	{broker.ErrClosed, "closed"},
	{broker.ErrRefused, "refused"},
	{broker.ErrUnrouted, "unrouted"},
	{broker.ErrUnreachable, "unreachable"},
	{broker.ErrCredentials, "credentials"},
	{broker.ErrPermission, "permission"},
}

// settlementClass is why a delivery could not be settled.
func settlementClass(err error) string {
	for _, s := range settlements {
		if errors.Is(err, s.class) {
			return s.name
		}
	}
	return semconv.ErrorTypeOther.Value.AsString()
}
