package membroker

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-mq/holdfast/broker"
)

// outlet publishes to one exchange. The server's lock guards it.
type outlet struct {
	broker   *Broker
	server   *server
	exchange string
	notify   func(broker.Notice)

	closing  bool          // nothing more is taken
	reason   error         // why it has ended
	waiting  []*parcel     // for the end of a block, in order
	underWay int           // messages whose done has not returned
	idle     chan struct{} // closed when nothing is under way; made by Close
	done     chan struct{}
}

// parcel is a message on its way.
type parcel struct {
	entry  *entry
	target broker.Target
	done   func(error)
}

// OpenOutlet implements [broker.Outlets]. An exchange is there as long as
// something is bound to it; of the one without a name the key is a queue.
func (b *Broker) OpenOutlet(ctx context.Context, destination string, notify func(broker.Notice)) (broker.Outlet, error) {
	b.server.lock()
	defer b.server.unlock()
	if err := b.usable(ctx); err != nil {
		return nil, err
	}
	o := &outlet{broker: b, server: b.server, exchange: destination, notify: notify, done: make(chan struct{})}
	if err := o.allowed(); err != nil {
		return nil, err
	}
	b.server.outlets = append(b.server.outlets, o)
	if reason := b.server.faults.blocked; reason != "" {
		o.tell(broker.NoticeBlocked, reason)
	}
	return o, nil
}

// allowed says what a broker says that is told to publish to the exchange.
func (o *outlet) allowed() error {
	switch {
	case slices.Contains(o.server.faults.forbidden, o.exchange):
		return fmt.Errorf("membroker: publishing to exchange %q is forbidden: %w", o.exchange, broker.ErrPermission)
	case !o.server.hasExchange(o.exchange):
		return fmt.Errorf("membroker: nothing is bound to exchange %q: %w", o.exchange, broker.ErrMissing)
	}
	return nil
}

func (o *outlet) tell(kind broker.NoticeKind, text string) {
	if o.notify != nil {
		o.server.later(func() { o.notify(broker.Notice{Kind: kind, Text: text}) })
	}
}

// Publish implements [broker.Outlet].
func (o *outlet) Publish(key string, m *broker.Message, done func(error)) {
	o.server.lock()
	defer o.server.unlock()
	if o.closing || o.reason != nil {
		o.server.later(func() { done(fmt.Errorf("membroker: publish to %q: %w", o.exchange, broker.ErrClosed)) })
		return
	}
	target := broker.Target{Exchange: o.exchange, Key: key}
	p := &parcel{entry: newEntry(m, target), target: target, done: done}
	o.underWay++
	if o.server.faults.blocked != "" {
		o.waiting = append(o.waiting, p)
		return
	}
	o.carryOut(p)
}

// carryOut publishes. What is wrong with the destination ends the outlet, and
// so does a lost confirm, which a lost connection is the usual reason for.
func (o *outlet) carryOut(p *parcel) {
	err := o.allowed()
	over := err != nil
	if err == nil {
		err = o.server.store(p.entry, p.target)
		over = errors.Is(err, broker.ErrUnknown)
	}
	o.answer(p, err)
	if over {
		o.end(err)
	}
}

// answer calls done once the lock is free.
func (o *outlet) answer(p *parcel, err error) {
	o.server.later(func() {
		p.done(err)
		o.server.lock()
		defer o.server.unlock()
		o.underWay--
		o.settled()
	})
}

// settled tells those who wait for the last outcome.
func (o *outlet) settled() {
	if o.underWay > 0 {
		return
	}
	if o.idle != nil {
		close(o.idle)
		o.idle = nil
	}
	if o.reason != nil {
		close(o.done)
	}
}

// resume carries out what waited for the end of a block.
func (o *outlet) resume() {
	for len(o.waiting) > 0 {
		p := o.waiting[0]
		o.waiting = o.waiting[1:]
		o.carryOut(p)
	}
}

// end ends the outlet. What waited was never published.
func (o *outlet) end(reason error) {
	if o.reason != nil {
		return
	}
	o.reason = reason
	o.server.outlets = slices.DeleteFunc(o.server.outlets, func(other *outlet) bool { return other == o })
	for _, p := range o.waiting {
		o.answer(p, fmt.Errorf("membroker: publish to %q: %w", o.exchange, broker.ErrClosed))
	}
	o.waiting = nil
	o.settled()
}

// Done implements [broker.Outlet].
func (o *outlet) Done() <-chan struct{} { return o.done }

// Err implements [broker.Outlet].
func (o *outlet) Err() error {
	select {
	case <-o.done:
		return o.reason
	default:
		return nil
	}
}

// Close implements [broker.Outlet]. It returns an error when something was cut
// off.
func (o *outlet) Close(ctx context.Context) error {
	idle := o.close()
	select {
	case <-idle:
	case <-o.done:
	case <-ctx.Done():
	}
	cut := o.endClosed()
	<-o.done
	if cut > 0 {
		return fmt.Errorf("membroker: %d messages were cut off: %w", cut, context.Cause(ctx))
	}
	return nil
}

// close takes no more messages, and returns what is closed when none is under
// way.
func (o *outlet) close() <-chan struct{} {
	o.server.lock()
	defer o.server.unlock()
	o.closing = true
	if o.idle == nil {
		o.idle = make(chan struct{})
	}
	idle := o.idle
	if o.reason == nil {
		o.settled()
	}
	return idle
}

// endClosed ends the outlet, and returns how many messages waited.
func (o *outlet) endClosed() int {
	o.server.lock()
	defer o.server.unlock()
	cut := len(o.waiting)
	o.end(broker.ErrClosed)
	return cut
}

func (s *server) outletsOf(which func(*outlet) bool) []*outlet {
	var found []*outlet
	for _, o := range s.outlets {
		if which(o) {
			found = append(found, o)
		}
	}
	return found
}
