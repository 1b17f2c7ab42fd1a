package outbox

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// fakeBroker has outlets that do what a test scripts. Each answer takes a
// millisecond.
type fakeBroker struct {
	broker.Publisher

	mu     sync.Mutex
	sent   []sent
	opened map[string]int
	live   map[*fakeOutlet]bool

	// open is asked for each opening, answer for each publication; nil
	// succeeds. hang is asked first and lets a publication have no answer until
	// its outlet ends.
	open   func(destination string) error
	answer func(s sent) error
	hang   func(s sent) bool
}

type sent struct {
	destination, key, id, body, repeat string
	at                                 time.Time
	message                            *broker.Message
}

func newFakeBroker() *fakeBroker {
	return &fakeBroker{opened: map[string]int{}, live: map[*fakeOutlet]bool{}}
}

type fakeOutlet struct {
	broker      *fakeBroker
	destination string
	notify      func(broker.Notice)
	under       sync.WaitGroup

	mu   sync.Mutex
	err  error
	gone chan struct{} // closed when it begins to end
	done chan struct{}
}

func (b *fakeBroker) OpenOutlet(ctx context.Context, destination string, notify func(broker.Notice)) (broker.Outlet, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.opened[destination]++
	if b.open != nil {
		if err := b.open(destination); err != nil {
			return nil, err
		}
	}
	o := &fakeOutlet{broker: b, destination: destination, notify: notify, gone: make(chan struct{}), done: make(chan struct{})}
	b.live[o] = true
	return o, ctx.Err()
}

func (o *fakeOutlet) Publish(key string, m *broker.Message, done func(error)) {
	o.mu.Lock()
	over := o.err != nil
	if !over {
		o.under.Add(1)
	}
	o.mu.Unlock()
	if over {
		done(broker.ErrClosed)
		return
	}
	s := sent{destination: o.destination, key: key, id: m.ID, body: string(m.Body), at: time.Now(), message: m}
	s.repeat, _ = m.Headers[broker.HeaderOutboxRepeat].(string)
	b := o.broker
	b.mu.Lock()
	b.sent = append(b.sent, s)
	answer, hang := b.answer, b.hang
	b.mu.Unlock()
	go func() {
		defer o.under.Done()
		if hang != nil && hang(s) {
			<-o.gone
			done(broker.ErrUnknown)
			return
		}
		time.Sleep(time.Millisecond) // of fake time, in which all who use it run
		if answer != nil {
			done(answer(s))
			return
		}
		done(nil)
	}()
}

func (o *fakeOutlet) end(err error) {
	o.mu.Lock()
	first := o.err == nil
	if first {
		o.err = err
		close(o.gone)
	}
	o.mu.Unlock()
	if first {
		o.broker.mu.Lock()
		delete(o.broker.live, o)
		o.broker.mu.Unlock()
		o.under.Wait()
		close(o.done)
	}
}

func (o *fakeOutlet) Done() <-chan struct{} { return o.done }

func (o *fakeOutlet) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

func (o *fakeOutlet) Close(ctx context.Context) error {
	finished := make(chan struct{})
	go func() { o.under.Wait(); close(finished) }()
	select {
	case <-finished:
	case <-ctx.Done():
	}
	o.end(broker.ErrClosed)
	<-finished
	return nil
}

// cut ends all outlets, as a lost connection does.
func (b *fakeBroker) cut(err error) {
	for _, o := range b.outlets() {
		o.end(err)
	}
}

func (b *fakeBroker) outlets() (all []*fakeOutlet) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for o := range b.live {
		all = append(all, o)
	}
	return all
}

func (b *fakeBroker) notifyAll(n broker.Notice) {
	for _, o := range b.outlets() {
		o.notify(n)
	}
}

// script changes what the broker does.
func (b *fakeBroker) script(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *fakeBroker) log() []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]sent(nil), b.sent...)
}

// bodies are what was published under keys with that prefix, in order.
func (b *fakeBroker) bodies(key string) (bodies []string) {
	for _, s := range b.log() {
		if strings.HasPrefix(s.key, key) {
			bodies = append(bodies, s.body)
		}
	}
	return bodies
}
