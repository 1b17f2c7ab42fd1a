package rabbitmq_test

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"

	amqp "github.com/rabbitmq/amqp091-go"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// afterwork finds messages that are handled again although their settlement
// was told. One handler of each round does not return before the stop, so that
// all the others are acknowledged one by one: that is what a broker keeps back.
type afterwork struct {
	*place
	mu    sync.Mutex
	done  map[string]bool
	again []string
}

// Observe implements [holdfast.Observer].
func (a *afterwork) Observe(e holdfast.Event) {
	if e.Kind == holdfast.EventDone {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.done[e.MessageID] = true
	}
}

func (a *afterwork) handled(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.done[id] {
		a.again = append(a.again, id)
	}
}

func (a *afterwork) count() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.done)
}

// round runs a consumer that is stopped when it has handled n messages, or
// every one there is.
func (a *afterwork) round(b *rabbitmq.Broker, n int) {
	a.Helper()
	ctx, stop := context.WithTimeout(a.Context(), patience)
	defer stop()
	work := make(chan struct{}, n)
	var last sync.Once
	left := a.depth("orders")
	consumer, err := holdfast.NewConsumer(b, holdfast.ConsumerConfig{
		Queue: "orders", Prefetch: 500, Concurrency: 64, Observer: a,
		Handler: func(_ context.Context, m *holdfast.Message) error {
			a.handled(m.ID)
			select {
			case work <- struct{}{}:
			default:
			}
			switch seen := len(work); {
			case seen == min(n, left):
				last.Do(stop)
			case seen == min(n, left)/2: // the full prefetch is in force by then
				<-ctx.Done()
			}
			return nil
		},
	})
	if err != nil {
		a.Fatal(err)
	}
	if err := consumer.Run(ctx); err != nil {
		a.Error(err)
	}
}

func TestNothingThatIsDoneComesAgainAfterAStop(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		for name, args := range map[string]amqp.Table{
			"quorum":                 quorum,
			"single active consumer": {"x-queue-type": "quorum", "x-single-active-consumer": true},
			"classic":                nil,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				const n, rounds = 3_000, 10
				a := &afterwork{place: newPlace(t, r), done: map[string]bool{}}
				a.declare("orders", args)
				for i := range n {
					a.publish("", "orders", amqp.Publishing{MessageId: strconv.Itoa(i), Body: []byte("quick")})
				}
				a.wantDepth("orders", n)
				b := a.open()
				for i := 0; i < 2*rounds && a.count() < n; i++ {
					a.round(b, n/rounds)
				}
				if a.count() != n || len(a.again) > 0 {
					t.Errorf("%d of %d done, and %d were handled again", a.count(), n, len(a.again))
				}
			})
		}
	})
}

// What a sift removes stays removed, although the broker is told of each alone.
func TestNothingThatIsRemovedComesAgainAfterASift(t *testing.T) {
	each(t, func(t *testing.T, r testenv.RabbitMQ) {
		t.Parallel()
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
