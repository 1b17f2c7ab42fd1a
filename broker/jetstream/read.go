package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/holdfast-mq/holdfast/broker"
)

// readRequest asks for the message at a sequence or, with a filter, for the
// first from there on whose subject the filter means.
type readRequest struct {
	Sequence uint64 `json:"seq"`
	Filter   string `json:"next_by_subj,omitempty"`
}

// readAnswer is what the server says of the message beside what it holds.
type readAnswer struct {
	Message *struct {
		Subject  string    `json:"subject"`
		Sequence uint64    `json:"seq"`
		Header   []byte    `json:"hdrs"`
		Data     []byte    `json:"data"`
		Time     time.Time `json:"time"`
	} `json:"message"`
	Error *jetstream.APIError `json:"error"`
}

// read reads a message of a stream without consuming it. The client's own call
// uses the direct API where the stream allows it, which tells sequence and
// status in headers beside the message's own: one that brings such headers
// along (republished, or with a status) is then taken for another message, or
// for the end of the stream.
func (c *conn) read(ctx context.Context, stream string, r readRequest) (*jetstream.RawStreamMsg, error) {
	what := "read stream " + stream
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	m, err := c.api(ctx, what, "STREAM.MSG.GET."+stream, body)
	if err != nil {
		return nil, err
	}
	var answer readAnswer
	switch err := json.Unmarshal(m.Data, &answer); {
	case err != nil:
		return nil, fmt.Errorf("jetstream: %s: the answer cannot be read: %w: %w", what, broker.ErrUnreachable, err)
	case answer.Error != nil:
		return nil, classify(what, answer.Error)
	case answer.Message == nil:
		return nil, fmt.Errorf("jetstream: %s: the answer has no message: %w", what, broker.ErrUnreachable)
	}
	found := answer.Message
	// Headers that cannot be read are shown as none, as the client does with a
	// delivery: one such message must not hide those behind it.
	header, _ := nats.DecodeHeadersMsg(found.Header)
	return &jetstream.RawStreamMsg{
		Subject: found.Subject, Sequence: found.Sequence, Header: header, Data: found.Data, Time: found.Time,
	}, nil
}
