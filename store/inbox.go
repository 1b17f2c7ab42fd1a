package store

import (
	"context"
	"time"
)

// Handled is a message that a consumer has handled.
type Handled struct {
	// Consumer and ID are the key: a message is handled once by each consumer.
	Consumer string
	ID       string

	// Replay is the id of the replay that brought it, where it was one.
	Replay string

	// At is when it was first recorded, by the database's clock.
	At time.Time

	// Duplicates is how often it came again.
	Duplicates int
}

// Mark is how far a consumer has come with one aggregate.
type Mark struct {
	// Time is the newest event's own time, of [InboxTx.Latest]; Sequence the
	// last number, of [InboxTx.Sequence].
	Time     time.Time
	Sequence int64

	// Stale and Gaps count what was skipped and what was missing.
	Stale int
	Gaps  int
}

// InboxTx is the caller's transaction, as an inbox writes to it.
type InboxTx interface {
	// RecordInbox notes that h.Consumer has handled h.ID. It returns true for
	// the first. When it was noted before, it counts a duplicate and returns
	// false and the first record. Where another transaction is just noting the
	// same, it waits for its end.
	RecordInbox(ctx context.Context, h Handled) (first bool, was Handled, err error)

	// ForgetInbox removes the record of one message, so that it is handled when
	// it comes again: nothing of it was applied. A record that is not there is
	// no error.
	ForgetInbox(ctx context.Context, consumer, id string) error

	// LockMark returns the mark of an aggregate, which no other transaction can
	// read for writing until this one ends, and whether there was one.
	LockMark(ctx context.Context, consumer, aggregate string) (Mark, bool, error)

	// SetMark writes it.
	SetMark(ctx context.Context, consumer, aggregate string, m Mark) error
}

// Inbox is the same in short transactions of the store's own, and what an
// operator asks of it. It is safe for concurrent use.
type Inbox interface {
	// WithInbox runs fn in a transaction and commits it if fn returns nil.
	WithInbox(ctx context.Context, fn func(InboxTx) error) error

	// Handled returns the record of one message, or [ErrNotFound].
	Handled(ctx context.Context, consumer, id string) (Handled, error)

	// Mark returns the mark of one aggregate, or [ErrNotFound].
	Mark(ctx context.Context, consumer, aggregate string) (Mark, error)

	// PruneInbox removes up to limit records of a consumer that are older than
	// age, oldest first, and returns how many.
	PruneInbox(ctx context.Context, consumer string, age time.Duration, limit int) (int, error)

	// Inboxes counts the records of each consumer.
	Inboxes(ctx context.Context) ([]InboxStatus, error)
}

// InboxStatus is what an inbox holds for one consumer.
type InboxStatus struct {
	Consumer   string
	Count      int
	Oldest     time.Duration
	Duplicates int
}
