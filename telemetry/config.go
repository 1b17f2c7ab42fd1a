package telemetry

import (
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

const (
	scope = "github.com/holdfast-mq/holdfast/telemetry"

	defaultRefresh = 15 * time.Second
)

// Config says where telemetry goes. Its zero value uses OpenTelemetry's globals.
type Config struct {
	// MeterProvider gets the metrics, TracerProvider the spans. Nil means the
	// global ones.
	MeterProvider  metric.MeterProvider
	TracerProvider trace.TracerProvider

	// Propagator reads a producer's context from the headers of a message. Nil
	// means the global one, and W3C trace context and baggage where none is set.
	Propagator propagation.TextMapPropagator

	// Refresh is how long what a database told is told again instead of asking
	// it: collections are often, and several collectors may share a process. 0 or
	// less means 15 s.
	Refresh time.Duration
}

func (c Config) withDefaults() Config {
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.Propagator == nil {
		c.Propagator = propagator()
	}
	if c.Refresh <= 0 {
		c.Refresh = defaultRefresh
	}
	return c
}

// propagator is the global one, if somebody has set it: OpenTelemetry's own
// default carries nothing.
func propagator() propagation.TextMapPropagator {
	if p := otel.GetTextMapPropagator(); len(p.Fields()) > 0 {
		return p
	}
	return propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
}
