package jetstream

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

const (
	// maxText is the most bytes of an error text on a copy.
	maxText = 2 << 10

	// maxHeaders is the most bytes of headers that JetStream stores.
	maxHeaders = math.MaxUint16

	headerLine  = len("NATS/1.0\r\n") + len("\r\n")
	headerExtra = len(": ") + len("\r\n")
)

// letter is a copy that is ready to be sent.
type letter = *nats.Msg

// captured makes a copy with a capture for subject. What a server takes in one
// message is body and headers together, and JetStream takes 64 KiB of headers:
// texts are cut to what is free, and a copy that has no room for the capture's
// counts is refused, so that its original stays.
func captured(subject string, h nats.Header, body []byte, c *broker.Capture, limit int64) (letter, error) {
	out := carried(h, replacing)
	lean := *c
	lean.Error, lean.Cause = "", ""
	lean.Each(func(name string, v any) { out[name] = []string{text(v)} })
	size := headersSize(out) + slack
	free, most := int(limit)-size-len(body), maxHeaders-size
	switch {
	case most < 0:
		return nil, fmt.Errorf("jetstream: the headers of the message and its capture have %d bytes more than the %d that JetStream takes: %w",
			-most, maxHeaders, broker.ErrRefused)
	case free < 0:
		return nil, fmt.Errorf("jetstream: the message has %d bytes and its capture %d more than the server's max_payload of %d leaves: %w; raise max_payload",
			len(body), -free, limit, broker.ErrRefused)
	}
	free = min(free, most)
	setText(out, broker.HeaderError, c.Error, &free)
	setText(out, broker.HeaderCause, c.Cause, &free)
	return &nats.Msg{Subject: subject, Header: out, Data: body}, nil
}

// slack is kept free for what is added to a copy on its way: the server's
// headers of a schedule, a replay's stamp.
const slack = 1 << 10

func text(v any) string {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10)
	case string:
		return escape(v)
	default:
		return escape(fmt.Sprint(v))
	}
}

// setText writes as much of s as there is room for.
func setText(h nats.Header, name, s string, free *int) {
	room := *free - len(name) - headerExtra
	if s == "" || room <= 0 {
		return
	}
	v := escape(cutText(s, maxText))
	if len(v) > room {
		v = cutText(v, room)
		if i := strings.LastIndexByte(v, '%'); i > len(v)-len("%00") {
			v = v[:max(i, 0)] // not half an escape
		}
	}
	h[name] = []string{v}
	*free -= len(name) + headerExtra + len(v)
}

// cutText cuts s to at most n bytes, at the beginning of a character.
func cutText(s string, n int) string {
	if n <= 0 {
		return ""
	}
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func headersSize(h nats.Header) int {
	size := headerLine
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(v) + headerExtra
		}
	}
	return size
}

// scheduled asks the server to move m to target at a time of its own clock.
func scheduled(m letter, target string, at time.Time) {
	m.Header[headerSchedule] = []string{"@at " + at.UTC().Format(time.RFC3339Nano)}
	m.Header[headerScheduleTarget] = []string{target}
}

// ownID begins the ids that we give to copies, as opposed to a producer's.
const ownID = "holdfast:"

// once makes the server store m once, however often it is sent within the
// stream's window for duplicates, and in no other stream.
func once(m letter, stream, id string) {
	m.Header[headerNatsID] = []string{ownID + id}
	m.Header[headerExpectStream] = []string{stream}
}
