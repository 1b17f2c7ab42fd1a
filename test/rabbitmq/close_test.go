package rabbitmq_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// ids collects the messages whose settlement was told.
type ids struct {
	mu  sync.Mutex
	all map[string]bool
}

// Observe implements [holdfast.Observer].
func (i *ids) Observe(e holdfast.Event) {
	if e.Kind == holdfast.EventDone {
		i.mu.Lock()
		defer i.mu.Unlock()
		i.all[e.MessageID] = true
	}
}

// workUntil handles some messages of the queue and stops in order. One handler
// does not return before, so that all behind it are acknowledged one by one:
// that is what a broker keeps back.
func (p *place) workUntil(b *rabbitmq.Broker, handled int64) (done map[string]bool) {
	p.Helper()
	ctx, stop := context.WithTimeout(p.Context(), patience)
	defer stop()
	told := &ids{all: map[string]bool{}}
	var runs atomic.Int64
	consumer, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue: "orders", Prefetch: 500, Concurrency: 64, Observer: told,
		Handler: func(context.Context, *holdfast.Message) error {
			switch runs.Add(1) {
			case handled / 4:
				<-ctx.Done()
			case handled:
				stop()
			}
			return nil
		},
	})
	if err != nil {
		p.Fatal(err)
	}
	if err := consumer.Run(ctx); err != nil {
		p.Error(err)
	}
	return told.all
}

// drain takes n messages for good. A queue with a single active consumer gives
// them to a consumer only.
func (p *place) drain(queue string, n int) (list []string) {
	p.Helper()
	feed, err := p.plain.ConsumeWithContext(p.Context(), queue, "drain", true, false, false, false, nil)
	if err != nil {
		p.Fatal(err)
	}
	late := time.After(patience)
	for range n {
		select {
		case d := <-feed:
			list = append(list, d.MessageId)
		case <-late:
			p.Fatalf("%d of %d messages came", len(list), n)
		}
	}
	if err := p.plain.Cancel("drain", false); err != nil {
		p.Fatal(err)
	}
	return list
}

func TestNothingThatIsDoneComesAgainAfterAStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		for name, args := range map[string]amqp.Table{
			"quorum":                 quorum,
			"single active consumer": {"x-queue-type": "quorum", "x-single-active-consumer": true},
			"classic":                nil,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const n, stops = 750, 4
				p := newPlace(t, r)
				p.declare("orders", args)
				b := p.open()
				for range stops {
					for i := range n {
						p.publish("", "orders", amqp.Publishing{MessageId: strconv.Itoa(i)})
					}
					p.wantDepth("orders", n)
					done := p.workUntil(b, n/2)
					p.wantDepth("orders", n-len(done))
					for _, id := range p.drain("orders", n-len(done)) {
						if done[id] {
							t.Errorf("%s was done and came again", id)
						}
					}
				}
			})
		}
	})
}

// What a sift removes stays removed, although the broker is told of each alone.
func TestNothingThatIsRemovedComesAgainAfterASift(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		const n = 3_000
		p := newPlace(t, r)
		p.declare("orders", quorum)
		p.fill("orders", n)
		b := p.open()
		want := upTo(n)
		for range 3 {
			kept := every(want, 2)
			sifted, err := b.Sift(p.Context(), "orders", broker.SiftOptions{}, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
				if m.Position%2 == 0 {
					return broker.Action{}, nil
				}
				return broker.Action{Verb: broker.VerbDrop}, nil
			})
			if err != nil || sifted.Kept != len(kept) || sifted.Dropped != len(want)-len(kept) {
				t.Fatalf("%+v, %v", sifted, err)
			}
			want = kept
		}
		p.wantDepth("orders", len(want))
		if got := p.numbers("orders"); !slices.Equal(got, want) {
			t.Errorf("%d left, want %d: %v", len(got), len(want), got)
		}
	})
}

// every is each step-th of list, from the first on.
func every(list []int, step int) (some []int) {
	for i := 0; i < len(list); i += step {
		some = append(some, list[i])
	}
	return some
}
