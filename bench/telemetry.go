package main

import (
	"context"
	"net/http/httptest"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// scrapeEvery is more often than anybody scrapes.
const scrapeEvery = time.Second

// telemetryTarget is what of the rate is left, at least, once a consumer tells
// what it does.
const telemetryTarget = 0.95

// telemetryContests are Holdfast that tells what it does against Holdfast that
// does not: metrics alone, with a span for one in a hundred attempts, as where
// there are many, and with one for each.
func telemetryContests(messages int) []contest {
	against := func(name string, target float64, t *told) contest {
		run := func(t *told) func(context.Context, cell) error {
			return oursTold(openRabbitMQ, source, happyPrefetch, succeed, t)
		}
		return contest{
			name: name, messages: messages, prefetch: happyPrefetch, usage: true,
			ours:    contestant{name: name, run: run(t)},
			peers:   []contestant{{name: "no telemetry", run: run(nil)}},
			targets: []float64{target},
		}
	}
	return []contest{
		against("metrics", telemetryTarget, newTold(nil)),
		against("traces", telemetryTarget, newTold(sdktrace.TraceIDRatioBased(0.01))),
		against("traces-of-all", 0, newTold(sdktrace.AlwaysSample())),
	}
}

// told is who a consumer tells what it does. nil is nobody.
type told struct {
	metrics *telemetry.Prometheus
	all     *telemetry.Telemetry
	traces  bool
}

// newTold makes metrics, and traces with a sampler.
func newTold(sampler sdktrace.Sampler) *told {
	metrics, err := telemetry.NewPrometheus()
	if err != nil {
		panic(err) // its registry is its own and empty
	}
	cfg := telemetry.Config{MeterProvider: metrics}
	if sampler != nil {
		// The spans are made and ended as in a service; sending them is the
		// exporter's business, and none of the consumer's.
		cfg.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithBatcher(nowhere{}))
	}
	t, err := telemetry.New(cfg)
	if err != nil {
		panic(err)
	}
	return &told{metrics, t, sampler != nil}
}

func (t *told) of(cfg holdfast.ConsumerConfig) holdfast.ConsumerConfig {
	if t == nil {
		return cfg
	}
	cfg.Observer = t.all
	if t.traces {
		cfg.Tracer = t.all
	}
	return cfg
}

// watch scrapes until ended is called.
func (t *told) watch(ctx context.Context, c *holdfast.Consumer) (ended func()) {
	if t == nil {
		return func() {}
	}
	unwatch := t.all.Watch(c)
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for sleep(ctx, scrapeEvery); ctx.Err() == nil; sleep(ctx, scrapeEvery) {
			t.metrics.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/metrics", nil))
		}
	}()
	return func() {
		stop()
		<-done
		unwatch()
	}
}

// nowhere takes spans and keeps none.
type nowhere struct{}

func (nowhere) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error { return nil }
func (nowhere) Shutdown(context.Context) error                             { return nil }
