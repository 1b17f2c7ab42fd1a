package inbox

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/broker/membroker"
	"github.com/holdfast-mq/holdfast/broker/rabbitmq"
	"github.com/holdfast-mq/holdfast/inbox"
	"github.com/holdfast-mq/holdfast/internal/testenv"
	"github.com/holdfast-mq/holdfast/triage"
)

// operated is a broker that a consumer and an operator use.
type operated interface {
	broker.Broker
	broker.Sifter
	broker.Publisher
	broker.Places
}

func TestReplay(t *testing.T) {
	t.Run("membroker", func(t *testing.T) {
		each(t, func(t *testing.T, _ address, s *service) {
			b := membroker.New()
			t.Cleanup(func() { _ = b.Close() })
			b.DeclareQueue(queue)
			replayed(t, b, s)
		})
	})
	for _, r := range testenv.RabbitMQs(t) {
		t.Run(r.Name, func(t *testing.T) {
			on(t, []string{onPostgres}, func(t *testing.T, _ address, s *service) {
				url := r.VHost(t)
				declare(t, url)
				b, err := rabbitmq.Open(t.Context(), rabbitmq.Config{URL: url})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = b.Close() })
				replayed(t, b, s)
			})
		})
	}
}

// replayed parks one message whose effect was committed and one whose effect
// was not, and replays both: the one is a duplicate, and the other runs. While
// they are parked, no record is pruned.
func replayed(t *testing.T, b operated, s *service) {
	const committed, uncommitted = "committed", "uncommitted"
	var mu sync.Mutex
	outcomes := map[string][]inbox.Outcome{}
	mended := false
	c := consuming(t, b, holdfast.Policy{Ladder: []time.Duration{}}, func(ctx context.Context, m *holdfast.Message) error {
		mu.Lock()
		defer mu.Unlock()
		r, err := s.handle(ctx, inbox.Of(m), func() error {
			if m.ID == uncommitted && !mended {
				return holdfast.Park(errors.New("rolled back"))
			}
			return nil
		})
		outcomes[m.ID] = append(outcomes[m.ID], r.Outcome)
		if err == nil && !mended {
			return holdfast.Park(errors.New("failed after the commit"))
		}
		return err
	})
	publish(t, b, &holdfast.Message{ID: committed})
	publish(t, b, &holdfast.Message{ID: uncommitted})
	testenv.Eventually(t, patience, "both are parked", func() bool { return c.Books().Parked == 2 })

	parked, _ := b.ParkedPlace(queue)
	retention := inbox.Retention{Keep: inbox.MinKeep, OldestParked: oldestParked(b, parked)}
	recorded, err := s.Handled(t.Context(), consumer, committed)
	if err != nil {
		t.Fatal(err)
	}
	testenv.Eventually(t, patience, "the record is older than it is kept for without anything parked", func() bool {
		n, err := inbox.Prune(t.Context(), s, consumer, retention)
		if err != nil || n != 0 {
			t.Fatalf("%d records pruned, %v", n, err)
		}
		return time.Since(recorded.At) > 2*inbox.MinKeep
	})

	mu.Lock()
	mended = true
	mu.Unlock()
	id, moved, err := triage.Replay(t.Context(), b, triage.Place{Queue: parked}, triage.ReplayOptions{Queue: queue})
	if err != nil || moved.Moved != 2 {
		t.Fatalf("replayed %+v, %v", moved, err)
	}
	testenv.Eventually(t, patience, "the replay is consumed", func() bool { return c.Books().Done == 2 })
	mu.Lock()
	got := fmt.Sprint(outcomes)
	mu.Unlock()
	if got != "map[committed:[applied duplicate] uncommitted:[ applied]]" {
		t.Errorf("outcomes %s", got)
	}
	s.same(t, committed, uncommitted)
	s.appliedBy(t, committed, "")
	s.appliedBy(t, uncommitted, id)
	s.prunes(t, retention, 2)
}

// appliedBy says which replay brought the message that was applied.
func (s *service) appliedBy(t *testing.T, message, replay string) {
	t.Helper()
	if h, err := s.Handled(t.Context(), consumer, message); err != nil || h.Replay != replay {
		t.Errorf("%s was applied by the replay %q, want %q; %v", message, h.Replay, replay, err)
	}
}

// prunes waits until so many records are removed.
func (s *service) prunes(t *testing.T, r inbox.Retention, records int) {
	t.Helper()
	removed := 0
	testenv.Eventually(t, patience, "with nothing parked the records go", func() bool {
		n, err := inbox.Prune(t.Context(), s, consumer, r)
		if err != nil {
			t.Fatal(err)
		}
		removed += n
		return removed == records
	})
}

// oldestParked is the function of docs/inbox.md and of the package's examples.
func oldestParked(s broker.Sifter, queue string) func(context.Context) (time.Time, bool, error) {
	return func(ctx context.Context) (oldest time.Time, found bool, err error) {
		_, err = triage.List(ctx, s, triage.Place{Queue: queue}, triage.ListOptions{}, func(m *broker.Stored) error {
			if m.Capture == nil || m.Capture.FirstFailedAt.IsZero() {
				return fmt.Errorf("message %d in %s does not say since when it waits", m.Position+1, queue)
			}
			if at := m.Capture.FirstFailedAt; !found || at.Before(oldest) {
				oldest, found = at, true
			}
			return nil
		})
		return oldest, found, err
	}
}
