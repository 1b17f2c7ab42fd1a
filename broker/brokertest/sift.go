package brokertest

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/holdfast-mq/holdfast/broker"
)

// What an operator does to a queue, and what a driver must not do to it.
var siftCases = []testCase{
	{name: "depth_counts_what_waits", run: depthCounts, hook: siftsItself},
	{name: "a_missing_queue_is_said_so", run: siftMissing, hook: siftsItself},
	{name: "an_empty_queue_asks_nothing", run: siftEmpty, hook: siftsItself},
	{name: "keeping_keeps_order_and_counts", run: siftKeeps, hook: siftsItself},
	{name: "keeping_often_loses_nothing", run: siftOften, hook: siftsItself},
	{name: "a_look_right_after_a_look_sees_the_same", run: siftAgain, hook: siftsItself},
	{name: "shows_what_was_stored", run: siftShows, hook: siftsItself},
	{name: "copy_moves_it", run: siftCopies, hook: siftsItself},
	{name: "a_fresh_copy_starts_anew", run: siftFresh, hook: siftsItself},
	{name: "a_copy_that_is_not_fresh_goes_on", run: siftGoesOn, hook: siftsItself},
	{name: "a_copy_goes_to_that_queue_alone", run: siftQueueAlone, hook: siftsItself},
	{name: "a_copy_that_no_queue_takes_keeps_the_original", run: siftUnrouted, hook: siftsItself},
	{name: "drop_removes_it", run: siftDrops, hook: siftsItself},
	{name: "limit_bounds_it", run: siftLimit, hook: siftsItself},
	{name: "what_arrives_later_is_not_swept_along", run: siftNewcomers, hook: siftsItself},
	{name: "stop_leaves_the_rest", run: siftStops, hook: siftsItself},
	{name: "an_error_of_pick_leaves_the_rest", run: siftError, hook: siftsItself},
	{name: "the_end_of_its_context_leaves_the_rest", run: siftCancelled, hook: siftsItself},
	{name: "a_mix_does_each_as_told", run: siftMixed, hook: siftsItself},
	{name: "tells_how_far_it_is", run: siftTells, hook: siftsItself},
	{name: "a_cut_leaves_each_in_one_place_at_least", run: siftCut, hook: siftsItself},
}

// sift sifts with a pick that cannot fail.
func (s *scene) sift(queue string, o broker.SiftOptions, pick func(*broker.Stored) broker.Action) broker.Sifted {
	s.Helper()
	sifted, err := s.sifter().Sift(s.ctx(), queue, o, func(_ context.Context, m *broker.Stored) (broker.Action, error) {
		return pick(m), nil
	})
	s.must(err)
	return sifted
}

// fill parks n messages as a consumer does, and returns the parked queue.
func (s *scene) fill(n int) string {
	s.Helper()
	session := s.consume(s.b, max(n, 1))
	s.publish(numbered("m", n)...)
	for _, d := range s.inOrder(s.receiveN(session, n)) {
		s.mustSettle(d, s.parking())
	}
	s.must(session.Close(s.ctx()))
	parked := s.env.Parked(s.queue)
	s.eventually("all are parked", func() bool { return s.waiting(parked) == n })
	return parked
}

// wantBodies reads a queue and compares it, in order.
func (s *scene) wantBodies(queue string, want ...string) {
	s.Helper()
	s.eventually("the queue holds what it should", func() bool { return s.waiting(queue) == len(want) })
	var got []string
	for _, m := range s.stored(queue) {
		got = append(got, string(m.Message.Body))
	}
	if s.env.Unordered {
		slices.Sort(got)
		want = slices.Sorted(slices.Values(want))
	}
	if !slices.Equal(got, want) {
		s.Errorf("%s holds %q, not %q", queue, got, want)
	}
}

func (s *scene) wantSifted(got, want broker.Sifted) {
	s.Helper()
	if got != want {
		s.Errorf("sifted %+v, not %+v", got, want)
	}
}

