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
	unsettled map[uint64]bool      // delivered, and the broker was not told
	settled   map[uint64]time.Time // when the application said so
	acked     map[uint64]int
	nacked    map[uint64]int
	frames    int
	faults    []string
	broken    bool
	late      time.Duration // how long an acknowledgement may take
}

func newFakeChannel() *fakeChannel {
	return &fakeChannel{
		unsettled: map[uint64]bool{}, settled: map[uint64]time.Time{}, acked: map[uint64]int{}, nacked: map[uint64]int{}, late: time.Hour,
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
			switch at, settled := f.settled[t]; {
			case !settled:
				f.fault("ack of %d, which is not settled, by %d", t, tag)
			case time.Since(at) > f.late:
				f.fault("ack of %d %v after it was settled", t, time.Since(at))
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

func (f *fakeChannel) IsClosed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.broken
}

func (f *fakeChannel) deliver(tag uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.unsettled[tag] = true
}

func (f *fakeChannel) settle(tag uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.settled[tag] = time.Now()
}

// passing passes the outcome on, as a delivery does.
type passing struct{}

func (passing) settled(err error, done func(error)) { done(err) }

func unbounded() func() bool { return func() bool { return true } }

func startAcker(t *testing.T, ch tagged, fail func(error)) *acker {
	t.Helper()
	a := newAcker(ch, unbounded, fail)
	go a.run()
	return a
}

// TestAcker settles deliveries in random order and at random times, some of
// them by giving them back, and checks that each is told to the broker once,
// none too early, none late, and that enough of the prefetch stays free.
func TestAcker(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				ch := newFakeChannel()
				ch.late = ackHold + 2*ackQuiet
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
		if random.IntN(10) == 0 {
			synctest.Wait()
			mu.Lock()
			waiting := int(next-1) - len(open) - told
			mu.Unlock()
			if waiting > prefetch/3 {
				t.Errorf("%d of a prefetch of %d are settled and wait", waiting, prefetch)
			}
			time.Sleep(time.Duration(random.IntN(3000)) * time.Microsecond)
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
		a.settle(mark{tag: tag, requeue: requeue, told: passing{}, done: func(err error) {
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
			a.settle(mark{tag: tag + 1, told: passing{}, done: func(error) {}})
		}
		time.Sleep(2 * ackQuiet)
		synctest.Wait()
		if ch.frames != 1 || len(ch.acked) != 20 {
			t.Errorf("%d frames for %d acknowledgements", ch.frames, len(ch.acked))
		}
		a.stop()
	})
}

// Handlers that run side by side finish out of order; one that is late by less
// than ackHold costs no acknowledgement of its own for those behind it.
func TestAckerWaitsForTheOneInFront(t *testing.T) {
	t.Parallel()
	for late, frames := range map[time.Duration]int{ackHold / 2: 1, 2 * ackHold: 20} {
		synctest.Test(t, func(t *testing.T) {
			ch := newFakeChannel()
			a := startAcker(t, ch, nil)
			a.prefetch(100)
			settle := func(tag uint64) {
				ch.settle(tag)
				a.settle(mark{tag: tag, told: passing{}, done: func(error) {}})
			}
			for tag := range uint64(20) {
				ch.deliver(tag + 1)
			}
			for tag := range uint64(19) {
				settle(tag + 2)
			}
			time.Sleep(late)
			settle(1)
			time.Sleep(2 * ackQuiet)
			synctest.Wait()
			if ch.frames != frames || len(ch.acked) != 20 {
				t.Errorf("%v late: %d frames for %d acknowledgements, want %d", late, ch.frames, len(ch.acked), frames)
			}
			a.stop()
		})
	}
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
		a.settle(mark{tag: tag, told: passing{}, done: func(err error) { done <- err }})
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	a.stop()
	if len(ch.acked) != 9_998 || len(a.open) != 1 || len(ch.faults) > 0 {
		t.Errorf("%d acknowledged, %d open, %v", len(ch.acked), len(a.open), ch.faults)
	}
}

// Only a close that would follow a burst waits, and none on a broken channel.
func TestAckerLingersAfterABurst(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frames int
		broken bool
		want   time.Duration
	}{
		"a few":            {ackBurst, false, 0},
		"a burst":          {ackBurst + 1, false, ackLinger},
		"a broken channel": {ackBurst + 1, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ch := newFakeChannel()
				a := startAcker(t, ch, func(error) {})
				for i := range uint64(c.frames) {
					ch.deliver(i + 1)
					ch.settle(i + 1)
					written := make(chan error, 1)
					a.settle(mark{tag: i + 1, told: passing{}, done: func(err error) { written <- err }})
					if err := <-written; err != nil {
						t.Fatal(err)
					}
				}
				ch.mu.Lock()
				ch.broken = c.broken
				ch.mu.Unlock()
				began := time.Now()
				if a.stop(); time.Since(began) != c.want {
					t.Errorf("it waited for %v, want %v", time.Since(began), c.want)
				}
			})
		})
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
		a.settle(mark{tag: 1, told: passing{}, done: func(err error) { done <- err }})
		if err := <-done; !errors.Is(err, broker.ErrClosed) {
			t.Errorf("the outcome is %v", err)
		}
	}
	a.stop()
	if len(failed) != 1 {
		t.Errorf("the failure was told %d times", len(failed))
	}
	done := make(chan error, 1)
	a.settle(mark{tag: 2, told: passing{}, done: func(err error) { done <- err }})
	if err := <-done; !errors.Is(err, broker.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}
