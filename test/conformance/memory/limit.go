package memory

import (
	"context"
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
)

// limits is which queues say that they have a native limit. The broker in
// memory takes nothing away by itself, so the limit is only reported: enough
// for what the core makes of it, and for a budget that acts before it.
type limits struct {
	mu sync.Mutex
	of map[string]int
}

func (l *limits) set(queue string, limit int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[string]int{}
	}
	l.of[queue] = limit
}

func (l *limits) get(queue string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.of[queue]
}

// client is a peer whose sessions report the limits.
type client struct {
	*membroker.Broker
	limits *limits
}

func (c client) Open(ctx context.Context, sub broker.Subscription) (broker.Session, error) {
	s, err := c.Broker.Open(ctx, sub)
	if err != nil {
		return nil, err
	}
	return session{s, c.limits.get(sub.Queue)}, nil
}

type session struct {
	broker.Session
	limit int
}

func (s session) Capabilities() broker.Capabilities {
	caps := s.Session.Capabilities()
	caps.NativeLimit = s.limit
	return caps
}