func dropAll(*broker.Stored) broker.Action { return broker.Action{Verb: broker.VerbDrop} }

func (s *scene) copyTo(queue string) func(*broker.Stored) broker.Action {
	return func(*broker.Stored) broker.Action {
		return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: queue}, Fresh: true}
	}
}

func depthCounts(s *scene) {
	if n := s.waiting(s.fill(3)); n != 3 {
		s.Errorf("%d wait", n)
	}
	session := s.consume(s.b, 1)
	s.eventually("a consumer is counted", func() bool {
		d, err := s.sifter().Depth(s.ctx(), s.queue)
		return err == nil && (d.Consumers == 1 || s.env.BlindConsumers) && d.Messages == 0
	})
	s.must(session.Close(s.ctx()))
}

func siftMissing(s *scene) {
	_, err := s.sifter().Depth(s.ctx(), s.queue+"-missing")
	s.wants(err, broker.ErrMissing)
	_, err = s.sifter().Sift(s.ctx(), s.queue+"-missing", broker.SiftOptions{},
		func(context.Context, *broker.Stored) (broker.Action, error) { return broker.Action{}, nil })
	s.wants(err, broker.ErrMissing)
}

func siftEmpty(s *scene) {
	s.wantSifted(s.sift(s.fill(0), broker.SiftOptions{}, func(m *broker.Stored) broker.Action {
		s.Errorf("asked about %q", m.Message.Body)
		return broker.Action{}
	}), broker.Sifted{})
}

// siftKeeps looks at a source queue, where a count would be a charge.
func siftKeeps(s *scene) {
	bodies := numbered("m", 6)
	s.publish(bodies...)
	s.eventually("all are there", func() bool { return s.waiting(s.queue) == 6 })
	s.wantBodies(s.queue, bodies...)
	s.wantBodies(s.queue, bodies...)
	depth, err := s.sifter().Depth(s.ctx(), s.queue)
	s.must(err)
	session := s.consume(s.b, 6)
	for i, d := range s.inOrder(s.receiveN(session, 6)) {
		charged := depth.Charge != "" && s.env.Capabilities.Attempts
		if string(d.Message().Body) != bodies[i] || d.Message().Attempt != 1 && !charged {
			s.Errorf("delivery %d is %q, attempt %d", i, d.Message().Body, d.Message().Attempt)
		}
		if depth.Charge == "" && d.Facts().Crashes > 0 && s.env.Capabilities.Counts {
			s.Errorf("looking charged %d crashes and Depth gave no warning", d.Facts().Crashes)
		}
		s.mustSettle(d, done)
	}
	s.must(session.Close(s.ctx()))
}

// siftOften goes beyond the limit of 20 deliveries at which some brokers drop.
func siftOften(s *scene) {
	parked := s.fill(3)
	for range 25 {
		s.sift(parked, broker.SiftOptions{}, func(*broker.Stored) broker.Action { return broker.Action{} })
	}
	s.wantBodies(parked, numbered("m", 3)...)
}

// siftAgain is a preview and then the replay: when a sift returns, what it kept
// is back. A second one that finds nothing would say that all is done.
func siftAgain(s *scene) {
	parked := s.fill(5)
	for range 10 {
		s.wantSifted(s.sift(parked, broker.SiftOptions{}, func(*broker.Stored) broker.Action {
			return broker.Action{}
		}), broker.Sifted{Seen: 5, Kept: 5})
	}
}

func siftShows(s *scene) {
	parked := s.fill(2)
	for i, m := range s.stored(parked) {
		if m.Queue != parked || m.Position != i || m.DeadLettered != "" {
			s.Errorf("message %d is at %d of %s, dead-lettered %q", i, m.Position, m.Queue, m.DeadLettered)
		}
		s.wantReason(m, broker.ReasonVerdict)
		if m.Message.Origin != m.Capture.Origin || m.Message.Attempt != m.Capture.Attempt {
			s.Errorf("message %+v, capture %+v", m.Message.Origin, m.Capture.Origin)
		}
	}
}

