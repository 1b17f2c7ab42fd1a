package gcppubsub

import (
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/holdfast-mq/holdfast/broker"
)

// acker acknowledges the deliveries of one subscription. The first goes at
// once, and the next batch is what gathers until it is answered.
type acker struct {
	session      *session
	subscription string

	mu      sync.Mutex
	waiting []settled
	asking  bool
}

// settled is a delivery whose fate is durable.
type settled struct {
	delivery *delivery
	done     func(error)
}

func (a *acker) add(d *delivery, done func(error)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting = append(a.waiting, settled{d, done})
	if !a.asking {
		a.asking = true
		a.session.closed.Go(a.run)
	}
}

// next takes the batch that may go now.
func (a *acker) next() []settled {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch := a.waiting[:min(len(a.waiting), idsPerCall)]
	a.waiting = a.waiting[len(batch):]
	a.asking = len(batch) > 0
	return batch
}

// run acknowledges until nothing waits. It is not raced against the end of the
// session, but bounded by the time of a call.
func (a *acker) run() {
	for batch := a.next(); len(batch) > 0; batch = a.next() {
		ids := make([]string, len(batch))
		for i, s := range batch {
			ids[i] = s.delivery.ackID
		}
		failed := a.session.conn.acknowledge(a.subscription, ids)
		for _, s := range batch {
			err := failed[s.delivery.ackID]
			if err != nil {
				err = a.session.ackFailed(err)
			}
			a.session.finish(s.delivery, s.done, err)
		}
	}
}

// ackFailed ends the session: the broker redelivers what it does not know to
// be settled.
func (s *session) ackFailed(err error) error {
	err = fmt.Errorf("gcppubsub: an acknowledgement was not taken, and the message may come again: %w: %w", broker.ErrUnknown, err)
	s.end(err)
	return err
}

// permanent reports whether a lease cannot be extended any more: exactly-once
// delivery has given the message to somebody else, or will.
func permanent(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "PERMANENT_FAILURE") || code(err) == codes.InvalidArgument)
}
