package triage

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-mq/holdfast/broker"
)

// Answer answers a request that waits in p by hand: it publishes reply to the
// request's reply address under its correlation id, confirmed and routed, and
// only then removes the request. A reply without a content type gets that of
// the request. ref is as for [Find]; the message must have a
// capture id or a message id, so that it is the one that was found.
//
// Besides the errors of Find it returns [ErrNoReplyAddress], and
// [ErrCallerGone] when nobody waits for the answer any more; then the request
// stays.
func Answer(ctx context.Context, s broker.Sifter, p Place, ref string, reply *broker.Reply) (*broker.Stored, error) {
	// Counted once for both passes: right after the first one a broker may
	// still be taking its messages back.
	depth, err := s.Depth(ctx, p.Queue)
	if err != nil {
		return nil, err
	}
	request, err := find(ctx, s, p, ref, depth.Messages)
	if err != nil {
		return nil, err
	}
	switch {
	case request.Message.ReplyTo == "":
		return request, fmt.Errorf("%w: %s in %s", ErrNoReplyAddress, ref, p.Queue)
	case Name(request) == "":
		return request, errors.New("triage: the message has no id of its own, so that it cannot be told from others; replay it instead")
	}
	if reply.ContentType == "" {
		// What can read the request can most likely read the answer.
		withType := *reply
		withType.ContentType = request.Message.ContentType
		reply = &withType
	}
	outcome, err := newPass(p, Bounds{Limit: 1, Window: depth.Messages}, func(m *broker.Stored) (broker.Action, string, error) {
		if Name(m) != Name(request) || m.Message.CorrelationID != request.Message.CorrelationID {
			return broker.Action{}, "", nil
		}
		return broker.Action{Verb: broker.VerbReply, Reply: reply}, "", nil
	}).run(ctx, s)
	switch {
	case errors.Is(err, broker.ErrUnrouted):
		return request, fmt.Errorf("%w (reply address %q): %w", ErrCallerGone, request.Message.ReplyTo, err)
	case err != nil:
		return request, err
	case outcome.Moved == 0:
		return request, ErrChanged
	}
	return request, nil
}
