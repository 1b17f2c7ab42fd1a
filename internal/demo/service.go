package demo

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/holdfast-mq/holdfast"
)

// flakyAttempts is how many attempts at an order of the busy warehouse fail.
const flakyAttempts = 2

var (
	errLocked = errors.New("the stock is locked")
	errNoRate = errors.New("no exchange rate for " + unknownCurrency)
	errTest   = errors.New("a test order")
)

// service charges orders. It is idempotent by its ledger, and keeps no count
// of its own: which attempt this is comes with the message.
type service struct {
	ledger  *ledger
	billing *billing
	work    time.Duration

	// fixed is the release that knows the missing rate, and mended the one
	// whose decoder takes amounts as text.
	fixed  atomic.Bool
	mended atomic.Bool
}

// handler is what a service author writes.
func (s *service) handler() holdfast.Handler {
	strict := holdfast.JSON(s.handle)
	lenient := holdfast.JSON(func(ctx context.Context, o textOrder, m *holdfast.Message) error {
		return s.handle(ctx, o.order, m)
	})
	return func(ctx context.Context, m *holdfast.Message) error {
		if s.mended.Load() {
			return lenient(ctx, m)
		}
		return strict(ctx, m)
	}
}

func (s *service) handle(ctx context.Context, o order, m *holdfast.Message) error {
	switch {
	case s.ledger.done(o.ID):
		return s.record(again, o.ID, nil)
	case o.Test:
		return s.record(discarded, o.ID, holdfast.Discard(errTest))
	case o.Currency == unknownCurrency && !s.fixed.Load():
		return errNoRate
	case o.Warehouse == busyWarehouse && m.Attempt <= flakyAttempts:
		return errLocked
	}
	if err := pause(ctx, s.work); err != nil {
		return err
	}
	if err := s.billing.charge(time.Now()); err != nil {
		return holdfast.Hold(err) // nothing wrong with the order
	}
	return s.record(charged, o.ID, nil)
}

// record writes to the ledger before the message may be acknowledged. What
// cannot be recorded was not done.
func (s *service) record(e effect, id string, verdict error) error {
	if _, err := s.ledger.do(e, id); err != nil {
		return holdfast.Hold(fmt.Errorf("the ledger: %w", err))
	}
	return verdict
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
