package embedded

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/jetstream"
	"github.com/holdfast-mq/holdfast/internal/embedded"
)

const (
	durable = "billing"
	queue   = stream + "/" + durable

	// away is how long a message waits on the rung and in the hold: longer
	// than a stop and a start take.
	away = 3 * time.Second
)

// The bodies say what becomes of a message.
const (
	bodyPark  = "park"
	bodyHold  = "hold"  // once
	bodyRetry = "retry" // once
	bodyStay  = "stay"  // is in its handler when the end comes
)

var bodies = []string{bodyPark, bodyHold, bodyRetry, bodyStay}

// station is a broker with one consumer, on a folder.
type station struct {
	server   *embedded.Server
	js       jetstream.JetStream
	broker   *driver.Broker
	consumer *holdfast.Consumer
	stop     func() error

	left  atomic.Int32  // messages that are not where they shall be at the end
	ready chan struct{} // closed when there are none

	mu    sync.Mutex
	first map[string]time.Time // when a body was first in the handler
	done  []success
}

// success is a message that the handler is through with.
type success struct {
	body         string
	attempt, lap int
	at           time.Time
}

// openStation starts all of it. With stay, a handler that gets bodyStay does
// not return before it must.
func openStation(dir string, stay bool) (*station, error) {
	s := &station{first: map[string]time.Time{}, ready: make(chan struct{})}
	s.left.Store(int32(len(bodies)))
	var err error
	if s.server, s.js, err = open(dir, embedded.Options{}); err != nil {
		return nil, err
	}
	if s.broker, err = driver.Open(context.Background(), driver.Config{InProcess: s.server}); err != nil {
		return nil, err
	}
	s.consumer, err = holdfast.NewConsumer(s.broker, holdfast.ConsumerConfig{
		Queue:   queue,
		Handler: func(ctx context.Context, m *holdfast.Message) error { return s.handle(ctx, m, stay) },
		Policy:  holdfast.Policy{Ladder: []time.Duration{away}, Hold: away},
		Grace:   -1,
		Observer: holdfast.ObserverFunc(func(e holdfast.Event) {
			if e.Kind == holdfast.EventParked || e.Kind == holdfast.EventHeld || e.Kind == holdfast.EventDelayed {
				s.placed()
			}
		}),
	})
	return s, err
}

func (s *station) handle(ctx context.Context, m *holdfast.Message, stay bool) error {
	body := string(m.Body)
	s.mu.Lock()
	if _, again := s.first[body]; !again {
		s.first[body] = time.Now()
	}
	s.mu.Unlock()
	switch {
	case body == bodyPark:
		return holdfast.Park(errors.New("it will never work"))
	case body == bodyHold && m.Lap == 0:
		return holdfast.Hold(errors.New("the other side is down"))
	case body == bodyRetry && m.Attempt == 1:
		return errors.New("it does not work yet")
	case body == bodyStay && stay:
		s.placed()
		<-ctx.Done()
		return ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, success{body, m.Attempt, m.Lap, time.Now()})
	return nil
}

// fill makes the source and publishes one message of each kind.
func (s *station) fill() error {
	ctx := context.Background()
	source, err := s.js.CreateStream(ctx, streamConfig())
	if err != nil {
		return err
	}
	_, err = source.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: durable, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Second,
	})
	for _, body := range bodies {
		if err == nil {
			_, err = s.js.Publish(ctx, subject, []byte(body), jetstream.WithMsgID(body))
		}
	}
	return err
}

// start runs the consumer until stop, which closes everything.
func (s *station) start() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.consumer.Run(ctx) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		return errors.Join(<-ended, s.broker.Close(), s.server.Close())
	})
}

// successes are the last of each message, by body.
func (s *station) successes() map[string]success {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := map[string]success{}
	for _, d := range s.done {
		last[d.body] = d
	}
	return last
}

// placed counts a message that is where it shall be: in its handler, or away
// and acknowledged.
func (s *station) placed() {
	if s.left.Add(-1) == 0 {
		close(s.ready)
	}
}

// awaitReady waits until every message is where it shall be.
func (s *station) awaitReady() error {
	select {
	case <-s.ready:
		return nil
	case <-time.After(processTakes):
		return fmt.Errorf("not all messages are placed: %+v", s.consumer.Books())
	}
}

// seen says when each body was first in the handler.
func (s *station) seen() map[string]time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.first)
}

// parked returns the bodies of what is parked.
func (s *station) parked(ctx context.Context) (found []string, err error) {
	place, _ := s.broker.ParkedPlace(queue)
	_, err = s.broker.Sift(ctx, place, broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		if m.Capture == nil {
			return broker.Action{}, fmt.Errorf("parked without a capture: %w", m.CaptureErr)
		}
		found = append(found, string(m.Message.Body))
		return broker.Action{}, nil
	})
	return found, err
}
