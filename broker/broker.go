package broker

import (
	"context"
	"time"
)

// Broker opens sessions on the queues of one message broker. It may be used
// from many goroutines at once, and its sessions share its connections.
type Broker interface {
	// Open attaches to the source queue and makes everything ready that the
	// failure path of the subscription needs, before the first delivery can
	// arrive and after the source itself was found. It delivers nothing until
	// [Session.Consume].
	//
	// Open makes one try: the caller waits and tries again. The error says by
	// its class ([ErrUnreachable], [ErrCredentials], [ErrPermission],
	// [ErrMismatch], [ErrMissing]) what failed and by its text what to do.
	Open(ctx context.Context, sub Subscription) (Session, error)

	// Close ends all sessions and connections. Deliveries that are not settled
	// go back to the broker. A second call returns nil.
	Close() error
}

// Subscription is what a consumer needs of a queue and of its failure path.
type Subscription struct {
	// Queue is the source queue. Its declaration is never touched.
	Queue string

	// Rungs are the distinct delays of the consumer's ladder. A settlement
	// with [FateDelay] names one of them.
	Rungs []time.Duration

	// Hold is how long a held message waits before it comes back by itself.
	Hold time.Duration

	// Replies says that settlements may carry a [Reply].
	Replies bool

	// Name is shown to operators beside the consumer, where the broker shows
	// one. Empty means the driver's choice.
	Name string

	// Notify is told what happens to the session outside of any settlement.
	// It is called from the driver's goroutines, must not block, and may be
	// nil.
	Notify func(Notice)
}

// Session is one attachment to one source queue. When it ends for a reason of
// its own, Done is closed, Receive returns the reason, and every delivery
// that is not settled goes back to the broker.
//
// All methods may be called concurrently.
type Session interface {
	// Capabilities says what this broker can do for this source.
	Capabilities() Capabilities

	// Consume starts the flow of deliveries with at most prefetch unsettled
	// ones. It is called on a session that is new or paused; what was
	// delivered before a pause still counts for nothing but itself.
	Consume(ctx context.Context, prefetch int) error

	// Pause stops the flow: the broker sends no more. What it had sent is
	// still to be received, and what was received can still be settled. Pause
	// on a paused session does nothing.
	Pause(ctx context.Context) error

	// Receive returns the next delivery. On a paused session it returns
	// [ErrPaused] once everything the broker had sent was received. After the
	// end of the session it returns the reason ([Session.Err]), also when
	// deliveries were still unread: the broker has taken those back.
	Receive(ctx context.Context) (Delivery, error)

	// TryReceive returns a delivery that the broker has sent already, and
	// false when there is none at hand, also when the session is over. It lets
	// the core look at what it holds before it runs any of it.
	TryReceive() (Delivery, bool)

	// Probe asks the broker whether this session is really attached to its
	// queue: connected is not consuming. It returns [ErrDetached] when it is
	// not, and any other error when the answer could not be had.
	Probe(ctx context.Context) error

	// Done is closed when the session has ended.
	Done() <-chan struct{}

	// Err is nil until Done is closed and then the reason, [ErrClosed] after
	// Close.
	Err() error

	// Close pauses, waits until the settlements that were handed over are
	// carried out or ctx ends, gives back what is not settled in the way that
	// this broker charges least, and ends the session. It returns an error
	// when a settlement was cut off. A second call returns nil.
	Close(ctx context.Context) error
}

// Delivery is one handing-over of a message by the broker.
type Delivery interface {
	// Message is the message as it was published, with Attempt and Lap as the
	// capture has them. The pointer is the delivery's own; body and headers
	// must not be changed, since copies are made from them.
	Message() *Message

	// Facts is what the driver knows of this delivery.
	Facts() Facts

	// Settle carries out s, then calls done exactly once with the outcome.
	// It returns at once, except for back-pressure while the driver has all
	// the work in flight that it may have. done is called from a goroutine of
	// the driver (or from the caller's) and must not block.
	//
	// done(nil) means that the fate is durable and that the broker was told
	// to forget the delivery. Otherwise the error is
	//
	//   - [ErrSettled]: this delivery was settled before; nothing was done.
	//   - [ErrRefused]: the broker refused the copy. The delivery is still
	//     open and may be settled again.
	//   - [ErrUnrouted]: no queue took the copy. The delivery is still open
	//     and may be settled again, but only a new session makes the missing
	//     place again.
	//   - [ErrUnsupported]: the session does not declare what s asks. The
	//     delivery is still open.
	//   - [ErrUnknown]: it cannot be said whether the copy was stored. The
	//     session is over and the broker redelivers: a duplicate is possible,
	//     a loss is not.
	//   - [ErrClosed]: the session is over. Nothing was published; the broker
	//     redelivers.
	Settle(s Settlement, done func(error))
}
