package cli

import (
	"context"
	"net/http"

	"github.com/holdfast-mq/holdfast/telemetry"
)

// metrics are those of a command that goes on for long. They are served beside
// its health, at /metrics: one address for whoever looks after the process.
type metrics struct {
	*telemetry.Telemetry
	endpoint *telemetry.Prometheus
}

func newMetrics() (*metrics, error) {
	endpoint, err := telemetry.NewPrometheus()
	if err != nil {
		return nil, err
	}
	t, err := telemetry.New(telemetry.Config{MeterProvider: endpoint})
	if err != nil {
		return nil, err
	}
	return &metrics{t, endpoint}, nil
}

// beside serves them beside another handler's paths.
func (m *metrics) beside(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.endpoint)
	mux.Handle("/", h)
	return mux
}

// watchStore tells of the whole outbox, inbox and what is set aside.
func (m *metrics) watchStore(s interface {
	telemetry.Outbox
	telemetry.Inbox
	telemetry.SetAsides
},
) {
	m.WatchOutbox(s)
	m.WatchInbox(s)
	m.WatchSetAsides(s)
}

func (m *metrics) close() {
	_ = m.Close()
	_ = m.endpoint.Close(context.Background()) // nothing is sent anywhere: it is asked
}
