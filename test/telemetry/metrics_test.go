package telemetry

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// TestMetrics_of_a_relay_and_its_database follows a row from a real relay to the
// scrape.
func TestMetrics_of_a_relay_and_its_database(t *testing.T) {
	each(t, func(t *testing.T, b operated) {
		p, err := telemetry.NewPrometheus()
		if err != nil {
			t.Fatal(err)
		}
		tel, err := telemetry.New(telemetry.Config{MeterProvider: p, Refresh: time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		rows, relay := addToOutbox(t, b, outbox.Message{Key: queue, Payload: []byte("x")})
		tel.WatchRelay(relay)
		tel.WatchOutbox(rows)
		tel.WatchInbox(rows)
		tel.WatchSetAsides(rows)
		consume(t, b, holdfast.ConsumerConfig{Handler: (&script{}).handle})
		want := []string{
			`holdfast_relay_up 1`,
			`holdfast_relay_rows_total{outcome="published"} 1`,
			`holdfast_relay_rows_total{outcome="failed"} 0`,
			`holdfast_relay_differs_total 0`,
			`holdfast_relay_destination_open{destination=""} 1`,
			`holdfast_outbox_up 1`,
			`holdfast_outbox_blocker_seconds 0`,
			`holdfast_outbox_rows{class="none",destination="",state="published"} 1`,
		}
		var text string
		testenv.Eventually(t, patience, "the row is told to be published", func() bool {
			answer := httptest.NewRecorder()
			p.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
			text = answer.Body.String()
			for _, line := range want {
				if !strings.Contains(text, line+"\n") {
					return false
				}
			}
			return true
		})
		if strings.Contains(text, `holdfast_outbox_oldest_seconds{`) {
			t.Errorf("a row that is published is late:\n%s", text)
		}
	})
}

// TestMetrics_of_a_database_that_is_gone are absent, and say so.
func TestMetrics_of_a_database_that_is_gone(t *testing.T) {
	b := membroker.New()
	defer b.Close()
	p, err := telemetry.NewPrometheus()
	if err != nil {
		t.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Config{MeterProvider: p})
	if err != nil {
		t.Fatal(err)
	}
	rows, _ := addToOutbox(t, b, outbox.Message{Key: queue, Payload: []byte("x")})
	rows.Close()
	tel.WatchOutbox(rows)
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	if text := answer.Body.String(); !strings.Contains(text, "holdfast_outbox_up 0\n") || strings.Contains(text, "holdfast_outbox_rows") {
		t.Errorf("it tells\n%s", text)
	}
}
