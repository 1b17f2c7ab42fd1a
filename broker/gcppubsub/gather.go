package gcppubsub

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"cloud.google.com/go/pubsub/v2/apiv1/pubsubpb"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxInHand and maxCount bound what is taken in hand to be looked at and
	// to be counted.
	maxInHand = 1000
	maxCount  = 10_000

	// maxInHandBytes bounds it in memory.
	maxInHandBytes = 64 << 20
)

// gatherer takes the messages of a subscription in hand, keeps them from
// redelivery while somebody looks, and gives back at its end what was not
// removed.
type gatherer struct {
	conn   *conn
	path   string
	most   int
	bare   bool // the messages are counted and not kept
	rounds int
	more   bool // the last round ended at a bound

	quit   context.CancelFunc
	closed sync.WaitGroup

	mu   sync.Mutex
	kept []*pubsubpb.ReceivedMessage
}

func (c *conn) gatherer(ctx context.Context, path string, most int, bare bool) *gatherer {
	g := &gatherer{conn: c, path: path, most: most, bare: bare}
	// A pick may take longer than its sift may go on, and keeps its leases.
	ctx, g.quit = context.WithCancel(context.WithoutCancel(ctx))
	g.closed.Go(func() { g.keepLeases(ctx) })
	return g
}

// gather takes in hand what is there, up to a bound, and returns it in the
// order of publication.
func (g *gatherer) gather(ctx context.Context) ([]*pubsubpb.ReceivedMessage, error) {
	g.rounds++
	g.more = true
	var all []*pubsubpb.ReceivedMessage
	for size := 0; len(all) < g.most && size < maxInHandBytes; {
		bounded, cancel := g.conn.bounded(ctx)
		list, err := g.conn.pull(bounded, g.path, min(g.most-len(all), perPull), true)
		cancel()
		if err != nil {
			return nil, classify("look into "+g.path, "pubsub.subscriptions.consume", err)
		}
		if len(list) == 0 {
			g.more = false
			break
		}
		for _, m := range list {
			if g.bare {
				m.Message = nil
			}
			size += len(m.GetMessage().GetData())
		}
		g.hold(list)
		all = append(all, list...)
	}
	slices.SortStableFunc(all, func(a, b *pubsubpb.ReceivedMessage) int {
		return a.GetMessage().GetPublishTime().AsTime().Compare(b.GetMessage().GetPublishTime().AsTime())
	})
	return all, nil
}

func (g *gatherer) hold(list []*pubsubpb.ReceivedMessage) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept = append(g.kept, list...)
}

// remove lets the broker forget a message. Without its answer nobody can say
// whether it did.
func (g *gatherer) remove(m *pubsubpb.ReceivedMessage) error {
	failed := g.conn.acknowledge(g.path, []string{m.GetAckId()})
	if err := failed[m.GetAckId()]; err != nil {
		return fmt.Errorf("gcppubsub: the original was not removed and comes again: %w: %w", broker.ErrUnknown, err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.kept = slices.DeleteFunc(g.kept, func(k *pubsubpb.ReceivedMessage) bool { return k == m })
	return nil
}

func (g *gatherer) ids() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	ids := make([]string, len(g.kept))
	for i, m := range g.kept {
		ids[i] = m.GetAckId()
	}
	return ids
}

func (g *gatherer) keepLeases(ctx context.Context) {
	tick := time.NewTicker(placeDeadline / 3)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			g.conn.lease(ctx, g.path, g.ids(), int32(placeDeadline/time.Second))
		case <-ctx.Done():
			return
		}
	}
}

// close gives back what is left, in the order in which it was taken.
func (g *gatherer) close() {
	g.quit()
	g.closed.Wait()
	g.conn.lease(context.Background(), g.path, g.ids(), 0)
}
