package telemetry

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store/sqlite"
)

const (
	patience = time.Minute
	queue    = "work"
)

// operated is a broker that a consumer and an operator use.
type operated interface {
	broker.Broker
	broker.Sifter
	broker.Publisher
	broker.Places
}

// each runs f on a broker in memory and on each RabbitMQ, with an empty queue.
func each(t *testing.T, f func(t *testing.T, b operated)) {
	t.Run("membroker", func(t *testing.T) {
		b := membroker.New()
		t.Cleanup(func() { _ = b.Close() })
		b.DeclareQueue(queue)
		f(t, b)
	})
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			url := r.VHost(t)
			declare(t, url)
			b, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			f(t, b)
		})
	}
}

func declare(t *testing.T, url string) {
	t.Helper()
	c, err := amqp.Dial(url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ch, err := c.Channel()
	if err == nil {
		_, err = ch.QueueDeclare(queue, true, false, false, false, amqp.Table{"x-queue-type": "quorum"})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// script is what a handler returns, call by call; nil after its end.
type script struct {
	mu    sync.Mutex
	turns []error
	seen  []context.Context
}

func (s *script) handle(ctx context.Context, _ *holdfast.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, ctx)
	if len(s.turns) == 0 {
		return nil
	}
	err := s.turns[0]
	s.turns = s.turns[1:]
	return err
}

func (s *script) contexts() []context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]context.Context(nil), s.seen...)
}

var errFailed = errors.New("it failed")

// consume runs a consumer until the test ends.
func consume(t *testing.T, b broker.Broker, cfg holdfast.ConsumerConfig) *holdfast.Consumer {
	t.Helper()
	cfg.Queue = queue
	cfg.Policy.Ladder = []time.Duration{100 * time.Millisecond, 100 * time.Millisecond}
	cfg.Policy.Hold = time.Second
	c, err := holdfast.NewConsumer(b, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return c
}

// addToOutbox writes a message to an outbox of the test's own, and runs a relay
// on it until the test ends.
func addToOutbox(t *testing.T, b broker.Publisher, m outbox.Message) (*sqlite.Store, *outbox.Relay) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "outbox.db")
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: file})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+file+"?_txlock=immediate&_pragma=busy_timeout(30000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(outbox.Add(t.Context(), s.Tx(tx), m), tx.Commit()); err != nil {
		t.Fatal(err)
	}
	r, err := outbox.NewRelay(outbox.RelayConfig{Outbox: s, Broker: b, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s, r
}
