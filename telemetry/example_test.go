package telemetry_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"go.opentelemetry.io/otel"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
	"github.com/holdfast-mq/holdfast/telemetry"
)

// A service serves its metrics on its own mux, beside its health.
func Example() {
	metrics, err := telemetry.NewPrometheus()
	if err != nil {
		log.Fatal(err)
	}
	tel, err := telemetry.New(telemetry.Config{MeterProvider: metrics})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metrics)

	b := membroker.New()
	defer b.Close()
	b.DeclareQueue("billing")
	ctx, stop := context.WithCancel(context.Background())
	_ = b.Publish(ctx, broker.Target{Queue: "billing"}, &broker.Message{Body: []byte("order 1")})

	c, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue:    "billing",
		Observer: holdfast.Observers(tel, holdfast.ObserverFunc(func(holdfast.Event) {})), // beside the one that logs
		Tracer:   tel,
		Handler: func(context.Context, *holdfast.Message) error {
			stop() // one message is enough for an example
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer tel.Watch(c)()
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}

	answer := httptest.NewRecorder()
	mux.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
	for line := range strings.Lines(answer.Body.String()) {
		if strings.HasPrefix(line, "holdfast_settled_total{fate=\"done\"") || strings.HasPrefix(line, "holdfast_attached") {
			fmt.Print(line)
		}
	}
	// Output:
	// holdfast_attached{queue="billing"} 0
	// holdfast_settled_total{fate="done",queue="billing"} 1
}

// A producer puts its trace context into the message, so that whoever handles
// it, however late, finds it.
func ExampleInject() {
	ctx := context.Background() // of the request that the service works on
	var tx store.OutboxTx       // the service's own transaction

	publish := func() error {
		ctx, span := otel.Tracer("orders").Start(ctx, "place order")
		defer span.End()
		return outbox.Add(ctx, tx, outbox.Message{
			Destination: "orders", Key: "order.placed", Payload: []byte(`{"id":1}`),
			Headers: telemetry.Inject(ctx, map[string]string{"tenant": "acme"}),
		})
	}
	_ = publish
}

// A relay tells its events as they come, and is read for the rest.
func ExampleTelemetry_WatchRelay() {
	var rows store.Outbox    // of store/postgres or store/sqlite
	var out broker.Publisher // a driver

	tel, err := telemetry.New(telemetry.Config{})
	if err != nil {
		log.Fatal(err)
	}
	relay, err := outbox.NewRelay(outbox.RelayConfig{Outbox: rows, Broker: out, Observe: tel.ObserveRelay})
	if err != nil {
		fmt.Println("not without an outbox and a broker")
		return
	}
	defer tel.WatchRelay(relay)()
	defer tel.WatchOutbox(rows)()
	_ = relay.Run(context.Background())
	// Output: not without an outbox and a broker
}
