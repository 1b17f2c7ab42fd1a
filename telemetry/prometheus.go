package telemetry

import (
	"context"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"
)

// maxSeries is how many series one instrument may have. OpenTelemetry's own
// bound would fold a process with many queues long before ours does.
const maxSeries = 10_000

// Prometheus is the scrape endpoint of a process: an [http.Handler] for its mux,
// and the MeterProvider whose metrics it serves.
type Prometheus struct {
	http.Handler
	*metric.MeterProvider
}

// NewPrometheus makes an endpoint with a registry of its own; options such as a
// resource or views are passed on. Metrics have the names that the shipped alert
// rules use, without the labels of OpenTelemetry's scopes. The handler asks nobody
// who asks it: serve it where only your Prometheus can reach it.
func NewPrometheus(options ...metric.Option) (*Prometheus, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	options = append([]metric.Option{metric.WithReader(reader), metric.WithCardinalityLimit(maxSeries)}, options...)
	return &Prometheus{
		// A part that cannot be collected must not hide the rest.
		Handler:       promhttp.HandlerFor(registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}),
		MeterProvider: metric.NewMeterProvider(options...),
	}, nil
}

// Close ends the provider. The handler then serves nothing more.
func (p *Prometheus) Close(ctx context.Context) error { return p.Shutdown(ctx) }
