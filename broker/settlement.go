package broker

import "time"

// Fate is what becomes of a delivery. The set is closed.
type Fate uint8

// The fates. Each is durable before the delivery is acknowledged.
const (
	// FateDone: the handler succeeded. Acknowledge, after the reply if there
	// is one.
	FateDone Fate = iota + 1

	// FateDelay: a copy with the capture waits for Settlement.Delay outside
	// the process and returns to the source queue by itself; or, where the
	// broker counts attempts, the message itself is released for so long.
	FateDelay

	// FateHold: a copy with the capture waits for Subscription.Hold and
	// returns to the source queue by itself.
	FateHold

	// FatePark: a copy with the capture is kept for a human.
	FatePark

	// FateDiscard: acknowledge and keep nothing.
	FateDiscard

	// FateRelease: give the delivery back to the broker. Without a capture the
	// delivery itself goes back. With one, a copy that carries it goes to the
	// source queue and the delivery is acknowledged: the stamp is kept and
	// nothing is charged, at the price of the message's place in the queue.
	FateRelease
)

var fateNames = [...]string{"", "done", "delayed", "held", "parked", "discarded", "released"}

// String returns the fate as the books call it: done, delayed, held, parked,
// discarded or released.
func (f Fate) String() string {
	if int(f) < len(fateNames) {
		return fateNames[f]
	}
	return ""
}

// Settlement is the one thing that a driver carries out for a delivery.
type Settlement struct {
	Fate Fate

	// Delay is the rung of FateDelay: one of Subscription.Rungs.
	Delay time.Duration

	// Capture rides on the copy of FateDelay, FateHold and FatePark, and of a
	// stamped FateRelease. The driver does not keep it.
	Capture *Capture

	// Reply is published to the message's ReplyTo before the delivery of
	// FateDone is acknowledged. A reply that nobody waits for any more is told
	// to Subscription.Notify as [NoticeReplyUnrouted], and the delivery is done.
	Reply *Reply
}

// Reply is a responder's answer. The driver takes the address and the
// correlation id from the request.
type Reply struct {
	Body        []byte
	Headers     map[string]any
	ContentType string
	Type        string
}

// NoticeKind is what a [Notice] is about. The set is closed.
type NoticeKind uint8

// The notices.
const (
	// NoticeBlocked: the broker does not accept publishes for now. Deliveries
	// and acknowledgements go on; copies wait. Text is the broker's reason.
	NoticeBlocked NoticeKind = iota + 1

	// NoticeUnblocked: publishing goes on.
	NoticeUnblocked

	// NoticeReplyUnrouted: the caller of a request is gone; its reply was
	// dropped. Text is the reply address.
	NoticeReplyUnrouted

	// NoticeReturned: a held message is back in its source queue. Text is the
	// capture id.
	NoticeReturned

	// NoticeWarning: something that an operator should mend, in Text.
	NoticeWarning
)

// Notice is something that happened to a session outside of a settlement.
type Notice struct {
	Kind NoticeKind
	Text string
}

// Capabilities is what a broker can do for one source. The suite tests both
// directions: what is declared works, and what is not declared returns
// [ErrUnsupported].
type Capabilities struct {
	// Broker is the product and version, for people: "RabbitMQ 4.3.6".
	Broker string

	// Delay: [FateDelay] works.
	Delay bool

	// Hold: [FateHold] works for this source. A source that may be gone when
	// the hold ends has no hold.
	Hold bool

	// Replies: [Settlement.Reply] works.
	Replies bool

	// Stamp: [FateRelease] with a capture works.
	Stamp bool

	// FreeRelease: [FateRelease] without a capture charges no crash.
	FreeRelease bool

	// Counts: the broker counts the deliveries of a message, so that
	// Facts.Unstamped is false for its redeliveries.
	Counts bool

	// Attempts: the broker's own counter is the attempt. A retry is then a
	// release that the broker delays, not a copy: Facts.Crashes is 0, every
	// delivery that ends without a settlement spends an attempt, and the
	// capture of [FateDelay] is not kept, except that a NotBefore later than
	// the delay is waited for.
	Attempts bool

	// Exact: the counter is right on every delivery. An approximate one may
	// show more deliveries than there were, so that a budget acts early.
	Exact bool

	// NativeLimit is after how many deliveries the broker takes a message away
	// by itself; 0 where there is no such limit or the driver cannot see it.
	NativeLimit int

	// Unenforceable says why no budget can be kept for this source, for
	// people; empty when it can.
	Unenforceable string

	// MaxHeaders is the size in bytes that headers may have on a copy that
	// takes a rung or a hold; 0 where the driver knows no limit.
	MaxHeaders int
}
