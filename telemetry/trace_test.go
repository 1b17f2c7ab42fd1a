package telemetry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/telemetry"
)

const (
	traceID = "4bf92f3577b34da6a3ce929d0e0e4736"
	parent  = "00-" + traceID + "-00f067aa0ba902b7-01"
)

func newTracer(t *testing.T) (*telemetry.Telemetry, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	tel, err := telemetry.New(telemetry.Config{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	if err != nil {
		t.Fatal(err)
	}
	return tel, spans
}

// headers is a header type of some client's own.
type headers map[string]any

// TestInject writes into headers of every kind, and nothing without a span.
func TestInject(t *testing.T) {
	t.Parallel()
	ctx, span := sdktrace.NewTracerProvider().Tracer("t").Start(t.Context(), "s")
	defer span.End()
	want := "00-" + span.SpanContext().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"
	if got := telemetry.Inject(ctx, map[string]string(nil))["traceparent"]; got != want {
		t.Errorf("text: %q, not %q", got, want)
	}
	if got := telemetry.Inject(ctx, headers{"kept": 1}); got["traceparent"] != want || got["kept"] != 1 {
		t.Errorf("any: %v", got)
	}
	if got := telemetry.Inject(ctx, map[string]int{"kept": 1}); len(got) != 1 {
		t.Errorf("headers without text: %v", got)
	}
	if got := telemetry.Inject(t.Context(), map[string]string(nil)); got != nil {
		t.Errorf("without a span: %v", got)
	}
}

// TestStart_reads_headers_as_any_client_gives_them: text is a string with one
// client and bytes with another, and some write names as HTTP does.
func TestStart_reads_headers_as_any_client_gives_them(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]map[string]any{
		"string": {"traceparent": parent}, "bytes": {"traceparent": []byte(parent)}, "as HTTP": {"Traceparent": parent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tel, spans := newTracer(t)
			_, span := tel.Start(t.Context(), &holdfast.Message{Headers: h}, "")
			span.End(holdfast.Event{Kind: holdfast.EventDone})
			links := spans.Ended()[0].Links()
			if len(links) != 1 || links[0].SpanContext.TraceID().String() != traceID {
				t.Errorf("links %v", links)
			}
		})
	}
}

// TestStart_is_a_root whatever was open when the service started.
func TestStart_is_a_root(t *testing.T) {
	t.Parallel()
	tel, spans := newTracer(t)
	ctx := trace.ContextWithSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}}))
	_, span := tel.Start(ctx, &holdfast.Message{}, parent)
	span.End(holdfast.Event{Kind: holdfast.EventDone})
	got := spans.Ended()[0]
	if got.Parent().IsValid() || len(got.Links()) != 1 || got.Links()[0].SpanContext.TraceID().String() != traceID {
		t.Errorf("parent %v, links %v", got.Parent(), got.Links())
	}
	if text := span.TraceParent(); len(text) != len(parent) || text[3:35] != got.SpanContext().TraceID().String() {
		t.Errorf("later attempts are to find it by %q", text)
	}
}

// TestEnd_says_the_class_of_a_failure and never its text, which says what the
// message says.
func TestEnd_says_the_class_of_a_failure(t *testing.T) {
	t.Parallel()
	secret := errors.New("customer 4711 has no money")
	for class, e := range map[string]holdfast.Event{
		"":           {Kind: holdfast.EventDone},
		"retry":      {Kind: holdfast.EventDelayed, Err: secret},
		"hold":       {Kind: holdfast.EventHeld, Err: secret},
		"discard":    {Kind: holdfast.EventDiscarded, Err: secret},
		"released":   {Kind: holdfast.EventReleased, Err: secret},
		"malformed":  {Kind: holdfast.EventParked, Reason: holdfast.ReasonMalformed, Err: secret},
		"other":      {Kind: holdfast.EventParked, Reason: "4711", Err: secret},
		"unknown":    {Kind: holdfast.EventUnsettled, Err: errors.Join(secret, broker.ErrUnknown)},
		"_OTHER":     {Kind: holdfast.EventUnsettled, Err: secret},
		"permission": {Kind: holdfast.EventUnsettled, Err: broker.ErrPermission},
	} {
		t.Run(class, func(t *testing.T) {
			t.Parallel()
			tel, spans := newTracer(t)
			_, span := tel.Start(t.Context(), &holdfast.Message{Origin: holdfast.Origin{Queue: "q"}}, "")
			e.Queue = "q"
			span.End(e)
			got := spans.Ended()[0]
			if failed := got.Status().Code == codes.Error; failed != (class != "") || got.Status().Description != class {
				t.Errorf("status %v", got.Status())
			}
			for _, kv := range got.Attributes() {
				if text := kv.Value.String(); text == secret.Error() || text == "4711" {
					t.Errorf("%s is %s", kv.Key, text)
				}
			}
			if len(got.Events()) > 0 {
				t.Errorf("it has events: %v", got.Events())
			}
		})
	}
}

// TestEnd_names_the_queue_that_it_was_on_really, where a message was replayed to
// another queue than its own.
func TestEnd_names_the_queue_that_it_was_on_really(t *testing.T) {
	t.Parallel()
	tel, spans := newTracer(t)
	_, span := tel.Start(t.Context(), &holdfast.Message{Origin: holdfast.Origin{Queue: "old"}}, "")
	span.End(holdfast.Event{Kind: holdfast.EventDone, Queue: "new"})
	got := spans.Ended()[0]
	set := attribute.NewSet(got.Attributes()...)
	if v, _ := set.Value("messaging.destination.name"); got.Name() != "process new" || v.AsString() != "new" {
		t.Errorf("%s of %s", got.Name(), v.AsString())
	}
}

// TestObserve_allocates_nothing where a message succeeds: it is on the way of
// every message.
func TestObserve_allocates_nothing(t *testing.T) {
	s := newScene(t, telemetry.Config{})
	done := holdfast.Event{Kind: holdfast.EventDone, Queue: "q", Duration: time.Millisecond, Attempt: 1}
	s.Observe(done)
	if n := testing.AllocsPerRun(1000, func() { s.Observe(done) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	p, err := telemetry.NewPrometheus()
	if err != nil {
		b.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Config{MeterProvider: p})
	if err != nil {
		b.Fatal(err)
	}
	done := holdfast.Event{Kind: holdfast.EventDone, Queue: "q", Duration: time.Millisecond, Attempt: 1}
	b.ReportAllocs()
	for b.Loop() {
		tel.Observe(done)
	}
}

func BenchmarkSpan(b *testing.B) {
	tel, err := telemetry.New(telemetry.Config{TracerProvider: sdktrace.NewTracerProvider()})
	if err != nil {
		b.Fatal(err)
	}
	m := &holdfast.Message{ID: "m", Origin: holdfast.Origin{Queue: "q"}, Headers: map[string]any{"traceparent": parent}}
	b.ReportAllocs()
	for b.Loop() {
		_, span := tel.Start(context.Background(), m, "")
		span.End(holdfast.Event{Kind: holdfast.EventDone, Queue: "q"})
	}
}
