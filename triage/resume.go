package triage

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// Resume ends a hold early: the outage is over. It moves what waits in the
// hold p to queue, each with its capture, so that attempts and laps go on
// where they were. A message that belongs to another queue is refused and
// stays, since its own hold will end.
//
// A consumer that attends to the hold has the message at its head in hand;
// that one comes back when its time is over, or when the consumer stops.
func Resume(ctx context.Context, s broker.Sifter, p Place, queue string, b Bounds) (Outcome, error) {
	if queue == "" {
		return Outcome{}, errors.New("triage: a resume needs the name of the queue")
	}
	return newPass(p, b, func(m *broker.Stored) (broker.Action, string, error) {
		if OriginKnown(m) && m.Message.Origin.Queue != queue {
			return broker.Action{}, fmt.Sprintf("it belongs to queue %q", m.Message.Origin.Queue), nil
		}
		return broker.Action{
			Verb:   broker.VerbCopy,
			Target: broker.Target{Queue: queue, Key: m.Message.Origin.Key},
		}, "", nil
	}).run(ctx, s)
}
