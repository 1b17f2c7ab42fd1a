package membroker

import (
	"context"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

var _ broker.Surveyor = (*Broker)(nil)

// Survey implements [broker.Surveyor]. How old messages are is not known.
func (b *Broker) Survey(ctx context.Context, queues []string) (broker.Survey, error) {
	b.server.lock()
	defer b.server.unlock()
	if err := b.usable(ctx); err != nil {
		return broker.Survey{}, err
	}
	v := broker.Survey{Product: b.server.caps.Broker}
	if reason := b.server.faults.blocked; reason != "" {
		v.Trouble = append(v.Trouble, "publishes: they wait, "+reason)
	}
	for _, name := range queues {
		s := broker.SourceSurvey{Queue: name}
		if q := b.server.queues[name]; q == nil {
			s.Err = fmt.Errorf("membroker: survey %q: %w", name, broker.ErrMissing)
		} else {
			s.Ready, s.Unsettled, s.Consumers = len(q.ready), len(q.out), len(q.consumers)
		}
		if parked := b.server.queues[ParkedQueue(name)]; parked != nil {
			s.Parked = len(parked.ready) + len(parked.out)
		}
		v.Sources = append(v.Sources, s)
	}
	return v, nil
}
