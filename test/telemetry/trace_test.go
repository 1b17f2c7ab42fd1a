package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/telemetry"
	"github.com/holdfast-mq/holdfast/triage"
)

// tracing keeps the spans of one test in memory.
type tracing struct {
	*testing.T
	provider *sdktrace.TracerProvider
	kept     *tracetest.InMemoryExporter
	tel      *telemetry.Telemetry
}

func newTracing(t *testing.T) *tracing {
	t.Helper()
	kept := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(kept))
	tel, err := telemetry.New(telemetry.Config{TracerProvider: provider})
	if err != nil {
		t.Fatal(err)
	}
	return &tracing{t, provider, kept, tel}
}

// produced is the context of a producer, with baggage, and its headers.
func (tr *tracing) produced() (trace.SpanContext, map[string]any) {
	ctx, span := tr.provider.Tracer("producer").Start(tr.Context(), "order")
	defer span.End()
	member, err := baggage.NewMember("tenant", "acme")
	if err != nil {
		tr.Fatal(err)
	}
	bag, err := baggage.New(member)
	if err != nil {
		tr.Fatal(err)
	}
	return span.SpanContext(), telemetry.Inject(baggage.ContextWithBaggage(ctx, bag), map[string]any(nil))
}

// attempts waits for so many spans of attempts and returns them in their order.
func (tr *tracing) attempts(n int) []tracetest.SpanStub {
	tr.Helper()
	var spans []tracetest.SpanStub
	testenv.Eventually(tr, patience, "the spans", func() bool {
		spans = nil
		for _, s := range tr.kept.GetSpans() {
			if s.SpanKind == trace.SpanKindConsumer {
				spans = append(spans, s)
			}
		}
		return len(spans) >= n
	})
	if len(spans) != n {
		tr.Fatalf("%d spans, want %d", len(spans), n)
	}
	return spans
}

// want is what a span is to say.
type want struct {
	fate, class string
	attempt     int64
	lap         int64

	producer, first trace.SpanContext
}

func (tr *tracing) check(got tracetest.SpanStub, w want) {
	tr.Helper()
	if got.Name != "process "+queue || got.Parent.IsValid() {
		tr.Errorf("span %q has the parent %v", got.Name, got.Parent)
	}
	said := map[string]any{}
	for _, kv := range got.Attributes {
		said[string(kv.Key)] = kv.Value.AsInterface()
	}
	is := func(key string, value any, there bool) {
		tr.Helper()
		v, ok := said[key]
		if ok != there || there && v != value {
			tr.Errorf("%s is %v, want %v", key, v, value)
		}
	}
	is("messaging.destination.name", queue, true)
	is("messaging.operation.name", "process", true)
	is("messaging.operation.type", "process", true)
	is("messaging.message.id", "m1", true)
	is("holdfast.fate", w.fate, true)
	is("holdfast.attempt", w.attempt, true)
	is("holdfast.lap", w.lap, w.lap > 0)
	is("error.type", w.class, w.class != "")
	if failed := got.Status.Code == codes.Error; failed != (w.class != "") || got.Status.Description != w.class {
		tr.Errorf("the status is %v", got.Status)
	}
	links := map[string]trace.SpanContext{}
	for _, l := range got.Links {
		links[l.Attributes[0].Value.AsString()] = l.SpanContext
	}
	tr.linked(links, "producer", w.producer)
	tr.linked(links, "first_attempt", w.first)
}

func (tr *tracing) linked(links map[string]trace.SpanContext, kind string, to trace.SpanContext) {
	tr.Helper()
	got := links[kind]
	if got.TraceID() != to.TraceID() || got.SpanID() != to.SpanID() {
		tr.Errorf("the %s link leads to %s/%s, not to %s/%s", kind, got.TraceID(), got.SpanID(), to.TraceID(), to.SpanID())
	}
}

func (tr *tracing) publish(b operated, headers map[string]any) {
	tr.Helper()
	if err := b.Publish(tr.Context(), broker.Target{Queue: queue}, &broker.Message{ID: "m1", Body: []byte("x"), Headers: headers}); err != nil {
		tr.Fatal(err)
	}
}

func (tr *tracing) consume(b operated, s *script) *holdfast.Consumer {
	return consume(tr.T, b, holdfast.ConsumerConfig{Handler: s.handle, Tracer: tr.tel, Observer: tr.tel})
}

