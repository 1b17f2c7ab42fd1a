package triage

import (
	"time"
	"unicode/utf8"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/internal/typed"
)

// Entry is a stored message as machines read it. Position counts from 1.
type Entry struct {
	Type      string `json:"type"` // always "message"
	Queue     string `json:"queue"`
	Position  int    `json:"position"`
	ID        string `json:"id,omitempty"` // the capture's
	MessageID string `json:"message_id,omitempty"`

	Reason      broker.Reason `json:"reason,omitempty"`
	Attempt     int           `json:"attempt,omitempty"`
	Lap         int           `json:"lap"`
	Crashes     int           `json:"crashes"`
	Error       string        `json:"error,omitempty"`
	ErrorSHA256 string        `json:"error_sha256,omitempty"`
	Cause       string        `json:"cause,omitempty"`

	OriginKnown bool   `json:"origin_known"`
	OriginQueue string `json:"origin_queue,omitempty"`
	Exchange    string `json:"exchange"`
	Key         string `json:"key"`

	FirstFailedAt time.Time `json:"first_failed_at,omitzero"`
	FailedAt      time.Time `json:"failed_at,omitzero"`
	NotBefore     time.Time `json:"not_before,omitzero"`
	Host          string    `json:"host,omitempty"`
	Token         string    `json:"token,omitempty"`

	DeadLettered string  `json:"dead_lettered,omitempty"`
	Deaths       []Death `json:"deaths,omitempty"`
	CaptureError string  `json:"capture_error,omitempty"`
	Replays      int64   `json:"replays"`
	ReplayID     string  `json:"replay_id,omitempty"`

	CorrelationID   string    `json:"correlation_id,omitempty"`
	ReplyTo         string    `json:"reply_to,omitempty"`
	ContentType     string    `json:"content_type,omitempty"`
	ContentEncoding string    `json:"content_encoding,omitempty"`
	MessageType     string    `json:"message_type,omitempty"`
	AppID           string    `json:"app_id,omitempty"`
	Timestamp       time.Time `json:"timestamp,omitzero"`

	Headers map[string]Value `json:"headers,omitempty"`

	// Size is the body's length in bytes. Body is base64 in JSON; BodyText is
	// the same once more where it is text. BodyCut says that both are only the
	// beginning.
	Size     int    `json:"size"`
	Body     []byte `json:"body,omitempty"`
	BodyText string `json:"body_text,omitempty"`
	BodyCut  bool   `json:"body_cut,omitempty"`
}

// Detail is how much of a message an [Entry] shows.
type Detail struct {
	Headers bool

	// Body shows the first Bytes of the body, all of it when Bytes is 0, and
	// Text once more as text.
	Body  bool
	Bytes int
	Text  bool
}

// NewEntry describes m.
func NewEntry(m *broker.Stored, show Detail) Entry {
	e := Entry{
		Type: "message", Queue: m.Queue, Position: m.Position + 1,
		MessageID: m.Message.ID, Attempt: m.Message.Attempt, Lap: m.Message.Lap,
		OriginKnown: OriginKnown(m), Exchange: m.Message.Origin.Exchange, Key: m.Message.Origin.Key,
		FailedAt: FailedAt(m), DeadLettered: m.DeadLettered, Deaths: Deaths(m),
		Replays: Replays(m), ReplayID: textOf(m.Message.Headers[broker.HeaderReplayID]),
		CorrelationID: m.Message.CorrelationID, ReplyTo: m.Message.ReplyTo,
		ContentType: m.Message.ContentType, ContentEncoding: m.Message.ContentEncoding,
		MessageType: m.Message.Type, AppID: m.Message.AppID, Timestamp: m.Message.Timestamp.UTC(),
		Size: len(m.Message.Body),
	}
	if e.OriginKnown {
		e.OriginQueue = m.Message.Origin.Queue
	}
	if m.CaptureErr != nil {
		e.CaptureError = m.CaptureErr.Error()
	}
	if c := m.Capture; c != nil {
		e.capture(c)
	}
	if show.Headers {
		e.Headers = typed.Table(m.Message.Headers)
	}
	if show.Body {
		e.body(m.Message.Body, show)
	}
	return e
}

func (e *Entry) capture(c *broker.Capture) {
	e.ID, e.Reason, e.Attempt, e.Lap, e.Crashes = c.ID, c.Reason, c.Attempt, c.Lap, c.Crashes
	e.Error, e.ErrorSHA256, e.Cause = c.Error, c.ErrorSHA256, c.Cause
	e.FirstFailedAt, e.FailedAt, e.NotBefore = c.FirstFailedAt.UTC(), c.FailedAt.UTC(), c.NotBefore.UTC()
	e.Host, e.Token = c.Host, c.Token
}

func (e *Entry) body(body []byte, show Detail) {
	if show.Bytes > 0 && len(body) > show.Bytes {
		body, e.BodyCut = body[:show.Bytes], true
	}
	e.Body = body
	if text := wholeRunes(body, e.BodyCut); show.Text && utf8.Valid(text) {
		e.BodyText = string(text)
	}
}

// wholeRunes drops the character that a cut went through.
func wholeRunes(body []byte, cut bool) []byte {
	if !cut {
		return body
	}
	for i := 1; i < utf8.UTFMax && i <= len(body); i++ {
		if b := body[len(body)-i:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				return body[:len(body)-i]
			}
			break
		}
	}
	return body
}

// Replays is how often m was replayed before.
func Replays(m *broker.Stored) int64 {
	n, _ := integerOf(m.Message.Headers[broker.HeaderReplays])
	return max(n, 0)
}

// Name is what to call m in a text for people: its capture id, else its
// message id, else nothing but its place.
func Name(m *broker.Stored) string {
	switch {
	case m.Capture != nil:
		return m.Capture.ID
	default:
		return m.Message.ID
	}
}
