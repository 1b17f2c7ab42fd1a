package brokertest

import (
	"context"

	"github.com/holdfast-mq/holdfast"
	"github.com/holdfast-mq/holdfast/broker"
)

var originCases = []testCase{
	{name: "is_recorded_on_the_first_failure_and_kept", run: originKept, needs: all(delays), hook: canPublishVia},
	{name: "is_recorded_when_the_first_failure_parks", run: originParked, hook: canPublishVia},
	{name: "is_kept_through_a_hold", run: originHeld, needs: all(holds), hook: canPublishVia},
	{name: "the_capture_keeps_its_id_and_first_time", run: captureKept, needs: all(delays), lacks: all(attempts)},
}

// publishVia publishes m and returns its origin.
func (s *scene) publishVia(m *broker.Message) broker.Origin {
	s.Helper()
	exchange, key := s.env.PublishVia(s.T, s.queue, m)
	return broker.Origin{Exchange: exchange, Key: key, Queue: s.queue}
}

// wantOrigin compares what every call of the handler saw and what is parked.
func (s *scene) wantOrigin(r *running, parked *broker.Stored, want broker.Origin) {
	s.Helper()
	for _, c := range r.seen() {
		if c.m.Origin != want {
			s.Errorf("attempt %d, lap %d: origin %+v, not %+v", c.m.Attempt, c.m.Lap, c.m.Origin, want)
		}
	}
	if parked.Capture == nil || parked.Capture.Origin != want || parked.Message.Origin != want {
		s.Errorf("parked: origin %+v, capture %+v, not %+v", parked.Message.Origin, parked.Capture, want)
	}
}

func originKept(s *scene) {
	want := s.publishVia(&broker.Message{Body: []byte("a")})
	r := s.start(s.b, fail)
	s.wantOrigin(r, s.one(), want)
	r.stop()
}

func originParked(s *scene) {
	want := s.publishVia(&broker.Message{Body: []byte("a")})
	r := s.start(s.b, park)
	s.wantOrigin(r, s.one(), want)
	r.stop()
}

func originHeld(s *scene) {
	want := s.publishVia(&broker.Message{Body: []byte("a")})
	r := s.start(s.b, hold, func(c *holdfast.ConsumerConfig) { c.Policy.Laps = 1 })
	s.wantOrigin(r, s.one(), want)
	r.stop()
}

func captureKept(s *scene) {
	s.env.Publish(s.T, s.queue, &broker.Message{Body: []byte("a"), ID: "token-1"})
	r := s.start(s.b, func(_ context.Context, m *holdfast.Message) error {
		if m.Attempt == 3 {
			return holdfast.Park(errFail)
		}
		return errFail
	})
	parked := s.one()
	delayed := r.awaitTold(holdfast.EventDelayed, 2)
	if c := parked.Capture; c == nil || delayed[0].CaptureID != c.ID || delayed[1].CaptureID != c.ID || c.Token != "token-1" {
		s.Errorf("capture %+v, delayed as %q and %q", c, delayed[0].CaptureID, delayed[1].CaptureID)
	} else if c.FirstFailedAt.After(delayed[0].Time) || !c.FailedAt.After(delayed[1].Time) {
		s.Errorf("first failed at %v, last at %v; delayed at %v and %v", c.FirstFailedAt, c.FailedAt, delayed[0].Time, delayed[1].Time)
	}
	r.stop()
}
