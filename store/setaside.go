package store

import (
	"context"
	"time"
)

// Aside is a valid message that could not be applied when it came. Its
// delivery was acknowledged: this row is the only copy.
type Aside struct {
	// ID is a UUID of the row.
	ID string

	// Consumer is who set it aside, Queue where it came from.
	Consumer string
	Queue    string

	// Reason is the consumer's own word, such as "invalid_state"; Note is free
	// text.
	Reason string
	Note   string

	// The message as it was received, without the headers of a capture. Headers
	// are a JSON object of typed values, {"n": {"type": "int32", "value": 7}},
	// so that the message can be made again as it was.
	MessageID     string
	CorrelationID string
	Exchange      string
	Key           string
	Type          string
	ContentType   string
	Headers       []byte
	Payload       []byte

	// At is when it was set aside, by the database's clock.
	At time.Time

	// RedrivenAt is when it was last given back to work, Redrives how often.
	RedrivenAt time.Time
	Redrives   int
}

// SetAsideTx is the caller's transaction, as it sets a message aside.
type SetAsideTx interface {
	// PutAside writes the row, and takes back the inbox's record that this
	// consumer has handled the message: it has not, and what is given back to
	// work is no duplicate. The same message set aside again by the same
	// consumer for the same reason is one row, the first; messages without an
	// id are all kept.
	PutAside(ctx context.Context, a Aside) error
}

// SetAsides is what an operator asks of what was set aside. It is safe for
// concurrent use.
type SetAsides interface {
	// AsideReasons counts them by consumer, reason and type.
	AsideReasons(ctx context.Context) ([]AsideGroup, error)

	// Asides returns rows, oldest first, without their payloads.
	Asides(ctx context.Context, f AsideFilter) ([]Aside, error)

	// Aside returns one row with its payload, or [ErrNotFound].
	Aside(ctx context.Context, id string) (Aside, error)

	// Redrive locks one row, hands it to publish, and removes it when publish
	// returned nil, in one transaction. Killed in between, the message is
	// published and the row still there: a duplicate, never a loss. Where publish
	// fails the row stays, with one more of Redrives, and the error is returned.
	// It reports false when somebody else has the row or it is gone. publish must
	// not use the store.
	Redrive(ctx context.Context, id string, publish func(Aside) error) (bool, error)

	// DropAside removes one row, and reports false when it is gone.
	DropAside(ctx context.Context, id string) (bool, error)
}

// AsideFilter selects rows. Its zero value selects all.
type AsideFilter struct {
	IDs      []string
	Consumer string
	Reason   string
	Type     string

	// Before selects what was set aside longer ago than this.
	Before time.Duration

	// Limit is the most rows to return; 0 means 1,000.
	Limit int
}

// AsideGroup counts what one consumer has set aside for one reason.
type AsideGroup struct {
	Consumer string
	Reason   string
	Type     string
	Count    int
	Oldest   time.Duration
	Newest   time.Duration
}
