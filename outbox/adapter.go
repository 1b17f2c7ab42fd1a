package outbox

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-mq/holdfast/broker"
)

// publishersAtOnce is how many messages are under way at a broker that has no
// outlets.
const publishersAtOnce = 64

// adapter makes outlets of a publisher. It proves nothing when it opens one:
// what is missing shows by the first message.
type adapter struct{ to broker.Publisher }

func (a adapter) OpenOutlet(_ context.Context, destination string, _ func(broker.Notice)) (broker.Outlet, error) {
	ctx, cancel := context.WithCancel(context.Background())
	o := &adapted{
		to: a.to, destination: destination, ctx: ctx, cancel: cancel,
		slots: make(chan struct{}, publishersAtOnce), done: make(chan struct{}),
	}
	return o, nil
}

// adapted is an outlet over a publisher. Messages reach the broker in no order:
// the relay has one row of an ordering key under way.
type adapted struct {
	to          broker.Publisher
	destination string
	ctx         context.Context // ends what is under way
	cancel      context.CancelFunc
	slots       chan struct{}
	done        chan struct{}

	mu    sync.Mutex
	err   error // why it is over
	under sync.WaitGroup
}

func (o *adapted) Publish(key string, m *broker.Message, done func(error)) {
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
	go func() {
		defer o.under.Done()
		done(o.publish(key, m))
	}()
}

func (o *adapted) publish(key string, m *broker.Message) error {
	select {
	case o.slots <- struct{}{}:
		defer func() { <-o.slots }()
	case <-o.ctx.Done():
		return broker.ErrClosed
	}
	if o.isOver() {
		return broker.ErrClosed
	}
	err := o.to.Publish(o.ctx, broker.Target{Exchange: o.destination, Key: key}, m)
	if ends(err) {
		o.end(err)
	}
	return err
}

// ends reports whether an error is about the destination or the connection, so
// that what follows would meet it too.
func ends(err error) bool {
	for _, class := range []error{
		broker.ErrMissing, broker.ErrPermission, broker.ErrUnreachable, broker.ErrCredentials, broker.ErrClosed, broker.ErrUnknown,
	} {
		if errors.Is(err, class) {
			return true
		}
	}
	return false
}

// end lets nothing new in, and closes Done after the last one.
func (o *adapted) end(err error) {
	o.mu.Lock()
	first := o.err == nil
	if first {
		o.err = err
	}
	o.mu.Unlock()
	if first {
		go func() {
			o.under.Wait()
			o.cancel()
			close(o.done)
		}()
	}
}

// isOver reports whether the outlet takes no more.
func (o *adapted) isOver() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err != nil
}

func (o *adapted) Done() <-chan struct{} { return o.done }

func (o *adapted) Err() error {
	select {
	case <-o.done:
		o.mu.Lock()
		defer o.mu.Unlock()
		return o.err
	default:
		return nil
	}
}

func (o *adapted) Close(ctx context.Context) error {
	o.end(broker.ErrClosed)
	stop := context.AfterFunc(ctx, o.cancel)
	defer stop()
	<-o.done
	return nil
}
