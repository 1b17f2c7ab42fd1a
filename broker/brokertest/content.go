package brokertest

import (
	"bytes"
	"context"
	"maps"
	"reflect"
	"time"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

var contentCases = []testCase{
	{name: "a_parked_message_is_what_was_published", run: parkedAsPublished},
	{name: "a_retried_message_is_what_was_published", run: retriedAsPublished, needs: all(delays)},
	{name: "a_held_message_is_what_was_published", run: heldAsPublished, needs: all(holds)},
	{name: "a_stamped_message_is_what_was_published", run: stampedAsPublished, needs: all(stamps)},
	{name: "no_headers_at_all", run: content(&broker.Message{Body: []byte("a")})},
	{name: "an_empty_body", run: content(&broker.Message{ID: "empty"}), hook: emptyBodies},
	{name: "the_largest_body", run: largestBody},
	{name: "a_body_of_every_byte", run: content(&broker.Message{Body: everyByte()})},
	{name: "headers_of_every_kind", run: headersOfEveryKind},
	{name: "text_beyond_ascii", run: content(beyondASCII())},
}

// rich is a message with everything in it.
func (s *scene) rich() *broker.Message {
	return &broker.Message{
		Body: append([]byte("{\"body\": \"ü\"}\x00"), everyByte()...), Headers: maps.Clone(s.env.Headers), ID: newID("rich"),
		CorrelationID: "correlation-1", ReplyTo: "nobody", ContentType: "application/json",
		ContentEncoding: "identity", Type: "order.placed", AppID: "brokertest",
		Timestamp: time.Unix(1_700_000_000, 0).UTC(),
	}
}

func everyByte() []byte {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	return all
}

func beyondASCII() *broker.Message {
	return &broker.Message{
		Body: []byte("naïve – Ω – 漢字 – 🎈"), ID: "id-漢", CorrelationID: "Ω", ContentType: "text/plain; charset=utf-8",
		Type: "größe", AppID: "ünï", Headers: map[string]any{"text": "naïve – Ω – 漢字 – 🎈"},
	}
}

// wantSame checks that got carries everything that want does. A broker and
// Holdfast may add headers; they may not change or lose one.
func (s *scene) wantSame(where string, got, want *broker.Message) {
	s.Helper()
	if !bytes.Equal(got.Body, want.Body) {
		s.Errorf("%s: the body has %d bytes and is not the one of %d bytes that was published", where, len(got.Body), len(want.Body))
	}
	for name, value := range want.Headers {
		if has, ok := got.Headers[name]; !ok || !reflect.DeepEqual(has, value) {
			s.Errorf("%s: header %q is %T %.60v (%v), not %T %.60v", where, name, has, has, ok, value, value)
		}
	}
	if g, w := properties(got), properties(want); g != w {
		s.Errorf("%s: properties\n %+v, not\n %+v", where, g, w)
	}
	if !got.Timestamp.Equal(want.Timestamp) {
		s.Errorf("%s: timestamp %v, not %v", where, got.Timestamp, want.Timestamp)
	}
}

func properties(m *broker.Message) [7]string {
	return [7]string{m.ID, m.CorrelationID, m.ReplyTo, m.ContentType, m.ContentEncoding, m.Type, m.AppID}
}

// content parks m at once and compares what the handler saw and what is parked.
func content(m *broker.Message) func(*scene) {
	return func(s *scene) {
		s.env.Publish(s.T, s.queue, m)
		r := s.start(s.b, park)
		parked := s.one()
		s.wantSame("in the handler", &r.seen()[0].m, m)
		s.wantSame("parked", parked.Message, m)
		if len(m.Headers) == 0 {
			s.wantOnlyAdded(parked.Message)
		}
		r.stop()
	}
}

// wantOnlyAdded checks that a message without headers got none but those of
// Holdfast and of the broker.
func (s *scene) wantOnlyAdded(m *broker.Message) {
	s.Helper()
	for name := range m.Headers {
		if !s.env.adds(name) {
			s.Errorf("a header was added: %q", name)
		}
	}
}

func parkedAsPublished(s *scene) { content(s.rich())(s) }

func largestBody(s *scene) {
	body := bytes.Repeat([]byte("0123456789abcdef"), max(s.env.LargestBody, 64<<10)/16)
	if s.env.LargestBody > 0 {
		body = body[:min(len(body), s.env.LargestBody)]
	}
	content(&broker.Message{Body: body})(s)
}

func headersOfEveryKind(s *scene) {
	if len(s.env.Headers) == 0 {
		s.Fatal("brokertest: Env.Headers is empty")
	}
	content(&broker.Message{Body: []byte("a"), Headers: maps.Clone(s.env.Headers)})(s)
}

func retriedAsPublished(s *scene) {
	m := s.rich()
	s.env.Publish(s.T, s.queue, m)
	r := s.start(s.b, fail)
	parked := s.one()
	for _, call := range r.seen() {
		s.wantSame("in the handler", &call.m, m)
	}
	s.wantSame("parked", parked.Message, m)
	r.stop()
}

func heldAsPublished(s *scene) {
	m := s.rich()
	s.env.Publish(s.T, s.queue, m)
	r := s.start(s.b, func(_ context.Context, m *holdfast.Message) error {
		if m.Lap == 0 {
			return holdfast.Hold(errFail)
		}
		return holdfast.Park(errFail)
	})
	parked := s.one()
	s.wantSame("after the hold", &r.await(2)[1].m, m)
	s.wantSame("parked", parked.Message, m)
	r.stop()
}

func stampedAsPublished(s *scene) {
	m := s.rich()
	session := s.consume(s.b, 1)
	s.env.Publish(s.T, s.queue, m)
	s.mustSettle(s.receive(session), broker.Settlement{Fate: broker.FateRelease, Capture: newCapture(s.queue, 1)})
	d := s.receive(session)
	s.wantSame("after the stamp", d.Message(), m)
	s.mustSettle(d, broker.Settlement{Fate: broker.FateDone})
}
