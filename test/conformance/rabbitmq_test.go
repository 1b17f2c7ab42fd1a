package conformance

import (
	"strings"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/brokertest"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// TestRabbitMQ runs the suite on each version, with classic and with quorum
// sources. One server is used by one configuration at a time, since cases
// restart it.
func TestRabbitMQ(t *testing.T) {
	for _, server := range testenv.RabbitMQs(t) {
		t.Run(server.Name, func(t *testing.T) {
			t.Parallel()
			t.Run("quorum", func(t *testing.T) {
				// 3.10 counts every delivery that did not end in an
				// acknowledgement; since 4.3 a nack is free.
				caps := rabbitCapabilities()
				caps.Counts, caps.FreeRelease = true, server.Name != "rabbitmq3"
				conform(t, rabbitEnv(newRabbit(t, server, "quorum"), caps))
			})
			t.Run("classic", func(t *testing.T) {
				conform(t, rabbitEnv(newRabbit(t, server, "classic"), rabbitCapabilities()))
			})
		})
	}
}

// rabbitVersions is what the table calls the servers.
var rabbitVersions = map[string]string{"rabbitmq3": "RabbitMQ 3.10", "rabbitmq4": "RabbitMQ 4.3"}

func rabbitCapabilities() broker.Capabilities {
	return broker.Capabilities{Delay: true, Hold: true, Replies: true, Stamp: true, MaxHeaders: 64 << 10}
}

func rabbitEnv(r *rabbit, caps broker.Capabilities) brokertest.Env {
	return brokertest.Env{
		Name:              rabbitVersions[r.server.Name] + " " + r.kind,
		Capabilities:      caps,
		Open:              r.open,
		NewQueue:          r.newQueue,
		RecreateQueue:     r.declare,
		DeleteQueue:       r.deleteQueue,
		NewTransientQueue: r.newTransientQueue,
		Publish: func(t *testing.T, queue string, m *broker.Message) {
			t.Helper()
			r.publish(t, "", queue, m)
		},
		PublishVia: r.publishVia,
		Parked: func(queue string) string {
			if strings.HasPrefix(queue, "amq.") {
				return rabbitmq.DefaultNamespace + ".parked"
			}
			return queue + ".parked"
		},
		Hold:         func(queue string) string { return queue + ".hold" },
		Cut:          r.cut,
		Restart:      r.restart,
		RestartTakes: 30 * time.Second,
		Block:        r.block,
		LargestBody:  4 << 20,
		Headers:      rabbitHeaders(),
		Without:      map[string]string{"NewLimitedQueue": "the delivery limit of a queue cannot be read over AMQP"},
		Slow:         2,
	}
}

// rabbitHeaders is every kind of field that RabbitMQ and its Go client have.
func rabbitHeaders() map[string]any {
	return map[string]any{
		"text": "naïve – 漢字 – 🎈", "bytes": []byte{0, 1, 0xfe, 0xff}, "nothing": nil, "yes": true,
		"int8": int8(-1), "byte": byte(2), "int16": int16(-3), "int32": int32(-5), "int64": int64(-1) << 60,
		"float32": float32(1.5), "float64": 2.5, "decimal": amqp.Decimal{Scale: 2, Value: 12345},
		"time":  time.Unix(1_700_000_000, 0),
		"table": amqp.Table{"inner": amqp.Table{"n": int64(1)}},
		"list":  []any{"a", int32(1), amqp.Table{"k": nil}},
	}
}