func siftCopies(s *scene) {
	parked, target := s.fill(3), s.env.NewQueue(s.T)
	s.wantSifted(s.sift(parked, broker.SiftOptions{}, s.copyTo(target)), broker.Sifted{Seen: 3, Copied: 3})
	s.wantBodies(parked)
	s.wantBodies(target, numbered("m", 3)...)
}

func siftFresh(s *scene) {
	parked := s.fill(1)
	s.sift(parked, broker.SiftOptions{}, func(*broker.Stored) broker.Action {
		return broker.Action{
			Verb: broker.VerbCopy, Target: broker.Target{Queue: s.queue, Key: "as.published"}, Fresh: true,
			Stamp: map[string]any{broker.HeaderReplayID: "replay-1"},
		}
	})
	d := s.receive(s.consume(s.b, 1))
	m, f := d.Message(), d.Facts()
	if m.Attempt != 1 || m.Lap != 0 || f.Capture != nil || f.CaptureErr != nil || f.Crashes != 0 || f.Redelivered {
		s.Errorf("attempt %d, lap %d, %+v", m.Attempt, m.Lap, f)
	}
	if m.Origin.Key != "as.published" || m.Origin.Queue != s.queue {
		s.Errorf("origin %+v", m.Origin)
	}
	if m.Headers[broker.HeaderReplayID] != "replay-1" {
		s.Errorf("the stamp is %v", m.Headers[broker.HeaderReplayID])
	}
	for name := range m.Headers {
		if strings.HasPrefix(name, broker.HeaderPrefix) && name != broker.HeaderReplayID {
			s.Errorf("%s was not stripped", name)
		}
	}
	s.mustSettle(d, done)
}

func siftGoesOn(s *scene) {
	parked := s.fill(1)
	s.sift(parked, broker.SiftOptions{}, func(*broker.Stored) broker.Action {
		return broker.Action{Verb: broker.VerbCopy, Target: broker.Target{Queue: s.queue}}
	})
	d := s.receive(s.consume(s.b, 1))
	if c := d.Facts().Capture; c == nil || c.Reason != broker.ReasonVerdict {
		s.Errorf("capture %+v (%v)", c, d.Facts().CaptureErr)
	}
	s.mustSettle(d, done)
}

func siftQueueAlone(s *scene) {
	parked, other := s.fill(1), s.env.NewQueue(s.T)
	s.sift(parked, broker.SiftOptions{}, s.copyTo(s.queue))
	s.wantBodies(s.queue, "m-000")
	s.wantBodies(other)
}

func siftUnrouted(s *scene) {
	parked := s.fill(3)
	sifted, err := s.sifter().Sift(s.ctx(), parked, broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			return s.copyTo(s.queue + "-missing")(m), nil
		})
	s.wants(err, broker.ErrUnrouted)
	if sifted.Copied != 0 || sifted.Dropped != 0 {
		s.Errorf("sifted %+v", sifted)
	}
	s.wantBodies(parked, numbered("m", 3)...)
}

func siftDrops(s *scene) {
	parked := s.fill(3)
	s.wantSifted(s.sift(parked, broker.SiftOptions{}, dropAll), broker.Sifted{Seen: 3, Dropped: 3})
	s.wantBodies(parked)
}

func siftLimit(s *scene) {
	parked := s.fill(5)
	s.wantSifted(s.sift(parked, broker.SiftOptions{Limit: 2}, dropAll), broker.Sifted{Seen: 2, Dropped: 2})
	s.wantBodies(parked, "m-002", "m-003", "m-004")
	s.wantSifted(s.sift(parked, broker.SiftOptions{Limit: 10}, dropAll), broker.Sifted{Seen: 3, Dropped: 3})
}

// siftNewcomers copies a queue onto its own end, which would never stop.
func siftNewcomers(s *scene) {
	parked := s.fill(3)
	s.wantSifted(s.sift(parked, broker.SiftOptions{}, s.copyTo(parked)), broker.Sifted{Seen: 3, Copied: 3})
	s.wantBodies(parked, numbered("m", 3)...)
}

