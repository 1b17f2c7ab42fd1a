package demo

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

const (
	stream   = "orders"
	consumer = "billing"
	subject  = stream + ".created"

	// ackWait is how long the broker waits before it gives back what a killed
	// run had in hand: that long the next run waits, too.
	ackWait = 3 * time.Second

	// sameFor is how long the broker knows an id again: longer than anybody
	// leaves a killed run before the next.
	sameFor = 24 * time.Hour
)

// Embedded is a stage on the embedded broker.
type Embedded struct {
	*jetstream.Broker
	server *embedded.Server
	client *nats.Conn
	js     natsjs.JetStream
}

// LedgerIn is the path of the ledger in a demo's folder.
func LedgerIn(dir string) string { return filepath.Join(dir, "ledger") }

// BrokerIn is the folder of the embedded broker in a demo's folder.
func BrokerIn(dir string) string { return filepath.Join(dir, "broker") }

// OpenEmbedded starts the broker in the demo's folder and makes the source, as
// its owner would. listen is as in [embedded.Options].
func OpenEmbedded(ctx context.Context, dir, listen string) (*Embedded, error) {
	server, err := embedded.Start(BrokerIn(dir), embedded.Options{Listen: listen})
	if err != nil {
		return nil, err
	}
	s := &Embedded{server: server}
	if err := s.open(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func (s *Embedded) open(ctx context.Context) (err error) {
	if s.Broker, err = jetstream.Open(ctx, jetstream.Config{InProcess: s.server, Name: "holdfast demo"}); err != nil {
		return err
	}
	if s.client, err = nats.Connect("", nats.InProcessServer(s.server), nats.Name("the shop")); err != nil {
		return err
	}
	if s.js, err = natsjs.New(s.client); err != nil {
		return err
	}
	return s.makeSource(ctx)
}

func (s *Embedded) makeSource(ctx context.Context) error {
	_, err := s.js.CreateOrUpdateStream(ctx, natsjs.StreamConfig{
		Name: stream, Subjects: []string{stream + ".>"}, Retention: natsjs.WorkQueuePolicy, Duplicates: sameFor,
	})
	if err != nil {
		return err
	}
	_, err = s.js.CreateOrUpdateConsumer(ctx, stream, natsjs.ConsumerConfig{
		Durable: consumer, AckPolicy: natsjs.AckExplicitPolicy, AckWait: ackWait, MaxDeliver: -1,
	})
	return err
}

// Queue implements [Stage].
func (s *Embedded) Queue() string { return stream + "/" + consumer }

// URL is where other processes reach the broker; empty without a listener.
func (s *Embedded) URL() string { return s.server.URL() }

// Send implements [Stage].
func (s *Embedded) Send(ctx context.Context, id string, body []byte) error {
	_, err := s.js.Publish(ctx, subject, body, natsjs.WithMsgID(id))
	return err
}

// Underway implements [Stage]. It looks at the source first: what has left it
// meanwhile is done, parked, or in the driver's stream of work, and nothing
// goes back from there.
func (s *Embedded) Underway(ctx context.Context) (int, error) {
	total := 0
	for _, name := range []string{stream, jetstream.DefaultNamespace + "-work"} {
		n, err := s.messages(ctx, name)
		if err != nil {
			return 0, fmt.Errorf("demo: counting what is under way: %w", err)
		}
		total += n
	}
	return total, nil
}

func (s *Embedded) messages(ctx context.Context, name string) (int, error) {
	str, err := s.js.Stream(ctx, name)
	if errors.Is(err, natsjs.ErrStreamNotFound) {
		return 0, nil // the driver makes its own when a consumer attaches
	}
	if err != nil {
		return 0, err
	}
	return int(str.CachedInfo().State.Msgs), nil
}

// Close implements [Stage]; it stops the broker, too. A second call returns
// nil.
func (s *Embedded) Close() error {
	var err error
	if s.Broker != nil {
		err = s.Broker.Close()
	}
	if s.client != nil {
		s.client.Close()
	}
	return errors.Join(err, s.server.Close())
}
