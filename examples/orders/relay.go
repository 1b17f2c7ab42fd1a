package main

import (
	"context"
	"time"

	"github.com/holdfast-mq/holdfast/outbox"
)

// relay publishes what is committed to the outbox, and warns of what stays in
// it. Any number of processes may: they share the work.
func (s *service) relay(ctx context.Context, lease time.Duration) error {
	s.declared(ctx)
	relay, err := outbox.NewRelay(outbox.RelayConfig{Outbox: s.tables, Broker: s.rmq, Lease: lease})
	if err != nil {
		return err
	}
	reaper, err := outbox.NewReaper(outbox.ReaperConfig{Outbox: s.tables})
	if err != nil {
		return err
	}
	return together(ctx, relay.Run, reaper.Run)
}
