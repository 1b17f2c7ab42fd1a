package broker

import "context"

// Sifter goes through messages that wait in a queue, one by one and in order,
// and keeps, copies or removes each as it is told. Replay, browse, discard,
// export, answer and the early end of a hold are all this one operation with
// another pick.
type Sifter interface {
	// Depth counts what waits in queue. A missing queue is [ErrMissing].
	Depth(ctx context.Context, queue string) (Depth, error)

	// Sift takes up to opts.Limit messages from the head of queue and asks
	// pick, from one goroutine and in order, what to do with each. pick may
	// block, to pace the work. An error of pick ends the sift as VerbStop does
	// and is returned.
	//
	// A copy is published, confirmed and routed before the original is
	// removed: killed at any point, a message is in its queue or where it was
	// copied to, or in both. What is kept is given back in order, in the way
	// that this broker and this queue charge least. The first copy that fails
	// ends the sift with its error ([ErrUnrouted], [ErrRefused],
	// [ErrUnknown]); its original stays.
	//
	// The end of ctx ends the sift: copies on their way are waited for, within
	// bounds. The counts returned are right in every case.
	Sift(ctx context.Context, queue string, opts SiftOptions, pick func(context.Context, *Stored) (Action, error)) (Sifted, error)
}

// SiftOptions bounds a sift.
type SiftOptions struct {
	// Limit is the most messages to take; 0 means as many as waited when the
	// sift began, so that what arrives later is not swept along.
	Limit int

	// Settled is told after each message how far the sift is; it may be nil
	// and must not block.
	Settled func(Sifted)
}

// Depth is how many messages wait in a queue, and who consumes it.
type Depth struct {
	Messages  int
	Consumers int

	// Charge is a sentence for people when looking at the messages of this
	// queue has a price (a count that goes up towards a limit, an order that
	// changes), and empty when it has none.
	Charge string
}

// Stored is a message that waits in a queue.
type Stored struct {
	// Message is what was stored. Origin, Attempt and Lap are the capture's;
	// without one, Origin is read from what the broker recorded when it
	// dead-lettered the message, if it did, and from the message otherwise.
	Message *Message

	// Queue is where it waits, Position its place, counted from 0.
	Queue    string
	Position int

	// Capture is the valid capture it carries, or nil, and CaptureErr why a
	// capture that is there does not validate.
	Capture    *Capture
	CaptureErr error

	// DeadLettered says that the broker moved the message here by itself, and
	// why, in the broker's own word. Empty when it did not.
	DeadLettered string
}

// Verb is what to do with a stored message. The set is closed.
type Verb uint8

// The verbs. The zero Verb keeps.
const (
	// VerbKeep leaves the message where it is.
	VerbKeep Verb = iota

	// VerbCopy publishes a copy to Action.Target and then removes the message.
	VerbCopy

	// VerbReply publishes Action.Reply to the message's ReplyTo with its
	// correlation id and then removes the message.
	VerbReply

	// VerbDrop removes the message.
	VerbDrop

	// VerbStop leaves this message and all after it and ends the sift.
	VerbStop
)

// Action is the answer of a sift's pick.
type Action struct {
	Verb   Verb
	Target Target

	// Fresh strips from the copy all that failure added: the capture, the
	// broker's dead-letter record and counters, and the keys of foreign
	// libraries. Without it the copy keeps its capture and goes on where it
	// was.
	Fresh bool

	// Stamp is added to the copy's headers after the strip.
	Stamp map[string]any

	Reply *Reply
}

// Target is where a copy goes.
type Target struct {
	// Queue sends the copy to this queue alone, whatever else is bound to the
	// exchange it came from. Exchange is then not used. The delivery shows Key
	// as its routing key.
	Queue string

	// Exchange and Key publish as a producer would. Every queue that is bound
	// there gets the copy.
	Exchange string
	Key      string
}

// Sifted counts what a sift has done.
type Sifted struct {
	Seen    int // asked about
	Kept    int // left where they were
	Copied  int // copied and removed
	Replied int // answered and removed
	Dropped int // removed
}

// Publisher publishes messages of the caller's own: confirmed and routed, or
// an error of the classes that [Sifter] names.
type Publisher interface {
	Publish(ctx context.Context, target Target, m *Message) error
}

// Places names where the messages of a queue wait. The names are a driver's,
// and this is how a tool learns them.
type Places interface {
	// ParkedPlace is where the messages of queue are parked, and whether other
	// queues park there, too.
	ParkedPlace(queue string) (name string, shared bool)

	// HoldPlace is where the held messages of queue wait.
	HoldPlace(queue string) string
}
