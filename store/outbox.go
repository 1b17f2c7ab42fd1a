package store

import (
	"context"
	"time"
)

// Lanes is how many lanes an outbox has. A row's lane is made of its ordering
// key, so that the rows of one key are in one lane, and a lane is published by
// one relay at a time. More relays than lanes would have nothing to do.
const Lanes = 64

// MaxKeys is the most routing keys that one row may have.
const MaxKeys = 16

// State is what has become of a row of the outbox. The set is closed.
type State string

// The states.
const (
	// Pending: committed by its producer, and not claimed.
	Pending State = "pending"

	// Publishing: a relay has claimed it. After a crash of that relay nobody
	// can say whether it was published.
	Publishing State = "publishing"

	// Published: confirmed and routed, under every one of its keys.
	Published State = "published"

	// Failed: it will not be published until a person says so. Class and
	// Error say why.
	Failed State = "failed"
)

// Class is what kind of failure a row has met last. The set is closed: a
// confirm that did not come, a refused permission and a lost connection are
// three incidents.
type Class string

// The classes.
const (
	ClassNone       Class = ""
	ClassUnrouted   Class = "unrouted"   // confirmed, and no queue took it
	ClassMissing    Class = "missing"    // the destination does not exist
	ClassPermission Class = "permission" // the broker does not let this relay write there
	ClassRefused    Class = "refused"    // the broker refused this message
	ClassInvalid    Class = "invalid"    // this broker cannot carry the message as it is
	ClassUnknown    Class = "unknown"    // it cannot be said whether the broker has it
)

// Entry is what a producer adds to an outbox.
type Entry struct {
	// ID is a UUID in its canonical form. It is the message's id at the
	// broker.
	ID string

	// Lane is 0 to [Lanes]-1.
	Lane int

	// Destination is the exchange, topic or stream; empty where the broker
	// needs none.
	Destination string

	// Keys are the routing keys to publish under, at least one and at most
	// [MaxKeys]; the first names the row to people.
	Keys []string

	// OrderingKey keeps rows of the same destination in order; empty for rows
	// that have none.
	OrderingKey string

	// Type is the event's type, with its version where it has one.
	Type string

	// ContentType says how Payload is to be read.
	ContentType string

	// Headers are text, which every broker carries.
	Headers map[string]string

	// Payload is kept byte for byte.
	Payload []byte

	// NotBefore is when it may be published at the earliest; zero for at once.
	NotBefore time.Time
}

// Row is an entry in the outbox, with what became of it.
type Row struct {
	Entry

	// Seq orders the rows of a lane: a row that was added after another one
	// was committed has a higher one.
	Seq int64

	State State

	// CreatedAt is when the row was written; PublishingSince when it was last
	// claimed, and PublishedAt when its outcome was recorded. Zero when it was
	// not.
	CreatedAt       time.Time
	PublishingSince time.Time
	PublishedAt     time.Time

	// Relay and Token are who claimed it last, and under which lease.
	Relay string
	Token int64

	// Confirmed has a bit for each of Keys that was confirmed and routed, the
	// first in the lowest: a repetition publishes only what is missing.
	Confirmed uint32

	// Refusals is how often the broker refused it, Unknowns how often a
	// publication of it ended without an answer. Each of the latter may have
	// been stored: what is published after it is a marked repetition.
	Refusals int
	Unknowns int

	// Class and Error are the last failure, ErrorAt when.
	Class   Class
	Error   string
	ErrorAt time.Time
}

// OutboxTx is the caller's transaction, as an outbox writes to it.
type OutboxTx interface {
	// AddOutbox writes the entries with one statement and one round trip. It
	// neither commits nor wakes a relay before the commit. What can never be
	// kept is [ErrConfig] before anything is sent, so that the transaction goes
	// on: an id, a lane or a number of keys that is none, text that is not
	// UTF-8 or has a zero byte.
	AddOutbox(ctx context.Context, entries []Entry) error
}

// Relay is one relay at work, as all of them see it.
type Relay struct {
	// ID is of this start of the process alone; Name is for people.
	ID   string
	Name string

	// Beat changes with each [Outbox.Beat] of that relay.
	Beat int64

	// Settings is a text that two relays of the same settings share.
	Settings string

	// Idle says that it has found nothing to do and waits to be woken.
	Idle bool

	// SeenAt is when it last beat, by the database's clock, for people.
	SeenAt time.Time
}

// Lease is who may publish a lane. Each time that it changes hands its token
// grows.
type Lease struct {
	Lane  int
	Relay string // id; empty for nobody
	Token int64
}

// Standing is the relays and the leases of all lanes at one moment.
type Standing struct {
	Relays []Relay
	Leases []Lease
}

// Claim is what a relay takes of one lane.
type Claim struct {
	Lane  int
	Relay string
	Token int64
	Limit int

	// Skip are destinations to leave alone for now.
	Skip []string

	// Leave are the destinations of which a row whose earlier claim ended
	// without an outcome is left for a human; all others are claimed again.
	// LeaveAll leaves all of them, and Leave then names the exceptions.
	Leave    []string
	LeaveAll bool
}

// Outcome is what a relay records of a row that it has claimed.
type Outcome struct {
	ID string

	// State is Published, Failed, Pending (to be claimed again) or Publishing
	// (unknown, left for a human: the row stays as it is and keeps the class
	// and the error).
	State State

	// Confirmed is the row's new mask.
	Confirmed uint32

	// Refused adds one to the row's refusals, Unknown one to its unknowns.
	Refused bool
	Unknown bool

	// Class and Error say why. Of Error any bytes are taken; what is no text is
	// replaced.
	Class Class
	Error string

	// Wait keeps a pending row from being claimed for so long.
	Wait time.Duration
}

