package broker

import (
	"context"
	"time"
)

// Surveyor is a driver that can tell what its broker knows of sources, without
// touching a message. What a broker cannot tell stays zero, and Unknown says
// so.
type Surveyor interface {
	// Survey looks at the given sources and at the parked places that belong to
	// them. A source that does not exist is in the result with its Err of class
	// [ErrMissing]. It returns an error only when nothing could be asked.
	Survey(ctx context.Context, queues []string) (Survey, error)
}

// Survey is what a broker tells of itself.
type Survey struct {
	Product string
	Sources []SourceSurvey

	// Trouble are faults of the broker as a whole, for people, each of another
	// thing that it begins with, as "stream ORDERS: it has no leader". Unknown
	// names what could not be had of it, and why.
	Trouble []string
	Unknown []string
}

// SourceSurvey is one queue, subscription or consumer with what it leads to.
type SourceSurvey struct {
	Queue string
	Err   error // why it could not be looked at

	// Ready are messages that wait, Unsettled those that were handed out.
	// Consumers is how many clients take messages, and -1 where the broker does
	// not tell.
	Ready     int
	Unsettled int
	Consumers int

	// Oldest is the age of the oldest that waits; 0 where it is not told.
	Oldest time.Duration

	// Stopped is why nothing is handed out although messages may wait, as that
	// its owner has paused it; empty where nothing stops it.
	Stopped string

	// Risks are what removes messages that nobody has had yet, or refuses new
	// ones, soon or already.
	Risks []string

	// Expires is after how long without a consumer the broker deletes the source
	// itself; 0 for never.
	Expires time.Duration

	// NativeLimit is after how many deliveries the broker takes a message away,
	// 0 for never, and Dead where it goes: empty is nowhere. DeadErr is why what
	// it takes away is lost, or cannot be read there. DeadBounds are rules of the
	// broker that will remove some of it there.
	NativeLimit int
	Dead        string
	DeadErr     error
	DeadBounds  []string

	// Stranded are messages that no consumer will ever get, by their number on
	// the broker.
	Stranded []string

	// Parked is how many messages the parked place has, and ParkedOldest the age
	// of the oldest; 0 where it is not told. ParkedBounds are rules of the broker
	// that will remove some of what is parked or held (age, size, number), and
	// ParkedErr why nothing can be parked or held: [ErrMismatch] or
	// [ErrPermission]. A place that is not there yet is no fault: the first
	// session makes it.
	Parked       int
	ParkedOldest time.Duration
	ParkedBounds []string
	ParkedErr    error

	// Retention is how long the broker keeps a message in the source, and
	// ParkedRetention in the parked place; 0 for ever.
	Retention       time.Duration
	ParkedRetention time.Duration

	// Unknown names what could not be had, and why.
	Unknown []string
}
