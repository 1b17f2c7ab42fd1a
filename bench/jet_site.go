package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

const (
	jetName = "jetstream"

	jetStream   = "ORDERS"
	jetSubject  = "orders.new"
	jetConsumer = "billing"
	jetQueue    = jetStream + "/" + jetConsumer
)

// jetGround makes an embedded server for each run: file storage, no network.
type jetGround struct{}

func jetLabel() string { return "JetStream " + natsserver.VERSION + ", embedded" }

// jetSite is a server on a folder of its own.
type jetSite struct {
	dir    string
	server *embedded.Server
	conn   *nats.Conn
	js     jetstream.JetStream
}

func (jetGround) prepare(ctx context.Context, prefetch int) (site, error) {
	dir, err := os.MkdirTemp("", "holdfast-bench-")
	if err != nil {
		return nil, err
	}
	s := &jetSite{dir: dir}
	if err := s.open(ctx, prefetch); err != nil {
		return nil, errors.Join(err, s.remove())
	}
	return s, nil
}

// open makes the source. Its consumer has the prefetch as its bound, since the
// client's own is one of what was fetched and not of what is unacknowledged.
func (s *jetSite) open(ctx context.Context, prefetch int) (err error) {
	if s.server, err = embedded.Start(s.dir, embedded.Options{}); err != nil {
		return err
	}
	if s.conn, s.js, err = jetConnect(s.server); err != nil {
		return err
	}
	stream, err := s.js.CreateStream(ctx, jetstream.StreamConfig{Name: jetStream, Subjects: []string{jetSubject}})
	if err != nil {
		return err
	}
	_, err = stream.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: jetConsumer, AckPolicy: jetstream.AckExplicitPolicy, MaxAckPending: prefetch,
	})
	return err
}

func jetConnect(s *embedded.Server) (*nats.Conn, jetstream.JetStream, error) {
	conn, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	return conn, js, err
}

func openJetStream(ctx context.Context, c cell) (broker.Broker, error) {
	return driver.Open(ctx, driver.Config{InProcess: c.local})
}

func (s *jetSite) cell(c *clock) cell { return cell{local: s.server, clock: c} }

func (s *jetSite) remove() error {
	if s.conn != nil {
		s.conn.Close()
	}
	var err error
	if s.server != nil {
		err = s.server.Close()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}

func (s *jetSite) fill(ctx context.Context, n int) error {
	body := make([]byte, bodySize)
	waiting := make([]jetstream.PubAckFuture, 0, fillWindow)
	for i := range n {
		f, err := s.js.PublishAsync(jetSubject, body, jetstream.WithMsgID(strconv.Itoa(i)))
		if err != nil {
			return err
		}
		if waiting = append(waiting, f); len(waiting) < fillWindow && i < n-1 {
			continue
		}
		for _, f := range waiting {
			if err := stored(ctx, f); err != nil {
				return err
			}
		}
		waiting = waiting[:0]
	}
	return nil
}

// stored waits for the PubAck.
func stored(ctx context.Context, f jetstream.PubAckFuture) error {
	select {
	case <-f.Ok():
		return nil
	case err := <-f.Err():
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *jetSite) verify(ctx context.Context, p contestant, total int) error {
	if p.copies != "" {
		if err := s.verifyCopies(ctx, p.copies, total); err != nil {
			return err
		}
	}
	consumer, err := s.js.Consumer(ctx, jetStream, jetConsumer)
	if err != nil {
		return err
	}
	for deadline := time.Now().Add(verifyTime); ; sleep(ctx, verifyStep) {
		info, err := consumer.Info(ctx)
		if err != nil {
			return err
		}
		left := info.NumPending + uint64(info.NumAckPending)
		if left == 0 && info.NumRedelivered == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the consumer has %d messages left and %d redelivered: %w", left, info.NumRedelivered, errIncomplete)
		}
	}
}

func (s *jetSite) verifyCopies(ctx context.Context, name string, total int) error {
	stream, err := s.js.Stream(ctx, name)
	if err != nil {
		return err
	}
	if n := stream.CachedInfo().State.Msgs; n != uint64(total) {
		return fmt.Errorf("stream %s has %d messages and should have %d: %w", name, n, total, errIncomplete)
	}
	return nil
}
