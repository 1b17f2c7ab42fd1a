package rabbitmq

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// fakeChannel is a broker's side of one channel: it knows what is delivered
// and settled, and what must not happen.
type fakeChannel struct {
	mu        sync.Mutex
	unsettled map[uint64]bool // delivered, and the broker was not told
	settled   map[uint64]bool // the application said so
	acked     map[uint64]int
	nacked    map[uint64]int
	frames    int
	faults    []string
	broken    bool
}

func newFakeChannel() *fakeChannel {
	return &fakeChannel{
		unsettled: map[uint64]bool{}, settled: map[uint64]bool{}, acked: map[uint64]int{}, nacked: map[uint64]int{},
	}
}

func (f *fakeChannel) fault(format string, args ...any) {
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

func (f *fakeChannel) Ack(tag uint64, multiple bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("broken")
	}
	f.frames++
	if !f.unsettled[tag] {
		f.fault("ack of %d, which the broker closes the channel for", tag)
	}
	for t := range f.unsettled {
		if t == tag || multiple && t < tag {
			if !f.settled[t] {
				f.fault("ack of %d, which is not settled, by %d", t, tag)
			}
			f.acked[t]++
			delete(f.unsettled, t)
		}
	}
	return nil
}

func (f *fakeChannel) Nack(tag uint64, _, _ bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.broken {
		return errors.New("broken")
	}
	f.frames++
	f.nacked[tag]++
	delete(f.unsettled, tag)
	return nil
}

func (f *fakeChannel) deliver(tag uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsettled[tag] = true
}

func (f *fakeChannel) settle(tag uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled[tag] = true
}

// outcome passes the outcome on, as a delivery does.
type outcome struct{}

func (outcome) settled(err error, done func(error)) { done(err) }

func unbounded() func() bool { return func() bool { return true } }

func startAcker(t *testing.T, ch tagged, fail func(error)) *acker {
	t.Helper()
	a := newAcker(ch, unbounded, fail)
	go a.run()
	return a
}

// TestAcker settles deliveries in random order, some of them by giving them
// back, and checks that each is told to the broker once and none too early.
func TestAcker(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				ch := newFakeChannel()
				a := startAcker(t, ch, func(err error) { t.Errorf("failed: %v", err) })
				prefetch := 1 + random.IntN(100)
				a.prefetch(prefetch)
				told := settleAll(t, random, ch, a, prefetch, 500)
				a.stop()
				for _, fault := range ch.faults {
					t.Error(fault)
				}
				for tag := uint64(1); tag <= 500; tag++ {
					if n := ch.acked[tag] + ch.nacked[tag]; n != 1 {
						t.Errorf("the broker was told %d times of %d", n, tag)
					}
				}
				if *told != 500 {
					t.Errorf("%d of 500 were done", *told)
				}
			})
		})
	}
}

func settleAll(t *testing.T, random *rand.Rand, ch *fakeChannel, a *acker, prefetch int, n uint64) *int {
	t.Helper()
	var mu sync.Mutex
	told := 0
	var open []uint64
	for next := uint64(1); next <= n || len(open) > 0; {
		if next <= n && len(open) < prefetch && random.IntN(3) > 0 {
			ch.deliver(next)
			open = append(open, next)
			next++
			continue
		}
		if len(open) == 0 {
			continue
		}
		i := random.IntN(len(open))
		tag := open[i]
		open = append(open[:i], open[i+1:]...)
		requeue := random.IntN(10) == 0
		if !requeue {
			ch.settle(tag)
		}
		a.settle(mark{tag: tag, requeue: requeue, told: outcome{}, done: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				t.Errorf("%d: %v", tag, err)
			}
			told++
		}})
	}
	return &told
}

func TestAckerCoalesces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ch := newFakeChannel()
		a := startAcker(t, ch, nil)
		a.prefetch(100)
		for tag := range uint64(20) {
			ch.deliver(tag + 1)
			ch.settle(tag + 1)
			a.settle(mark{tag: tag + 1, told: outcome{}, done: func(error) {}})
		}
		time.Sleep(2 * ackQuiet)
		synctest.Wait()
		if ch.frames != 1 || len(ch.acked) != 20 {
			t.Errorf("%d frames for %d acknowledgements", ch.frames, len(ch.acked))
		}
		a.stop()
	})
}

// A slow delivery must not keep those behind it from being acknowledged, and
// what is remembered of them must not grow.
func TestAckerPassesASlowOne(t *testing.T) {
	t.Parallel()
	ch := newFakeChannel()
	a := startAcker(t, ch, nil)
	a.prefetch(3)
	ch.deliver(1)
	for tag := uint64(2); tag < 10_000; tag++ {
		ch.deliver(tag)
		ch.settle(tag)
		done := make(chan error, 1)
		a.settle(mark{tag: tag, told: outcome{}, done: func(err error) { done <- err }})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	a.stop()
	if len(ch.acked) != 9_998 || len(a.open) != 1 || len(ch.faults) > 0 {
		t.Errorf("%d acknowledged, %d open, %v", len(ch.acked), len(a.open), ch.faults)
	}
}

func TestAckerThatCannotWrite(t *testing.T) {
	t.Parallel()
	ch := newFakeChannel()
	ch.broken = true
	failed := make(chan error, 2)
	a := startAcker(t, ch, func(err error) { failed <- err })
	for range 2 {
		done := make(chan error, 1)
		a.settle(mark{tag: 1, told: outcome{}, done: func(err error) { done <- err }})
		if err := <-done; !errors.Is(err, broker.ErrClosed) {
			t.Errorf("the outcome is %v", err)
		}
	}
	a.stop()
	if len(failed) != 1 {
		t.Errorf("the failure was told %d times", len(failed))
	}
	done := make(chan error, 1)
	a.settle(mark{tag: 2, told: outcome{}, done: func(err error) { done <- err }})
	if err := <-done; !errors.Is(err, broker.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
