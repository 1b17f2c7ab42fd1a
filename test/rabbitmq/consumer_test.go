package rabbitmq_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// running is a consumer or a responder at work, with what it told.
type running struct {
	*place
	mu     sync.Mutex
	events []holdfast.Event
}

// runWorker runs a consumer or a responder until the test ends, and checks then that it stops
// in order with balanced books.
func (p *place) runWorker(c func(holdfast.Observer) (worker, error)) *running {
	p.Helper()
	r := &running{place: p}
	w, err := c(r)
	if err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	p.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				p.Errorf("run: %v", err)
			}
		case <-time.After(patience):
			p.Error("the consumer does not stop")
		}
		if books := w.Books(); !books.Balanced() {
			p.Errorf("books %+v", books)
		}
	})
	return r
}

type worker interface {
	Run(ctx context.Context) error
	Books() holdfast.Books
}

// Observe implements [holdfast.Observer].
func (r *running) Observe(e holdfast.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
}

func (r *running) of(kind holdfast.EventKind) (list []holdfast.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// wantEvents waits for n events of a kind.
func (r *running) wantEvents(kind holdfast.EventKind, n int) {
	r.Helper()
	testenv.Eventually(r, patience, "enough events of kind "+string(kind), func() bool { return len(r.of(kind)) >= n })
}

// runs counts the runs of a handler by the message's body.
type runs struct {
	mu   sync.Mutex
	all  map[string]int
	last map[string]holdfast.Message
}

// add counts one run of m and returns how many there were.
func (r *runs) add(m *holdfast.Message) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all, r.last = map[string]int{}, map[string]holdfast.Message{}
	}
	body := string(m.Body)
	r.all[body]++
	r.last[body] = *m
	return r.all[body]
}

func (r *runs) of(body string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[body]
}

// lowerConsumerTimeout makes the broker take back what is unsettled for more
// than a second.
func lowerConsumerTimeout(t *testing.T, r testenv.RabbitMQ) {
	t.Helper()
	r.Ctl(t, "eval", "application:set_env(rabbit, consumer_timeout, 1000), application:set_env(rabbit, channel_tick_interval, 500).")
	t.Cleanup(func() {
		r.Ctl(t, "eval", "application:set_env(rabbit, consumer_timeout, 1800000), application:set_env(rabbit, channel_tick_interval, 60000).")
	})
}

func (p *place) runConsumer(b *rabbitmq.Broker, cfg holdfast.ConsumerConfig) *running {
	p.Helper()
	return p.runWorker(func(o holdfast.Observer) (worker, error) {
		cfg.Observer = o
		return holdfast.NewConsumer(b, cfg)
	})
}

func (p *place) runResponder(b *rabbitmq.Broker, cfg holdfast.ResponderConfig) *running {
	p.Helper()
	return p.runWorker(func(o holdfast.Observer) (worker, error) {
		cfg.Observer = o
		return holdfast.NewResponder(b, cfg)
	})
}