// Outbox is the table of a relay, a reaper and an operator. It is safe for
// concurrent use.
type Outbox interface {
	// Check proves that the tables are what the migrations make, and that this
	// user may do with them what a relay does. It returns [ErrSchema] or
	// [ErrRefused].
	Check(ctx context.Context) error

	// Beat writes that the relay is there, adding one to its Beat (a new one is
	// added), and returns all relays and leases.
	//
	// Whether another relay is dead is the caller's judgement, by its own
	// monotonic clock: dead is one whose Beat did not change for the length of
	// a lease. So no step of any clock makes two relays publish one lane.
	Beat(ctx context.Context, self Relay) (Standing, error)

	// Take takes the leases that are still as given and returns those that
	// were taken, with the token that each has now. Two who take one get it
	// once.
	Take(ctx context.Context, relay string, seen []Lease) ([]Lease, error)

	// Yield gives up these leases if they are still the relay's, and with gone
	// removes the relay.
	Yield(ctx context.Context, relay string, held []Lease, gone bool) error

	// Forget removes relays that are dead and hold no lease.
	Forget(ctx context.Context, relays []string) error

	// Due names those of the lanes that have a row which could be claimed now.
	Due(ctx context.Context, c []Claim) (lanes []int, err error)

	// Claim moves up to Limit rows of one lane to Publishing, in the order of
	// Seq, and returns them in that order. These are rows that are pending and
	// may be published by now, and rows that another lease has claimed and
	// never recorded, unless they are to be left; of the latter Unknowns has
	// grown by one.
	//
	// No row is claimed past an earlier one of the same destination and
	// ordering key that is to be tried again later (Outcome.Wait) or is locked
	// by somebody. A row that failed, was left for a human or whose NotBefore
	// has not come holds nobody back. A lease that is no longer held claims
	// nothing, without an error.
	//
	// It is one short transaction. A row locked by another transaction is
	// skipped.
	Claim(ctx context.Context, c Claim) ([]Row, error)

	// Record writes outcomes of rows of one lane, in one short transaction, and
	// returns the ids that it wrote. A row that is not Publishing under this
	// token any more, or whose lane is not leased under it, is not written:
	// somebody else's word holds.
	Record(ctx context.Context, c Claim, outcomes []Outcome) (written []string, err error)

	// Wait returns when something may be there to claim, or after at most d. It
	// may return early, and may miss a commit: the caller polls.
	Wait(ctx context.Context, d time.Duration) error

	// Stuck returns up to limit rows that have been Publishing for longer than
	// age under a lease that is over, oldest first, and how many there are in
	// all, with or without a live lease. alive names the relays that are. A row
	// that was recorded as left for a human since it was claimed (ErrorAt is not
	// before PublishingSince) counts as one whose lease is over: its relay is
	// done with it, however long it keeps the lane.
	Stuck(ctx context.Context, age time.Duration, alive []string, limit int) (rows []Row, total int, err error)

	// Fail moves one row that is Publishing under that token to Failed, in a
	// transaction of its own whose statement is cut off after timeout. It
	// reports false when the row has moved.
	Fail(ctx context.Context, id string, token int64, class Class, text string, timeout time.Duration) (bool, error)

	// Status counts the rows.
	Status(ctx context.Context) (Status, error)

	// List returns rows in the order of Seq, without their payloads.
	List(ctx context.Context, f Filter) ([]Row, error)

	// Row returns one row, with its payload.
	Row(ctx context.Context, id string) (Row, error)

	// Rearm makes rows Pending again, with nothing confirmed or counted, and
	// returns how many. It takes rows that are Failed, and with f.State
	// Publishing such as are left for a human; never one that is under way under
	// a live lease of a relay in alive, and never a published one.
	Rearm(ctx context.Context, f Filter, alive []string) (int, error)

	// Prune removes up to limit rows that were published longer ago than age,
	// oldest first, in one transaction, and hands them to keep before it
	// commits; an error of keep removes nothing. keep may be nil.
	Prune(ctx context.Context, age time.Duration, limit int, keep func([]Row) error) (int, error)
}

// Filter selects rows. Its zero value selects all.
type Filter struct {
	IDs         []string
	State       State
	Destination string
	Class       Class
	Type        string

	// Before selects what was written longer ago than this.
	Before time.Duration

	// After goes on after the row of this Seq. Limit is the most rows to
	// return or change; 0 means 1,000.
	After int64
	Limit int
}

// Status is what an outbox holds.
type Status struct {
	Groups []Group

	// Blockers are open transactions that hold rows back.
	Blockers []Blocker

	// Relays and Leases are as of [Outbox.Beat], without a beat.
	Standing
}

// Group counts the rows of one state, destination and class of failure.
type Group struct {
	State       State
	Destination string
	Class       Class
	Count       int

	// Oldest is the age of the oldest: since it was written, or since it may
	// be published (a row of the future is not late); for one that is
	// Publishing since it was claimed.
	Oldest time.Duration
}

// Blocker is an open transaction of somebody that has touched the outbox.
type Blocker struct {
	PID         int
	User        string
	Application string
	State       string // the database's word, such as "idle in transaction"
	Age         time.Duration
	Query       string // its last statement, cut at 200 characters, without its values
}
