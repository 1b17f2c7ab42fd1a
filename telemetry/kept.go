package telemetry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	// askTimeout bounds one question to a database.
	askTimeout = 10 * time.Second

	// patience is how long a collection waits for the answer: what else there is
	// to tell must not be late for it.
	patience = time.Second

	// oldest is from when on an answer is none: numbers of a database that does
	// not answer any more would look like good ones.
	oldest = 2 * time.Minute
)

// errSlow says that a database has not answered yet, or not for long.
var errSlow = errors.New("telemetry: no answer yet")

// kept is what a database told, told again for a while: collections are often,
// and a database that does not answer is asked once in that time, too. It is
// asked because of a collection, and not all the time: nobody asks for numbers
// that nobody collects.
type kept[T any] struct {
	ask   func(context.Context) (T, error)
	under *underway

	mu     sync.Mutex
	at     time.Time // when the answer came
	value  T
	err    error
	asking chan struct{} // closed when the answer has come; nil while nothing is asked
}

// get returns the answer that is there, after it has waited a little for a fresh
// one.
func (k *kept[T]) get(ctx context.Context, fresh time.Duration) (T, error) {
	k.mu.Lock()
	if !k.at.IsZero() && time.Since(k.at) < fresh {
		defer k.mu.Unlock()
		return k.value, k.err
	}
	if k.asking == nil {
		k.begin()
	}
	asking := k.asking
	k.mu.Unlock()

	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case <-asking:
	case <-late.C:
	case <-ctx.Done():
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.at.IsZero() || time.Since(k.at) > oldest {
		return k.value, errSlow
	}
	return k.value, k.err
}

// begin asks. The caller has the lock.
func (k *kept[T]) begin() {
	asking := make(chan struct{})
	if k.under.start(func(ctx context.Context) {
		value, err := k.call(ctx)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.value, k.err, k.at, k.asking = value, err, time.Now(), nil
		close(asking)
	}) {
		k.asking = asking
		return
	}
	close(asking) // it is the end: nothing is asked any more
	k.asking = asking
}

func (k *kept[T]) call(ctx context.Context) (value T, err error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("telemetry: a store panicked: %v", v)
		}
	}()
	return k.ask(ctx)
}

// underway are the questions that are being asked.
type underway struct {
	mu    sync.Mutex
	ended bool
	work  context.Context
	cut   context.CancelFunc
	all   sync.WaitGroup
}

func newUnderway() *underway {
	u := &underway{}
	u.work, u.cut = context.WithCancel(context.Background())
	return u
}

// start runs f, unless it is the end.
func (u *underway) start(f func(context.Context)) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ended {
		return false
	}
	u.all.Go(func() { f(u.work) })
	return true
}

// end cuts off what is asked and waits for it.
func (u *underway) end() {
	u.mu.Lock()
	u.ended = true
	u.mu.Unlock()
	u.cut()
	u.all.Wait()
}
