package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-mq/holdfast"
)

// process is the operation's name: what the conventions call the handling of
// one message.
const process = "process"

// The attributes of spans that are ours.
const (
	keyAttempt = attribute.Key("holdfast.attempt")
	keyTries   = attribute.Key("holdfast.tries")
	keyLap     = attribute.Key("holdfast.lap")
	keyCrashes = attribute.Key("holdfast.crashes")
	keyEnd     = attribute.Key("holdfast.fate")
	keyWhy     = attribute.Key("holdfast.reason")
	keyCapture = attribute.Key("holdfast.capture.id")

	// keyLink says what a link leads to.
	keyLink = attribute.Key("holdfast.link")
)

// Links lead to the producer's context and to the attempt that failed first.
var (
	linkProducer = []attribute.KeyValue{keyLink.String("producer")}
	linkFirst    = []attribute.KeyValue{keyLink.String("first_attempt")}
)

// Start begins the span of an attempt. It implements [holdfast.Tracer].
//
// The span is a root: a consumer's context may come from a span that was open
// when the service started, and every message would be its child. It begins with
// what a sampler may ask for and gets the rest at its end, in one piece: most of
// what a span costs is the copying of attributes.
func (t *Telemetry) Start(ctx context.Context, m *holdfast.Message, earlier string) (context.Context, holdfast.Span) {
	from := context.Background()
	if len(m.Headers) > 0 {
		from = t.propagator.Extract(from, carrier(m.Headers))
		if bag := baggage.FromContext(from); bag.Len() > 0 {
			ctx = baggage.ContextWithBaggage(ctx, bag)
		}
	}
	q := t.queue(m.Origin.Queue)
	begin := q.begin
	if trace.SpanContextFromContext(ctx).IsValid() { // to say so costs three allocations
		begin = append(begin[:len(begin):len(begin)], trace.WithNewRoot())
	}
	if found := links(from, earlier); len(found) > 0 { // now, since a sampler may go by what they lead to
		begin = append(begin[:len(begin):len(begin)], trace.WithLinks(found...))
	}
	ctx, span := t.tracer.Start(ctx, q.span, begin...)
	return ctx, &attempt{telemetry: t, span: span, message: m}
}

func links(from context.Context, earlier string) (found []trace.Link) {
	if sc := trace.SpanContextFromContext(from); sc.IsValid() {
		found = append(found, trace.Link{SpanContext: sc, Attributes: linkProducer})
	}
	if earlier == "" {
		return found
	}
	if sc := parse(earlier); sc.IsValid() {
		found = append(found, trace.Link{SpanContext: sc, Attributes: linkFirst})
	}
	return found
}

// attempt is a span as a consumer knows it.
type attempt struct {
	telemetry *Telemetry
	span      trace.Span
	message   *holdfast.Message
}

// w3c writes and reads what a capture carries, whatever the propagator is.
var w3c propagation.TraceContext

const traceparent = "traceparent"

// TraceParent implements [holdfast.Span].
func (a *attempt) TraceParent() string {
	out := propagation.MapCarrier{}
	w3c.Inject(trace.ContextWithSpanContext(context.Background(), a.span.SpanContext()), out)
	return out[traceparent]
}

func parse(text string) trace.SpanContext {
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), propagation.MapCarrier{traceparent: text}))
}

// End implements [holdfast.Span]. The error's text stays out: it says what the
// message says, and traces are read by more people than logs. The capture's id
// leads to it.
func (a *attempt) End(e holdfast.Event) {
	defer a.span.End()
	if !a.span.IsRecording() {
		return
	}
	fate := fates[e.Kind]
	if fate == "" {
		fate = fates[holdfast.EventReleased] // unsettled: the broker has it back
	}
	kv := append(make([]attribute.KeyValue, 0, 12), keyEnd.String(fate), keyAttempt.Int(max(a.message.Attempt, 1)))
	text := func(key attribute.Key, v string) {
		if v != "" {
			kv = append(kv, key.String(v))
		}
	}
	number := func(key attribute.Key, n, from int) {
		if n >= from {
			kv = append(kv, key.Int(n))
		}
	}
	q := a.telemetry.queue(e.Queue)
	if e.Queue != a.message.Origin.Queue { // it was replayed to another queue, which nobody knew at the start
		a.span.SetName(q.span)
	}
	if e.Queue != a.message.Origin.Queue || e.Queue != q.name { // a span may say what a label may not
		text(semconv.MessagingDestinationNameKey, e.Queue)
	}
	text(semconv.MessagingMessageIDKey, a.message.ID)
	text(semconv.MessagingMessageConversationIDKey, a.message.CorrelationID)
	text(keyCapture, e.CaptureID)
	number(keyLap, a.message.Lap, 1)
	number(keyTries, e.Try, 2)
	number(keyCrashes, e.Crashes, 1)
	if e.Reason != "" {
		text(keyWhy, reasonOf(e))
	}
	if class := errorClass(e); class != "" {
		text(semconv.ErrorTypeKey, class)
		a.span.SetStatus(codes.Error, class)
	}
	a.span.SetAttributes(kv...)
}
