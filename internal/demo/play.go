package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// The consumer of the story: the production code with short waits.
const (
	concurrency = 8
	prefetch    = 64
	hold        = time.Second // the shortest that a policy may ask for
)

func ladder() []time.Duration { return []time.Duration{300 * time.Millisecond, 700 * time.Millisecond} }

// Play is one telling of the story. [Play.Run] tells it; [Play.Close] ends its
// consumer.
type Play struct {
	stage    Stage
	cfg      Config
	ledger   *ledger
	tally    *tally
	service  *service
	consumer *holdfast.Consumer
	began    time.Time

	stop  context.CancelFunc
	ended chan struct{} // closed when the consumer has ended
	err   error         // of the consumer, once ended is closed

	closed sync.Once

	mu       sync.Mutex
	act      act
	replayed int
}

// New opens the ledger and prepares everything. It starts nothing.
func New(stage Stage, cfg Config) (*Play, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	l, err := openLedger(cfg.Ledger, cfg.Orders)
	if err != nil {
		return nil, err
	}
	p := &Play{stage: stage, cfg: cfg, ledger: l, began: time.Now(), stop: func() {}, act: fixed("starting")}
	p.tally = newTally(l.orders)
	p.service = &service{
		ledger: l, work: cfg.Pace.work(l.orders),
		billing: &billing{after: l.orders / 4, lasts: cfg.Pace.Outage, changed: p.billingChanged},
	}
	p.consumer, err = holdfast.NewConsumer(stage, holdfast.ConsumerConfig{
		Queue: stage.Queue(), Handler: p.service.handler(), Observer: p.tally, Name: "holdfast demo",
		Policy:   holdfast.Policy{Ladder: ladder(), Hold: hold},
		Prefetch: prefetch, Concurrency: concurrency, Grace: time.Second,
	})
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return p, nil
}

// Close stops the consumer and waits for it. It may be called at any time
// after Run, and more than once.
func (p *Play) Close() error {
	p.closed.Do(func() {
		p.stop()
		if p.ended != nil {
			<-p.ended
		}
		p.err = errors.Join(p.err, p.ledger.close())
	})
	return p.err
}

// start starts the consumer.
func (p *Play) start(ctx context.Context) {
	// It outlives the story: after its end the consumer goes on until Close.
	ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	p.ended = make(chan struct{})
	go func() {
		defer close(p.ended)
		p.err = p.consumer.Run(ctx)
	}()
}

// begin opens an act.
func (p *Play) begin(a act) {
	p.mu.Lock()
	p.act = a
	p.mu.Unlock()
	if p.cfg.Told != nil {
		p.cfg.Told(a.opening)
	}
}

func (p *Play) billingChanged(down bool) {
	if down {
		p.begin(outage())
	} else {
		p.begin(recovery())
	}
}

// recall takes in what an earlier run has left.
func (p *Play) recall(ctx context.Context) (sentBefore int, err error) {
	for n := range p.ledger.orders {
		id := idOf(n + 1)
		sentBefore += p.ledger.times(sent, id)
		switch {
		case p.ledger.times(charged, id) > 0:
			p.tally.put(id, done, time.Time{})
		case p.ledger.times(discarded, id) > 0:
			p.tally.put(id, dropped, time.Time{})
		}
	}
	err = p.eachParked(ctx, func(m *broker.Stored) { p.tally.put(m.Message.ID, parked, m.Capture.FailedAt) })
	return sentBefore, err
}

// send publishes the orders that the ledger does not know as sent.
func (p *Play) send(ctx context.Context) error {
	every := p.cfg.Pace.Arrivals / time.Duration(p.ledger.orders)
	for n := range p.ledger.orders {
		id := idOf(n + 1)
		if p.ledger.times(sent, id) > 0 {
			continue
		}
		if err := pause(ctx, every); err != nil {
			return err
		}
		if err := p.stage.Send(ctx, id, bodyOf(n+1)); err != nil {
			return fmt.Errorf("demo: sending %s: %w", id, err)
		}
		if err := p.ledger.send(id); err != nil {
			return err
		}
	}
	return nil
}
