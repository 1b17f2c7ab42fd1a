package inbox

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/store"
)

// The bounds of names, in bytes.
const (
	MaxConsumer  = 255
	MaxID        = 1024
	MaxAggregate = 1024
	maxReplay    = 255
)

// ID says which message it is.
type ID struct {
	// Message is the producer's id of the message, the same on every delivery
	// and every copy of it: 1 to [MaxID] bytes. Two messages that share one are
	// one message to a consumer.
	Message string

	// Replay is the id of the operator's replay that brought it, if one did. It
	// is recorded, so that it can be told by which replay a message was
	// applied; it makes no difference to whether it is a duplicate.
	Replay string
}

// Of returns the id that m has from its producer, with that of the replay that
// brought it. Where the producer gives no message ids, take the id of what the
// body tells:
//
//	id := inbox.Of(m)
//	id.Message = order.ID
func Of(m *holdfast.Message) ID {
	return ID{Message: m.ID, Replay: replayOf(m)}
}

// replayOf drops what no replay of ours wrote: it is a header, which anybody
// may set, and must not keep a message from being recorded.
func replayOf(m *holdfast.Message) string {
	var id string
	switch v := m.Headers[broker.HeaderReplayID].(type) {
	case string:
		id = v
	case []byte:
		id = string(v)
	}
	if checkText("", id, maxReplay) != nil {
		return ""
	}
	return id
}

var errNoID = errors.New("the message has no id, so that it cannot be told from another one without: " +
	"let its producer set the message id, or take the id of what the body tells (id := inbox.Of(m); id.Message = order.ID)")

// checkKey refuses what can never be recorded. Its error is a verdict: trying
// again does not help, so the message is to be parked.
func checkKey(consumer string, id ID) error {
	err := checkText("consumer", consumer, MaxConsumer)
	switch {
	case err != nil:
	case id.Message == "":
		err = errNoID
	default:
		err = checkText("id.Message", id.Message, MaxID)
	}
	return refused(err)
}

// refused is nil for nil.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return holdfast.Park(fmt.Errorf("inbox: %w: %w", store.ErrConfig, err))
}

func checkText(field, s string, longest int) error {
	switch {
	case s == "":
		return fmt.Errorf("%s must not be empty", field)
	case len(s) > longest:
		return fmt.Errorf("%s must have at most %d bytes, not %d", field, longest, len(s))
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return fmt.Errorf("%s must be UTF-8 text without NUL, not %.40q", field, s)
	}
	return nil
}
