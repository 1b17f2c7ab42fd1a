package holdfast

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// Tracer follows attempts: package telemetry has one for OpenTelemetry. Start
// is called from many goroutines at once, before the handler of an attempt
// runs; a panic in it, or in what it returns, is swallowed.
type Tracer interface {
	// Start begins to follow an attempt. The handler gets the context that it
	// returns, which must be made of ctx. earlier is the [Span.TraceParent] of
	// the attempt that failed first, or empty. A nil Span follows nothing.
	Start(ctx context.Context, m *Message, earlier string) (context.Context, Span)
}

// Span is one attempt that a [Tracer] follows.
type Span interface {
	// TraceParent is how later attempts find this one, as a W3C traceparent.
	// It is asked when the message first fails and travels with its copies.
	TraceParent() string

	// End is told once what became of the delivery: the event of its fate, or
	// [EventUnsettled] when it went back to the broker.
	End(Event)
}

// trace begins the span of a job and returns the handler's context.
func (s *stint) trace(j *job) (ctx context.Context) {
	ctx = s.work
	if s.cfg.Tracer == nil {
		return ctx
	}
	defer func() {
		if recover() != nil {
			ctx, j.span = s.work, nil
		}
	}()
	earlier := ""
	if c := j.d.Facts().Capture; c != nil {
		earlier = c.Trace
	}
	traced, span := s.cfg.Tracer.Start(ctx, j.d.Message(), earlier)
	if traced != nil {
		ctx = traced
	}
	j.span = span
	return ctx
}

func (s *stint) endSpan(j *job, ev Event) {
	span := j.span
	if span == nil {
		return
	}
	j.span = nil
	ev.Time, ev.Queue = time.Now(), s.cfg.Queue
	defer func() { _ = recover() }()
	span.End(ev)
}

// traceParent is bounded: whatever a tracer returns has to fit in a header.
func (j *job) traceParent() (text string) {
	if j.span == nil {
		return ""
	}
	defer func() {
		if recover() != nil {
			text = ""
		}
	}()
	const longest = 128
	if text = toValid(j.span.TraceParent()); len(text) > longest {
		return ""
	}
	return text
}

// open reports whether a settlement that ended with err is made again.
func (j *job) open(err error) bool {
	return errors.Is(err, broker.ErrRefused) || errors.Is(err, broker.ErrUnrouted) || errors.Is(err, broker.ErrUnsupported)
}
