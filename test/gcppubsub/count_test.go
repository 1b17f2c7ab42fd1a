package gcppubsub

import (
	"errors"
	"testing"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	driver "github.com/holdfast-mq/holdfast/broker/gcppubsub"
	"github.com/holdfast-mq/holdfast/internal/testenv"
)

// A client of its own takes each delivery: the count is the broker's.
func TestCount_survives_a_restart_between_deliveries(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newQueue(t)
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	for attempt := 1; attempt <= 4; attempt++ {
		at := s.sit(t, queue, nil)
		d := at.receive()
		if m := d.Message(); m.Attempt != attempt || m.Redelivered != (attempt > 1) || d.Facts().Crashes != 0 {
			t.Errorf("delivery %d is attempt %d, redelivered %v, %+v", attempt, m.Attempt, m.Redelivered, d.Facts())
		}
		must(t, settle(t, d, at.stamped(broker.FateDelay, attempt+1)))
		must(t, at.b.Close())
	}
}

func TestCount_is_one_for_two_competing_consumers(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newQueue(t)
	seats := []*seat{s.sit(t, queue, nil), s.sit(t, queue, nil)}
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	for attempt := 1; attempt <= 6; attempt++ {
		d := <-either(t, seats)
		if d.Message().Attempt != attempt {
			t.Errorf("delivery %d is attempt %d", attempt, d.Message().Attempt)
		}
		must(t, settle(t, d, broker.Settlement{Fate: broker.FateRelease}))
	}
}

// either receives from whichever of the seats gets it.
func either(t *testing.T, seats []*seat) <-chan broker.Delivery {
	t.Helper()
	got := make(chan broker.Delivery, 1)
	testenv.Eventually(t, patience, "one of them receives it", func() bool {
		for _, at := range seats {
			if d, ok := at.session.TryReceive(); ok {
				got <- d
				return true
			}
		}
		return false
	})
	return got
}

// What has come back is counted on: the stamp, and what Pub/Sub counted on the
// copy since.
func TestCount_goes_on_after_a_hold(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	must(t, settle(t, at.receive(), at.stamped(broker.FateDelay, 2)))
	d := at.receive()
	held := at.stamped(broker.FateHold, d.Message().Attempt)
	held.Capture.Lap = 1
	must(t, settle(t, d, held))
	for attempt := 2; attempt <= 4; attempt++ {
		d := at.receive()
		if m := d.Message(); m.Attempt != attempt || m.Lap != 1 {
			t.Errorf("attempt %d, lap %d, and it should be attempt %d", m.Attempt, m.Lap, attempt)
		}
		must(t, settle(t, d, at.stamped(broker.FateDelay, attempt+1)))
	}
}

func TestDelay_beyond_the_longest_ack_deadline_is_cut_with_one_warning(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	long := at.stamped(broker.FateDelay, 2)
	long.Delay = 20 * time.Minute
	for range 2 {
		s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
		must(t, settle(t, at.receive(), long))
	}
	if n := at.warnings("20m0s", "10m0s"); n != 1 {
		t.Errorf("%d warnings", n)
	}
	at.quiet(100 * time.Millisecond)
}

func TestDelay_waits_until_the_handler_wants_to_see_it(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	later := at.stamped(broker.FateDelay, 2)
	later.Capture.NotBefore = time.Now().Add(2500 * time.Millisecond)
	must(t, settle(t, at.receive(), later))
	at.receive()
	if early := time.Until(later.Capture.NotBefore); early > 0 {
		t.Errorf("it came %v too early", early)
	}
}

func TestLease_is_kept_while_a_handler_runs(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), nil)
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	d := at.receive()
	s.sit(t, at.queue, nil).quiet(2 * ackDeadline * time.Second)
	must(t, settle(t, d, done))
}

// A handler that hangs does not keep its message for ever, and its settlement
// does not settle somebody else's delivery.
func TestLease_ends_at_its_bound(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	at := s.sit(t, s.newQueue(t), func(c *driver.Config) { c.MaxLease = time.Second })
	s.publish(t, at.queue, &broker.Message{Body: []byte("a")})
	first := at.receive()
	second := at.receive()
	if second.Message().Attempt != 2 {
		t.Errorf("attempt %d", second.Message().Attempt)
	}
	if err := settle(t, first, done); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("the first delivery settled with %v", err)
	}
	must(t, settle(t, second, done))
}

func TestLease_lapses_when_the_process_is_gone(t *testing.T) {
	t.Parallel()
	s := newStation(t, counting)
	queue := s.newQueue(t)
	victim := s.open(t)
	session, err := victim.Open(ctx(t), broker.Subscription{Queue: queue, Hold: time.Minute})
	must(t, err)
	must(t, session.Consume(ctx(t), 2))
	s.publish(t, queue, &broker.Message{Body: []byte("a")})
	_, err = session.Receive(ctx(t))
	must(t, err)
	s.cut(t, victim)
	<-session.Done()
	if m := s.sit(t, queue, nil).receive().Message(); m.Attempt != 2 {
		t.Errorf("attempt %d", m.Attempt)
	}
	must(t, victim.Close())
}
