package main

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/outbox"
	"github.com/holdfast-mq/holdfast/store"
)

// relayOn is what a relay of ours meets.
type relayOn struct {
	keys     func(rows int) int // how many ordering keys; nil is none
	inFlight int                // of each key; 0 is the default
	old      bool               // the table has published a lot before
}

func relay(on relayOn) func(context.Context, *ground, string, int) (site, error) {
	return func(ctx context.Context, g *ground, queue string, rows int) (site, error) {
		open := g.newSchema
		if on.old {
			open = g.oldSchema
		}
		s, err := open(ctx)
		if err != nil {
			return site{}, err
		}
		remove := s.drop
		if on.old {
			remove = func() {}
		}
		keys := 0
		if on.keys != nil {
			keys = on.keys(rows)
		}
		if err := s.fill(ctx, queue, rows, keys); err != nil {
			remove()
			return site{}, err
		}
		return site{publishWith(g, s.store, on.inFlight), remove}, nil
	}
}

// look is how often the relay's own count is read.
const look = 2 * time.Millisecond

// publishWith runs a relay with its defaults.
func publishWith(g *ground, rows store.Outbox, inFlight int) func(context.Context, *meter) error {
	return func(ctx context.Context, m *meter) error {
		b, err := rabbitmq.Open(ctx, rabbitmq.Config{URL: g.amqp})
		if err != nil {
			return err
		}
		defer b.Close()
		r, err := outbox.NewRelay(outbox.RelayConfig{Outbox: rows, Broker: b, Default: outbox.Route{InFlight: inFlight}})
		if err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		ticks := time.NewTicker(look)
		defer ticks.Stop()
		seen := 0
		for {
			select {
			case err := <-ended:
				return err
			case <-ticks.C:
				if n := int(r.Status().Books.Published); n > seen {
					m.add(n - seen)
					seen = n
				}
			}
		}
	}
}
