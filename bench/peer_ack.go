package main

import (
	"context"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"
)

const (
	batchSize  = 32
	batchQuiet = time.Millisecond
)

// ackEach is the loop that the client's documentation shows.
func ackEach(prefetch int) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		p, err := consume(ctx, c.url, prefetch)
		if err != nil {
			return err
		}
		defer p.close()
		for d := range p.deliveries {
			c.clock.pass()
			if err := d.Ack(false); err != nil {
				return err
			}
			if c.clock.done() {
				return p.finish(c.clock)
			}
		}
		return errEnded
	}
}

// ackCoalesced is the same loop with acknowledgements for many at once: every
// 32, or when nothing came for a millisecond.
func ackCoalesced(prefetch int) func(context.Context, cell) error {
	return func(ctx context.Context, c cell) error {
		p, err := consume(ctx, c.url, prefetch)
		if err != nil {
			return err
		}
		defer p.close()
		b := &batch{ch: p.ch, quiet: time.NewTimer(batchQuiet)}
		defer b.quiet.Stop()
		for !c.clock.done() {
			d, ok, err := b.next(p.deliveries)
			if err != nil {
				return err
			}
			if !ok {
				return errEnded
			}
			c.clock.pass()
			if err := b.add(d.DeliveryTag); err != nil {
				return err
			}
		}
		if err := b.flush(); err != nil {
			return err
		}
		return p.finish(c.clock)
	}
}

// batch is what was processed and not acknowledged yet.
type batch struct {
	ch    *amqp.Channel
	quiet *time.Timer
	last  uint64
	n     int
}

// next waits for a delivery, and flushes when that takes too long. The timer
// is not touched while deliveries are there.
func (b *batch) next(deliveries <-chan amqp.Delivery) (amqp.Delivery, bool, error) {
	select {
	case d, ok := <-deliveries:
		return d, ok, nil
	default:
	}
	if b.n > 0 {
		b.quiet.Reset(batchQuiet)
		select {
		case d, ok := <-deliveries:
			return d, ok, nil
		case <-b.quiet.C:
			if err := b.flush(); err != nil {
				return amqp.Delivery{}, false, err
			}
		}
	}
	d, ok := <-deliveries
	return d, ok, nil
}

func (b *batch) add(tag uint64) error {
	b.last = tag
	b.n++
	if b.n < batchSize {
		return nil
	}
	return b.flush()
}

func (b *batch) flush() error {
	if b.n == 0 {
		return nil
	}
	b.n = 0
	return b.ch.Ack(b.last, true)
}
