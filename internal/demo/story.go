package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

const (
	lookEvery = 50 * time.Millisecond

	// patience is how long nothing may happen before the story is given up:
	// longer than the broker takes to give back what a killed run had in hand.
	patience = 30 * time.Second
)

// Run tells the story and returns how it ended. Its error is one that kept the
// story from its end; books that do not balance are for the caller to see in
// the result. The consumer goes on until [Play.Close].
func (p *Play) Run(ctx context.Context) (Result, error) {
	before, err := p.recall(ctx)
	if err != nil {
		return Result{}, err
	}
	p.begin(arrivals(p.ledger.orders, before))
	p.start(ctx)
	if err := p.send(ctx); err != nil {
		return Result{}, err
	}
	if err := p.settled(ctx); err != nil {
		return Result{}, err
	}
	if err := p.repair(ctx); err != nil {
		return Result{}, err
	}
	return p.close(ctx)
}

// repair fixes the bug and replays what it has parked.
func (p *Play) repair(ctx context.Context) error {
	p.service.fixed.Store(true)
	reasons, err := p.parkedReasons(ctx)
	if err != nil {
		return err
	}
	n := reasons[broker.ReasonExhausted]
	p.begin(rest(n, reasons[broker.ReasonMalformed]))
	if err := pause(ctx, p.cfg.Pace.Pause); err != nil || n == 0 {
		return err
	}
	p.begin(replaying(n))
	if err := p.replay(ctx, n); err != nil {
		return err
	}
	return p.settled(ctx)
}

func (p *Play) replay(ctx context.Context, n int) error {
	bounds := triage.Bounds{
		Select: triage.Selection{Reasons: []broker.Reason{broker.ReasonExhausted}},
		Moved:  func(o triage.Outcome) { p.setReplayed(o.Moved) },
	}
	if d := p.cfg.Pace.Replay; d > 0 {
		bounds.Rate = float64(n) / d.Seconds()
	}
	_, outcome, err := triage.Replay(ctx, p.stage, parkedPlace(p.stage), triage.ReplayOptions{Bounds: bounds, Queue: p.stage.Queue()})
	p.setReplayed(outcome.Moved)
	return err
}

func (p *Play) setReplayed(n int) {
	p.mu.Lock()
	p.replayed = n
	p.mu.Unlock()
}

// settled waits until nothing is under way any more.
func (p *Play) settled(ctx context.Context) error {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	var seen progress
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-p.ended:
			return errors.Join(errors.New("demo: the consumer has ended"), p.err)
		case now := <-look.C:
			n, err := p.stage.Underway(ctx)
			if err != nil {
				return err
			}
			books := p.consumer.Books()
			if n == 0 && books.InFlight == 0 {
				return nil
			}
			if seen.stalled(now, n, books.Received) {
				return fmt.Errorf("demo: nothing has happened for %v, and %s still under way", patience, are(n, "message"))
			}
		}
	}
}

// Linger has the decoder mended, so that some of the malformed orders can be
// replayed, tells each of what happens from now on, and returns when ctx ends
// or the consumer does.
func (p *Play) Linger(ctx context.Context, each func(Line)) error {
	p.service.mended.Store(true)
	p.tally.tellEach(each)
	select {
	case <-ctx.Done():
		return nil
	case <-p.ended:
		return errors.Join(errors.New("demo: the consumer has ended"), p.err)
	}
}

// progress notices when nothing happens.
type progress struct {
	underway int
	received int64
	since    time.Time
}

func (p *progress) stalled(now time.Time, underway int, received int64) bool {
	if p.since.IsZero() || underway != p.underway || received != p.received {
		*p = progress{underway, received, now}
	}
	return now.Sub(p.since) > patience
}