// TestTrace_through_retries_and_holds: each attempt finds the producer and the
// attempt that failed first.
func TestTrace_through_retries_and_holds(t *testing.T) {
	each(t, func(t *testing.T, b operated) {
		tr := newTracing(t)
		producer, headers := tr.produced()
		tr.publish(b, headers)
		s := &script{turns: []error{errFailed, holdfast.Hold(errFailed), errFailed}}
		tr.consume(b, s)
		spans := tr.attempts(4)
		first := spans[0].SpanContext
		tr.check(spans[0], want{fate: "delayed", class: "retry", attempt: 1, producer: producer})
		tr.check(spans[1], want{fate: "held", class: "hold", attempt: 2, producer: producer, first: first})
		tr.check(spans[2], want{fate: "delayed", class: "retry", attempt: 2, lap: 1, producer: producer, first: first})
		tr.check(spans[3], want{fate: "done", attempt: 3, lap: 1, producer: producer, first: first})
		for i, ctx := range s.contexts() {
			if got := trace.SpanContextFromContext(ctx).SpanID(); got != spans[i].SpanContext.SpanID() {
				t.Errorf("handler %d worked in span %s, not in %s", i, got, spans[i].SpanContext.SpanID())
			}
			if tenant := baggage.FromContext(ctx).Member("tenant").Value(); tenant != "acme" {
				t.Errorf("the producer's baggage says %q", tenant)
			}
		}
	})
}

// TestTrace_through_a_park_and_a_replay: the replayed message is fresh, and its
// producer is still its producer.
func TestTrace_through_a_park_and_a_replay(t *testing.T) {
	each(t, func(t *testing.T, b operated) {
		tr := newTracing(t)
		producer, headers := tr.produced()
		tr.publish(b, headers)
		s := &script{turns: []error{errFailed, holdfast.Park(errFailed)}}
		c := tr.consume(b, s)
		spans := tr.attempts(2)
		tr.check(spans[1], want{fate: "parked", class: "verdict", attempt: 2, producer: producer, first: spans[0].SpanContext})
		testenv.Eventually(t, patience, "it is parked", func() bool { return c.Books().Parked == 1 })

		parked, _ := b.ParkedPlace(queue)
		_, moved, err := triage.Replay(t.Context(), b, triage.Place{Queue: parked}, triage.ReplayOptions{Queue: queue})
		if err != nil || moved.Moved != 1 {
			t.Fatalf("replayed %+v, %v", moved, err)
		}
		tr.check(tr.attempts(3)[2], want{fate: "done", attempt: 1, producer: producer})
	})
}

// TestTrace_through_an_outbox: the relay publishes the producer's context as it
// was written with the row.
func TestTrace_through_an_outbox(t *testing.T) {
	each(t, func(t *testing.T, b operated) {
		tr := newTracing(t)
		ctx, span := tr.provider.Tracer("producer").Start(t.Context(), "order")
		const id = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"
		addToOutbox(t, b, outbox.Message{ID: id, Key: queue, Payload: []byte("x"), Headers: telemetry.Inject(ctx, map[string]string(nil))})
		span.End()
		tr.consume(b, &script{turns: []error{errFailed}})
		spans := tr.attempts(2)
		producer := span.SpanContext()
		for i, s := range spans {
			links := map[string]trace.SpanContext{}
			for _, l := range s.Links {
				links[l.Attributes[0].Value.AsString()] = l.SpanContext
			}
			tr.linked(links, "producer", producer)
			if i > 0 {
				tr.linked(links, "first_attempt", spans[0].SpanContext)
			}
		}
	})
}

// TestTrace_of_a_message_without_a_context is a span like any other.
func TestTrace_of_a_message_without_a_context(t *testing.T) {
	each(t, func(t *testing.T, b operated) {
		for _, headers := range []map[string]any{nil, {"traceparent": "00-zz"}, {"traceparent": int32(7)}} {
			tr := newTracing(t)
			tr.publish(b, headers)
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan error, 1)
			c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
				Queue: queue, Handler: (&script{}).handle, Tracer: tr.tel, Observer: tr.tel,
			})
			if err != nil {
				t.Fatal(err)
			}
			go func() { done <- c.Run(ctx) }()
			tr.check(tr.attempts(1)[0], want{fate: "done", attempt: 1})
			stop()
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}
