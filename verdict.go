package holdfast

import (
	"errors"
	"fmt"
	"time"
)

// A verdict is what a handler says of its failure. Verdicts are errors: they
// wrap their cause, work from any depth of the call stack, and are recognised
// by a method and not by their type, so that two copies of this module in one
// build still understand each other.
type verdict struct {
	kind  verdictKind
	after time.Duration
	err   error
}

// verdictKind is the closed set of verdicts. The strings are what crosses
// between two copies of the module.
type verdictKind string

const (
	kindNone    verdictKind = ""
	kindRetry   verdictKind = "retry"
	kindHold    verdictKind = "hold"
	kindPark    verdictKind = "park"
	kindDiscard verdictKind = "discard"
)

// Retry says that another attempt may succeed: the next try while tries are
// left, then the next rung of the ladder. It is what every error without a
// verdict means; Retry is for saying so against [Policy.Classify].
func Retry(err error) error { return &verdict{kind: kindRetry, err: err} }

// RetryAfter is [Retry], but not before after has passed. after is bounded to
// 24 hours; a negative one counts as none.
func RetryAfter(err error, after time.Duration) error {
	return &verdict{kind: kindRetry, after: min(max(after, 0), maxHold), err: err}
}

// Hold says that nothing is wrong with the message: what it needs is down. The
// message waits for [Policy.Hold] and comes back by itself, which spends a lap
// and no attempt.
func Hold(err error) error { return &verdict{kind: kindHold, err: err} }

// Park says that this consumer will never process the message. It is kept for
// a human, with the reason, on whatever attempt it is.
//
// From a [Responder] it is an error of category, since its caller waits for a
// reply: it counts as [Retry], and an event says so.
func Park(err error) error { return &verdict{kind: kindPark, err: err} }

// Discard says that the message is worth nothing to anyone. A scrubbed event
// and a count stay; the payload is not kept.
func Discard(err error) error { return &verdict{kind: kindDiscard, err: err} }

// Error returns the text of the cause: a verdict adds no words to it.
func (v *verdict) Error() string {
	if v.err == nil {
		return string(v.kind)
	}
	return v.err.Error()
}

func (v *verdict) Unwrap() error { return v.err }

// HoldfastVerdict is how another copy of this module recognises the verdict.
func (v *verdict) HoldfastVerdict() (kind string, after time.Duration) {
	return string(v.kind), v.after
}

// verdictOf reads the outermost verdict in err; kindNone when there is none,
// or one of a kind that this version does not know.
func verdictOf(err error) (verdictKind, time.Duration) {
	var v interface {
		error
		HoldfastVerdict() (string, time.Duration)
	}
	if !errors.As(err, &v) {
		return kindNone, 0
	}
	kind, after := v.HoldfastVerdict()
	switch k := verdictKind(kind); k {
	case kindRetry, kindHold, kindPark, kindDiscard:
		return k, min(max(after, 0), maxHold)
	default:
		return kindNone, 0
	}
}

// malformedError is what the typed handler returns for a body that it cannot
// decode. It parks with a reason of its own.
type malformedError struct{ err error }

func (e *malformedError) Error() string { return fmt.Sprintf("malformed body: %v", e.err) }
func (e *malformedError) Unwrap() error { return e.err }

// HoldfastVerdict makes a malformed body a park.
func (e *malformedError) HoldfastVerdict() (kind string, after time.Duration) {
	return string(kindPark), 0
}

// HoldfastReason makes it one with its own reason.
func (e *malformedError) HoldfastReason() string { return string(ReasonMalformed) }

// PanicError is what a handler's panic becomes: an error like any other, with
// the stack.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the panic's value and the stack below it.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value if the handler panicked with an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}
