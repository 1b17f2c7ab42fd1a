package triage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// Route is where replayed messages go. The set is closed.
type Route string

// The routes.
const (
	// RouteQueue sends a message to its own queue alone, under its original
	// key, whatever else is bound to the exchange it came from.
	RouteQueue Route = "queue"

	// RouteOrigin publishes it again as its producer did: every other
	// subscriber of that exchange gets it a second time, too.
	RouteOrigin Route = "origin"
)

// ReplayOptions says what to replay and where to.
type ReplayOptions struct {
	Bounds

	// Route is [RouteQueue] when empty.
	Route Route

	// Queue is where [RouteQueue] sends the messages. A message that is known
	// to belong to another queue is refused, unless Force is set.
	Queue string

	// Force sends to Queue whatever the messages say of their origin, or do
	// not say.
	Force bool

	// ID is stamped on every copy. Empty means a new one.
	ID string

	// RefuseKeys keeps messages with these original routing keys where they
	// are: those that carry a credential, which must not come to life again.
	// The key decides and never the body, since it must hold for a body that
	// cannot be read.
	RefuseKeys []Glob

	// Malformed also replays messages that were parked because their body
	// could not be decoded: after the decoder was mended. A capture that does
	// not validate is refused in any case.
	Malformed bool
}

// NewReplayID returns an id for one run of [Replay].
func NewReplayID() string { return strings.ToLower(rand.Text()) }

// Replay copies the picked messages back into work and removes each only after
// its copy was confirmed and routed. From the copies it strips all that the
// failure added, and stamps the id of this run and how often the message was
// replayed. Messages that must not be replayed are refused and stay.
//
// It returns the id, and what was done also with an error: of the broker for
// the first copy that failed, whose original stays, or of ctx.
func Replay(ctx context.Context, s broker.Sifter, p Place, o ReplayOptions) (string, Outcome, error) {
	if err := o.validate(); err != nil {
		return "", Outcome{}, err
	}
	outcome, err := newPass(p, o.Bounds, o.copy).run(ctx, s)
	return o.ID, outcome, err
}

// Rehearse counts what [Replay] would do, and does nothing: Moved is what
// would be replayed. would is told of each such message and may be nil.
func Rehearse(ctx context.Context, s broker.Sifter, p Place, o ReplayOptions, would func(*broker.Stored)) (Outcome, error) {
	if err := o.validate(); err != nil {
		return Outcome{}, err
	}
	count := 0
	b := o.Bounds
	b.Rate, b.Moved = 0, nil
	outcome, err := newPass(p, b, func(m *broker.Stored) (broker.Action, string, error) {
		if o.Limit > 0 && count >= o.Limit {
			return broker.Action{Verb: broker.VerbStop}, "", nil
		}
		if why := o.refusal(m); why != "" {
			return broker.Action{}, why, nil
		}
		count++
		if would != nil {
			would(m)
		}
		return broker.Action{}, "", nil
	}).run(ctx, s)
	outcome.Moved = count
	return outcome, err
}

func (o *ReplayOptions) validate() error {
	if o.ID == "" {
		o.ID = NewReplayID()
	}
	if o.Route == "" {
		o.Route = RouteQueue
	}
	switch {
	case o.Route != RouteQueue && o.Route != RouteOrigin:
		return fmt.Errorf("triage: a replay goes to %q or %q, not to %q", RouteQueue, RouteOrigin, o.Route)
	case o.Route == RouteQueue && o.Queue == "":
		return errors.New("triage: a replay to a queue needs its name")
	}
	return nil
}

func (o *ReplayOptions) copy(m *broker.Stored) (broker.Action, string, error) {
	if why := o.refusal(m); why != "" {
		return broker.Action{}, why, nil
	}
	return broker.Action{
		Verb:   broker.VerbCopy,
		Target: o.target(m.Message.Origin),
		Fresh:  true,
		Stamp: map[string]any{
			broker.HeaderReplayID: o.ID,
			broker.HeaderReplays:  Replays(m) + 1,
		},
	}, "", nil
}

func (o *ReplayOptions) target(origin broker.Origin) broker.Target {
	if o.Route == RouteOrigin {
		return broker.Target{Exchange: origin.Exchange, Key: origin.Key}
	}
	return broker.Target{Queue: o.Queue, Key: origin.Key}
}

// refusal says why m must not be replayed; it is empty when it may.
func (o *ReplayOptions) refusal(m *broker.Stored) string {
	known := OriginKnown(m)
	if len(o.RefuseKeys) > 0 && !known {
		return "its original key is not known, so that it cannot be told from those with a refused key"
	}
	if g, ok := matchAny(o.RefuseKeys, m.Message.Origin.Key); ok {
		return fmt.Sprintf("its key matches %q, which is refused", g)
	}
	switch {
	case m.CaptureErr != nil:
		return "its capture does not validate: export it, look, and discard it"
	case !o.Malformed && m.Capture != nil && m.Capture.Reason == broker.ReasonMalformed:
		return "malformed: its body could not be decoded"
	case !known && (o.Route == RouteOrigin || !o.Force):
		return "nothing says where it came from"
	case o.Route == RouteQueue && !o.Force && m.Message.Origin.Queue != o.Queue:
		return fmt.Sprintf("it belongs to queue %q", m.Message.Origin.Queue)
	}
	return ""
}
