package holdfast

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
)

// settle hands the job's fate to the driver.
func (s *stint) settle(j *job) {
	s.rule(j)
	set := broker.Settlement{Fate: j.decision.fate}
	switch set.Fate {
	case broker.FateDone:
		set.Reply = s.replyOf(j)
	case broker.FateDelay:
		set.Delay = j.decision.wait
		set.Capture = newCapture(j, time.Now())
	case broker.FateHold, broker.FatePark:
		set.Capture = newCapture(j, time.Now())
	case broker.FateRelease:
		if j.decision.stamped {
			set.Capture = newCapture(j, time.Now())
		}
	}
	j.settling = time.Now()
	j.d.Settle(set, func(err error) { s.settled(j, err) })
}

// settleUnrun settles a delivery that the handler does not see.
func (s *stint) settleUnrun(j *job) {
	if j.decision.reason == ReasonCrashLoop {
		j.cause = crashLoop(j.facts)
	}
	s.settle(j)
}

func crashLoop(f facts) error {
	if f.counted && f.crashes == 0 {
		return fmt.Errorf("this would be attempt %d, more than the policy has: deliveries ended without a settlement, and the message may be what ends the process", f.attempt)
	}
	return fmt.Errorf("%d deliveries ended without a settlement: the message may be what ends the process", f.crashes)
}

func (s *stint) replyOf(j *job) *Reply {
	if j.reply == nil {
		return nil
	}
	if j.d.Message().ReplyTo == "" {
		s.event(Event{Kind: EventReplyLost, MessageID: j.d.Message().ID, Text: "the request names no reply address"})
		return nil
	}
	return j.reply
}

// settled is told the outcome, on a goroutine of the driver.
func (s *stint) settled(j *job, err error) {
	switch {
	case err == nil:
		s.ledger.settled(j.decision.fate)
		if f := j.d.Facts(); f.Crashes == 0 && !f.Redelivered && j.decision.fate != broker.FateRelease {
			s.cleared.Store(true)
		}
		s.tellFate(j)
	case errors.Is(err, broker.ErrRefused), errors.Is(err, broker.ErrUnrouted):
		s.tellUnsettled(j, err)
		s.retrySettlement(j, err)
	case errors.Is(err, broker.ErrUnsupported):
		s.tellUnsettled(j, err)
		s.settleOtherwise(j, err)
	default:
		// Unknown, closed, or settled before: the delivery is the broker's.
		s.ledger.settled(broker.FateRelease)
		s.tellUnsettled(j, err)
	}
}

// settleOtherwise deals with a settlement that can never be made, such as a
// reply that no message can carry: it is a failed attempt. What cannot be
// settled so either is kept, like a refused copy.
func (s *stint) settleOtherwise(j *job, err error) {
	if j.cause != nil {
		s.retrySettlement(j, err)
		return
	}
	j.cause, j.facts.try = err, s.cfg.Policy.Tries
	j.decision = decide(s.cfg.Policy, j.facts, ruling{kind: kindRetry})
	s.wg.Go(func() { s.settle(j) }) // we are on the driver's goroutine
}

// retrySettlement tries a settlement again that the broker refused, for as
// long as the session lasts. The delivery is kept meanwhile, and so is its
// share of the prefetch: when enough are stuck, the consumer pauses by itself.
//
// Ending the session instead would charge a crash to every innocent neighbour
// on brokers that count connection ends, once for each try.
func (s *stint) retrySettlement(j *job, err error) {
	wait := ceilingAfter(j.refusals, time.Second, longWait)
	wait += rand.N(wait / 4)
	j.refusals++
	s.markStuck(+1, err)
	select {
	case s.held <- struct{}{}:
	default:
	}
	s.wg.Go(func() {
		defer s.markStuck(-1, nil)
		select {
		case <-s.session.Done():
			s.abandonStuck(j, err)
			return
		case <-s.work.Done():
			s.abandonStuck(j, err)
			return
		case <-time.After(wait):
		}
		if errors.Is(err, broker.ErrUnrouted) {
			s.repair()
		}
		s.settle(j)
	})
}

func (s *stint) abandonStuck(j *job, err error) {
	s.abandon(1)
	s.endSpan(j, s.eventOf(EventReleased, j, 0, err))
}

// repair makes the places of the failure path again: opening a session does,
// and this one is closed unused.
func (s *stint) repair() {
	ctx, cancel := context.WithTimeout(s.work, callTimeout)
	defer cancel()
	other, err := s.broker.Open(ctx, s.subscription(nil))
	if err == nil {
		err = other.Close(ctx)
	}
	if err != nil {
		s.event(Event{Kind: EventWarning, Err: err, Text: "the places of the failure path could not be made again"})
	}
}

func (s *stint) markStuck(n int, err error) {
	s.ledger.stuck(n)
	s.status.update(func(h *Health) {
		h.Stuck += n
		if err != nil {
			h.StuckErr, _ = describe(err)
		}
		if h.Stuck == 0 {
			h.StuckErr = ""
		}
	})
}

var fateEvents = map[broker.Fate]EventKind{
	broker.FateDone: EventDone, broker.FateDelay: EventDelayed, broker.FateHold: EventHeld,
	broker.FatePark: EventParked, broker.FateDiscard: EventDiscarded, broker.FateRelease: EventReleased,
}

func (s *stint) tellFate(j *job) {
	if s.cfg.Observer == nil && j.span == nil {
		return
	}
	ev := s.eventOf(fateEvents[j.decision.fate], j, j.decision.wait, j.cause)
	ev.Settling = time.Since(j.settling)
	s.event(ev)
	s.endSpan(j, ev)
}

func (s *stint) tellUnsettled(j *job, err error) {
	if s.cfg.Observer == nil && j.span == nil {
		return
	}
	ev := s.eventOf(EventUnsettled, j, 0, err)
	s.event(ev)
	if !j.open(err) {
		s.endSpan(j, ev)
	}
}

func (s *stint) tell(kind EventKind, j *job, wait time.Duration) {
	s.event(s.eventOf(kind, j, wait, j.cause))
}

func (s *stint) eventOf(kind EventKind, j *job, wait time.Duration, err error) Event {
	m := j.d.Message()
	return Event{
		Kind: kind, MessageID: m.ID, CaptureID: j.captureID, Origin: m.Origin,
		Attempt: j.facts.attempt, Try: j.facts.try, Lap: j.decision.lap, Crashes: j.facts.crashes,
		Reason: j.decision.reason, Wait: wait, Duration: j.took, Err: err,
	}
}
