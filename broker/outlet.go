package broker

import "context"

// Outlets opens ways out to one destination each, for who publishes many
// messages and waits for none before the next. A broker that has none is
// published to with [Publisher].
type Outlets interface {
	// OpenOutlet opens a way out to an exchange (a topic, a stream), and proves
	// without publishing that it is there and that this user may write to it:
	// [ErrMissing] and [ErrPermission] otherwise. An empty destination is the
	// broker's default one, where it has one.
	//
	// It makes one try: the caller waits and tries again. notify is told
	// [NoticeBlocked] and [NoticeUnblocked] from the driver's goroutines, must
	// not block, and may be nil.
	OpenOutlet(ctx context.Context, destination string, notify func(Notice)) (Outlet, error)
}

// Outlet publishes to one destination. What goes wrong with a destination ends
// its own outlet and no other. All methods may be called concurrently.
type Outlet interface {
	// Publish hands m over and returns at once; m must not be changed before
	// done is called. Messages reach the broker in the order of the calls. The
	// caller bounds how many are under way.
	//
	// done is called exactly once, from a goroutine of the driver or of the
	// caller, and must not block. Its error is nil when the message was
	// confirmed and routed, and otherwise
	//
	//   - [ErrUnrouted], [ErrRefused] or [ErrConfig]: it is not stored, and the
	//     outlet goes on. ErrConfig is for a message that this broker cannot
	//     carry as it is.
	//   - [ErrMissing] or [ErrPermission]: it is not stored, and the outlet is
	//     over.
	//   - [ErrClosed]: the broker certainly did not take it.
	//   - [ErrUnknown]: it cannot be said whether it is stored.
	Publish(key string, m *Message, done func(error))

	// Done is closed when the outlet has ended, after every done was called.
	Done() <-chan struct{}

	// Err is nil until Done is closed and then the reason, [ErrClosed] after
	// Close.
	Err() error

	// Close waits for what is under way until ctx ends, then ends the outlet.
	// What is not confirmed by then is unknown. A second call returns nil.
	Close(ctx context.Context) error
}
