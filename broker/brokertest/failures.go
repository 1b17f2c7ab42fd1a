package brokertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

// Each kind of failure parks like any other, and the consumer goes on.
var failureCases = []testCase{
	failure("a_panic_with_an_error", "the suite says no", func(context.Context, *holdfast.Message) error { panic(errFail) }),
	failure("a_panic_with_text", "just text", func(context.Context, *holdfast.Message) error { panic("just text") }),
	failure("a_panic_with_nil", "panic", func(context.Context, *holdfast.Message) error { panic(nil) }),
	failure("a_panic_of_the_runtime", "nil map", func(context.Context, *holdfast.Message) error { writeToNilMap(); return nil }),
	failure("an_error_without_text", "", returning(errors.New(""))),
	failure("an_error_that_is_a_nil_pointer", "", returning((*brokenError)(nil))),
	failure("an_error_whose_text_panics", "", returning(&brokenError{})),
	failure("errors_joined", "the suite says no", returning(errors.Join(errFail, errFail))),
	failure("an_error_of_300_KB", "long", returning(errors.New("long"+strings.Repeat("x", 300<<10)))),
	failure("an_error_that_is_no_text", "", returning(errors.New("\xff\xfe\x00"))),
	failure("a_wrapped_context_error", "canceled", returning(fmt.Errorf("call: %w", context.Canceled))),
	failure("a_handler_that_ends_its_goroutine", "goroutine", func(context.Context, *holdfast.Message) error { runtime.Goexit(); return nil }),
	{name: "a_malformed_body_parks_as_it_is", run: malformed},
	{name: "a_verdict_deep_inside_counts", run: deepVerdict},
}

func returning(err error) holdfast.Handler {
	return func(context.Context, *holdfast.Message) error { return err }
}

// brokenError panics when it is asked for its text.
type brokenError struct{ text string }

func (e *brokenError) Error() string {
	if e.text == "" {
		panic("no text")
	}
	return e.text
}

func writeToNilMap() {
	var m map[string]int
	m["a"] = 1 //nolint:staticcheck // the panic of a nil map is what the handler is to do
}

func failure(name, text string, h holdfast.Handler) testCase {
	return testCase{name: name + "_parks_like_any_other", run: func(s *scene) {
		s.publish("bad", "good")
		r := s.start(s.b, func(ctx context.Context, m *holdfast.Message) error {
			if string(m.Body) == "good" {
				return nil
			}
			return h(ctx, m)
		}, func(c *holdfast.ConsumerConfig) { c.Policy.Ladder = ladder[:0:0] })
		m := s.one()
		r.awaitTold(holdfast.EventDone, 1)
		c := m.Capture
		if c == nil || c.Reason != broker.ReasonExhausted || !strings.Contains(c.Error, text) || len(c.Error) > 8<<10 {
			s.Errorf("capture %.300v (%v)", c, m.CaptureErr)
		}
		r.stop()
		s.endsUnwaited(1)
	}}
}

func malformed(s *scene) {
	const body = "{\"half\": \x00\xff"
	s.publish(body)
	h := holdfast.JSON(func(context.Context, map[string]int, *holdfast.Message) error { return nil })
	r := s.start(s.b, h)
	m := s.one()
	s.wantReason(m, broker.ReasonMalformed)
	if string(m.Message.Body) != body || m.Capture.Attempt != 1 {
		s.Errorf("parked %q after attempt %d", m.Message.Body, m.Capture.Attempt)
	}
	r.stop()
	s.endsUnwaited(1)
}

func deepVerdict(s *scene) {
	s.publish("a")
	r := s.start(s.b, returning(fmt.Errorf("billing: %w", errors.Join(errors.New("x"), holdfast.Park(errFail)))))
	s.wantReason(s.one(), broker.ReasonVerdict)
	r.stop()
	s.endsUnwaited(1)
}
