package holdfast

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// job is one delivery on its way through the handler to its settlement.
type job struct {
	d        broker.Delivery
	facts    facts
	decision decision
	cause    error
	after    time.Duration // RetryAfter
	reply    *Reply
	took     time.Duration
	late     bool // the last call went beyond Policy.Timeout
	refusals int
	ruled    bool // the brake has counted it

	settling  time.Time // when the fate went to the driver
	captureID string
	span      Span // nil where nobody traces
}

// run calls the handler until there is a fate, and settles. stopping ends when
// the consumer was told to stop.
func (s *stint) run(stopping context.Context, j *job, slot int) {
	s.starts[slot].Store(time.Now().UnixNano())
	returned := false
	defer func() {
		s.starts[slot].Store(0)
		s.slots <- slot
		if !returned {
			s.exited(j)
		}
	}()
	m := j.d.Message()
	ctx := s.trace(j)
	for j.facts.try = 1; ; j.facts.try++ {
		m.Try = j.facts.try
		began := time.Now()
		j.reply, j.late, j.cause = s.call(ctx, m)
		j.took = time.Since(began)
		if j.cause == nil {
			j.decision = decision{fate: broker.FateDone, attempt: j.facts.attempt}
			break
		}
		j.facts.stopping = s.work.Err() != nil
		r := s.ruling(j.cause, j.late)
		j.after = r.after
		j.decision = decide(s.cfg.Policy, j.facts, r)
		if !j.decision.run {
			break
		}
		wait := j.decision.wait + rand.N(100*time.Millisecond)
		s.tell(EventTry, j, wait)
		if !s.sleepBetweenTries(stopping, wait) {
			j.decision.run, j.decision.fate = false, broker.FateRelease
			break
		}
	}
	returned = true
	s.settle(j)
}

var errGoexit = errors.New("the handler ended its goroutine instead of returning (runtime.Goexit, as a test's FailNow does)")

// exited settles a delivery whose handler ended its goroutine, which is ours
// too: a failed attempt. Where that goroutine was the dispatcher's, a new
// session gets a new one.
func (s *stint) exited(j *job) {
	j.cause = errGoexit
	j.facts.try = s.cfg.Policy.Tries
	j.decision = decide(s.cfg.Policy, j.facts, ruling{kind: kindRetry})
	s.settle(j)
	if cap(s.slots) == 1 {
		s.end(errGoexit)
	}
}

// sleepBetweenTries races the shutdown and the end of the session: in both
// cases the delivery goes back with nothing spent.
func (s *stint) sleepBetweenTries(stopping context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-stopping.Done():
		return false
	case <-s.session.Done():
		return false
	}
}

// call invokes the handler once. A panic is an error.
func (s *stint) call(ctx context.Context, m *Message) (reply *Reply, late bool, err error) {
	if t := s.cfg.Policy.Timeout; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, fmt.Errorf("holdfast: the handler took longer than Policy.Timeout (%v)", t))
		defer cancel()
	}
	defer func() {
		if v := recover(); v != nil {
			reply, err = nil, &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	reply, err = s.handle(ctx, m)
	return reply, err != nil && s.work.Err() == nil && ctx.Err() != nil, err
}

// ruling reads the verdict of a failure. Nothing that an error's methods do
// may break the failure path: what cannot be read is a retry. A handler that
// was late is not classified: its error tells of our deadline and not of what
// the handler needs.
func (s *stint) ruling(err error, late bool) (r ruling) {
	defer func() {
		if recover() != nil {
			r = ruling{kind: kindRetry}
		}
	}()
	r.kind, r.after = verdictOf(err)
	if r.kind == kindNone && s.cfg.Policy.Classify != nil && !late {
		if classified := s.cfg.Policy.Classify(err); classified != nil {
			r.kind, r.after = verdictOf(classified)
		}
	}
	if r.kind == kindPark && s.replies {
		s.event(Event{Kind: EventNotForReply, Err: err, Text: "a responder cannot park: its caller waits; this counts as a retry"})
		r.kind = kindRetry
	}
	var reason interface{ HoldfastReason() string }
	r.malformed = errors.As(err, &reason) && reason.HoldfastReason() == string(ReasonMalformed)
	return r
}

// describe returns the text of an error and of what it wraps. An error whose
// methods panic (a nil pointer in an error's clothes) still gets a text.
func describe(err error) (text, cause string) {
	defer func() {
		if v := recover(); v != nil {
			text, cause = fmt.Sprintf("an error of type %T that cannot be printed", err), ""
		}
	}()
	return err.Error(), causeText(err)
}
