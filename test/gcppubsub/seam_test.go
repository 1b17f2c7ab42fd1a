package gcppubsub

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
)

// This file is how the driver's own cases use the seam.

const patience = 20 * time.Second

// seat is a client of a station with one session on a queue of its own.
type seat struct {
	*testing.T
	*station
	queue   string
	b       broker.Broker
	session broker.Session

	mu      sync.Mutex
	notices []broker.Notice
}

func (s *seat) notice(n broker.Notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notices = append(s.notices, n)
}

// warnings counts those that have all of the words.
func (s *seat) warnings(words ...string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, notice := range s.notices {
		has := notice.Kind == broker.NoticeWarning
		for _, w := range words {
			has = has && strings.Contains(notice.Text, w)
		}
		if has {
			n++
		}
	}
	return n
}

func ctx(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sit opens a session on queue and lets it flow.
func (s *station) sit(t *testing.T, queue string, change func(*driver.Config)) *seat {
	t.Helper()
	conf := s.config(s.front.addr)
	if change != nil {
		change(&conf)
	}
	b, err := driver.Open(ctx(t), conf)
	must(t, err)
	at := &seat{T: t, station: s, queue: queue, b: b}
	t.Cleanup(func() { must(t, b.Close()) })
	at.session, err = b.Open(ctx(t), broker.Subscription{
		Queue: queue, Rungs: []time.Duration{time.Second, 20 * time.Minute}, Hold: 50 * time.Millisecond, Replies: true, Notify: at.notice,
	})
	must(t, err)
	must(t, at.session.Consume(ctx(t), 10))
	return at
}

func (s *seat) receive() broker.Delivery {
	s.Helper()
	d, err := s.session.Receive(ctx(s.T))
	must(s.T, err)
	return d
}

// quiet proves that nothing comes for so long.
func (s *seat) quiet(d time.Duration) {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	if got, err := s.session.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		s.Fatalf("received %v, %v", got, err)
	}
}

func settle(t *testing.T, d broker.Delivery, set broker.Settlement) error {
	t.Helper()
	outcome := make(chan error, 1)
	d.Settle(set, func(err error) { outcome <- err })
	select {
	case err := <-outcome:
		return err
	case <-time.After(patience):
		t.Fatal("a settlement has no outcome")
		return nil
	}
}

var done = broker.Settlement{Fate: broker.FateDone}

func (s *seat) stamped(fate broker.Fate, attempt int) broker.Settlement {
	now := time.Now().UTC()
	c := &broker.Capture{
		ID: "capture", Attempt: attempt, Error: "no", FirstFailedAt: now, FailedAt: now, Origin: broker.Origin{Queue: s.queue},
	}
	if fate == broker.FatePark {
		c.Reason = broker.ReasonVerdict
	}
	return broker.Settlement{Fate: fate, Delay: time.Second, Capture: c}
}

// parked is the one message that is parked.
func (s *seat) parked() *broker.Stored {
	s.Helper()
	var list []*broker.Stored
	_, err := s.b.(broker.Sifter).Sift(ctx(s.T), s.queue+"-parked", broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			list = append(list, m)
			return broker.Action{}, nil
		})
	must(s.T, err)
	if len(list) != 1 {
		s.Fatalf("%d messages are parked", len(list))
	}
	return list[0]
}

var counting = kind{mode: driver.ModePull, policy: true}
