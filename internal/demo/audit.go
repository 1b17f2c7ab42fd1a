package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

// Result is how the story ended. The books are those of this run's consumer;
// Lost and Duplicates are about all orders of the ledger, whoever handled them.
type Result struct {
	// Received counts deliveries without those that were given back to the
	// broker and came again, so that
	//
	//	received = done + delayed + held + parked + discarded
	Received  int64 `json:"received"`
	Done      int64 `json:"done"`
	Delayed   int64 `json:"delayed"`
	Held      int64 `json:"held"`
	Parked    int64 `json:"parked"`
	Discarded int64 `json:"discarded"`

	// Replayed is how many parked orders went back into work.
	Replayed int `json:"replayed"`

	// Lost counts orders of which nothing is known: neither charged, nor
	// discarded, nor parked. Duplicates counts what is there beyond one fate
	// for each: copies that came again after their order was done, and which
	// the service recognised, and second copies of a parked order.
	Lost       int `json:"lost"`
	Duplicates int `json:"duplicates"`

	// Balanced says that the books balance and nothing is in flight.
	Balanced bool `json:"balanced"`

	// Elapsed is in seconds.
	Elapsed float64 `json:"elapsed_seconds"`

	fates fates
}

// OK reports whether the books balance and nothing was lost.
func (r Result) OK() bool { return r.Balanced && r.Lost == 0 }

// fates counts orders by what became of them.
type fates struct {
	orders, charged, discarded, parked, lost, surplus int
}

// close looks at everything once more, from the disk and the broker alone.
func (p *Play) close(ctx context.Context) (Result, error) {
	f, err := p.audit(ctx)
	if err != nil {
		return Result{}, err
	}
	p.begin(end(f.parked))
	b := p.consumer.Books()
	p.mu.Lock()
	defer p.mu.Unlock()
	return Result{
		Received: b.Received - b.Released, Done: b.Done, Delayed: b.Delayed, Held: b.Held, Parked: b.Parked, Discarded: b.Discarded,
		Replayed: p.replayed, Lost: f.lost, Duplicates: f.surplus,
		Balanced: b.Balanced() && b.InFlight == 0,
		Elapsed:  float64(time.Since(p.began).Milliseconds()) / 1000,
		fates:    f,
	}, nil
}

// audit reads the ledger again and the parked orders, and finds the fate of
// each order that was ever sent.
func (p *Play) audit(ctx context.Context) (fates, error) {
	l, err := openLedger(p.cfg.Ledger, 0)
	if err != nil {
		return fates{}, err
	}
	defer func() { _ = l.close() }()
	copies := map[string]int{}
	if err := p.eachParked(ctx, func(m *broker.Stored) { copies[m.Message.ID]++ }); err != nil {
		return fates{}, err
	}
	f := fates{orders: l.orders}
	for n := range l.orders {
		id := idOf(n + 1)
		f.add(l.times(charged, id), l.times(discarded, id), copies[id], l.times(again, id))
	}
	return f, nil
}

func (f *fates) add(charged, discarded, parked, again int) {
	switch {
	case charged > 0:
		f.charged++
	case discarded > 0:
		f.discarded++
	case parked > 0:
		f.parked++
	default:
		f.lost++
	}
	f.surplus += again + max(charged+discarded+parked-1, 0)
}

// eachParked shows all orders that are parked for the service.
func (p *Play) eachParked(ctx context.Context, show func(*broker.Stored)) error {
	_, err := triage.List(ctx, p.stage, parkedPlace(p.stage), triage.ListOptions{}, func(m *broker.Stored) error {
		if m.Capture == nil {
			return fmt.Errorf("demo: %s is parked without a capture", m.Message.ID)
		}
		show(m)
		return nil
	})
	if errors.Is(err, broker.ErrMissing) {
		return nil // nothing was parked yet
	}
	return err
}

func (p *Play) parkedReasons(ctx context.Context) (map[broker.Reason]int, error) {
	reasons := map[broker.Reason]int{}
	err := p.eachParked(ctx, func(m *broker.Stored) { reasons[m.Capture.Reason]++ })
	return reasons, err
}