func siftStops(s *scene) {
	parked := s.fill(4)
	sifted := s.sift(parked, broker.SiftOptions{}, func(m *broker.Stored) broker.Action {
		return []broker.Action{{Verb: broker.VerbDrop}, {}, {Verb: broker.VerbStop}}[m.Position]
	})
	if sifted.Dropped != 1 || sifted.Seen != 3 {
		s.Errorf("sifted %+v", sifted)
	}
	s.wantBodies(parked, "m-001", "m-002", "m-003")
}

func siftError(s *scene) {
	parked := s.fill(3)
	sifted, err := s.sifter().Sift(s.ctx(), parked, broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			if m.Position == 1 {
				return broker.Action{Verb: broker.VerbDrop}, errFail
			}
			return broker.Action{Verb: broker.VerbDrop}, nil
		})
	s.wants(err, errFail)
	if sifted.Dropped != 1 {
		s.Errorf("sifted %+v", sifted)
	}
	s.wantBodies(parked, "m-001", "m-002")
}

func siftCancelled(s *scene) {
	parked := s.fill(3)
	ctx, cancel := context.WithCancel(s.ctx())
	sifted, err := s.sifter().Sift(ctx, parked, broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			if m.Position == 1 {
				cancel()
				return broker.Action{}, nil
			}
			return broker.Action{Verb: broker.VerbDrop}, nil
		})
	if err != nil && !errors.Is(err, context.Canceled) {
		s.Errorf("the error is %v", err)
	}
	s.eventually("the rest is back", func() bool { return s.waiting(parked) == 3-sifted.Dropped })
	if sifted.Seen < 2 || sifted.Dropped > 1 {
		s.Errorf("sifted %+v", sifted)
	}
	s.wantBodies(parked, numbered("m", 3)[sifted.Dropped:]...)
}

func siftMixed(s *scene) {
	parked, target := s.fill(4), s.env.NewQueue(s.T)
	sifted := s.sift(parked, broker.SiftOptions{}, func(m *broker.Stored) broker.Action {
		return []broker.Action{
			{}, s.copyTo(target)(m), {Verb: broker.VerbDrop}, {},
		}[m.Position]
	})
	s.wantSifted(sifted, broker.Sifted{Seen: 4, Kept: 2, Copied: 1, Dropped: 1})
	s.wantBodies(parked, "m-000", "m-003")
	s.wantBodies(target, "m-001")
}

func siftTells(s *scene) {
	parked := s.fill(3)
	var told []broker.Sifted
	sum := s.sift(parked, broker.SiftOptions{Settled: func(n broker.Sifted) { told = append(told, n) }}, dropAll)
	if len(told) == 0 || told[len(told)-1] != sum {
		s.Errorf("told %+v, and the sum is %+v", told, sum)
	}
}

// siftCut loses the connection in the middle of a replay. The order of publish
// and remove is what keeps each message.
func siftCut(s *scene) {
	const n = 20
	parked, target := s.fill(n), s.env.NewQueue(s.T)
	b := s.open()
	sifter, ok := b.(broker.Sifter)
	if !ok {
		s.Fatalf("%T is no Sifter", b)
	}
	_, err := sifter.Sift(s.ctx(), parked, broker.SiftOptions{},
		func(_ context.Context, m *broker.Stored) (broker.Action, error) {
			if m.Position == n/2 {
				s.env.Cut(s.T, b)
			}
			return s.copyTo(target)(m), nil
		})
	if err == nil {
		s.Error("a sift that was cut has no error")
	}
	s.eventually("each is somewhere", func() bool { return s.waiting(parked)+s.waiting(target) >= n })
	there := map[string]bool{}
	for _, m := range append(s.stored(parked), s.stored(target)...) {
		there[string(m.Message.Body)] = true
	}
	if len(there) != n {
		s.Errorf("%d of %d are left", len(there), n)
	}
}
