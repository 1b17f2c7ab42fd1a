package telemetry

import (
	"errors"
	"fmt"
	"sync"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Telemetry is where consumers, relays and stores of a process tell what they
// do. Its methods may be called concurrently, and none of them blocks or panics.
type Telemetry struct {
	cfg        Config
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator

	events  events
	relayed metric.Int64Counter
	queues  sync.Map // of a queue's name to its *queue
	names   *names
	places  *names // destinations

	watched      watched
	underway     *underway
	registration []metric.Registration
}

// New makes a Telemetry and the instruments of its meter. An error names the
// instruments that the meter refused.
func New(cfg Config) (*Telemetry, error) {
	cfg = cfg.withDefaults()
	t := &Telemetry{
		cfg: cfg, propagator: cfg.Propagator,
		tracer: cfg.TracerProvider.Tracer(scope),
		names:  newNames(maxQueues), places: newNames(maxDestinations), underway: newUnderway(),
	}
	m := &maker{meter: cfg.MeterProvider.Meter(scope)}
	t.events = newEvents(m)
	t.relayed = m.counter("holdfast.relay.differs", "{event}", "How often another relay was found to have other settings.")
	t.observeConsumers(m)
	t.observeRelays(m)
	t.observeStores(m)
	t.observeBrokers(m)
	t.registration = m.registrations
	if err := errors.Join(m.errs...); err != nil {
		_ = t.Close() // nothing but what was registered is undone
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return t, nil
}

// Close ends what is read at each collection, and waits for what a database was
// just asked. Events and spans are taken on.
func (t *Telemetry) Close() error {
	t.underway.end()
	var errs []error
	for _, r := range t.registration {
		errs = append(errs, r.Unregister())
	}
	return errors.Join(errs...)
}

// maker makes instruments and keeps what goes wrong, so that a caller reads as
// a list of them.
type maker struct {
	meter         metric.Meter
	errs          []error
	registrations []metric.Registration
}

func (m *maker) note(err error) {
	if err != nil {
		m.errs = append(m.errs, err)
	}
}

func (m *maker) counter(name, unit, text string) metric.Int64Counter {
	i, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.note(err)
	return i
}

func (m *maker) seconds(name, text string) metric.Float64Histogram {
	i, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10))
	m.note(err)
	return i
}

func (m *maker) steps(name, unit, text string) metric.Int64Histogram {
	i, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(text),
		metric.WithExplicitBucketBoundaries(1, 2, 3, 5, 8, 13))
	m.note(err)
	return i
}

func (m *maker) total(name, unit, text string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.note(err)
	return i
}

func (m *maker) gauge(name, unit, text string) metric.Int64Observable {
	i, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(text))
	m.note(err)
	return i
}

func (m *maker) age(name, text string) metric.Float64Observable {
	i, err := m.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(text))
	m.note(err)
	return i
}

func (m *maker) callback(f metric.Callback, instruments ...metric.Observable) {
	r, err := m.meter.RegisterCallback(f, instruments...)
	m.note(err)
	if err == nil {
		m.registrations = append(m.registrations, r)
	}
}
