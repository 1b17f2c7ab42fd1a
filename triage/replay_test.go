package triage_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-mq/holdfast/broker"
	"github.com/holdfast-mq/holdfast/triage"
)

func glob(t *testing.T, s string) triage.Glob {
	t.Helper()
	g, err := triage.ParseGlob(s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestReplay_moves_everything_in_order(t *testing.T) {
	d := newDesk(t)
	d.fill(3)
	id, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source})
	if err != nil || o.Moved != 3 || o.Total != 3 || o.Kept() != 0 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(parked)
	d.want(source, "p1", "p2", "p3")
	m := d.Messages(source)[0].Message
	if m.Headers[broker.HeaderReplayID] != id || m.Headers[broker.HeaderReplays] != int64(1) {
		t.Errorf("stamps %v", m.Headers)
	}
	if m.Headers["tenant"] != "acme" || m.Headers[broker.HeaderID] != nil {
		t.Errorf("headers %v: the producer's stay and the capture goes", m.Headers)
	}
	if m.Origin.Key != "orders.created" {
		t.Errorf("key %q is not the original one", m.Origin.Key)
	}
}

func TestReplay_counts_replays(t *testing.T) {
	d := newDesk(t)
	d.put(parked, captured("p1", nil), func(m *broker.Message) { m.Headers[broker.HeaderReplays] = int32(4) })
	if _, _, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source}); err != nil {
		t.Fatal(err)
	}
	if n := d.Messages(source)[0].Message.Headers[broker.HeaderReplays]; n != int64(5) {
		t.Errorf("replays %v, want 5", n)
	}
}

func TestReplay_to_origin_reaches_every_subscriber(t *testing.T) {
	d := newDesk(t)
	d.DeclareQueue("mail")
	d.Bind("shop", "orders.created", source)
	d.Bind("shop", "orders.created", "mail")
	d.fill(1)
	if _, _, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Route: triage.RouteOrigin}); err != nil {
		t.Fatal(err)
	}
	d.want(source, "p1")
	d.want("mail", "p1")
}

func TestReplay_refuses(t *testing.T) {
	token := func(c *broker.Capture) { c.Origin.Key = "invite.created" }
	for name, tc := range map[string]struct {
		capture *broker.Capture
		message func(*broker.Message)
		options triage.ReplayOptions
		why     string
	}{
		"malformed":        {capture: captured("x", func(c *broker.Capture) { c.Reason = broker.ReasonMalformed }), why: "malformed"},
		"a_broken_capture": {capture: captured("x", nil), message: func(m *broker.Message) { m.Headers[broker.HeaderAttempt] = "many" }, why: "does not validate"},
		"a_broken_capture_even_when_malformed_is_allowed": {
			capture: captured("x", nil), message: func(m *broker.Message) { m.Headers[broker.HeaderAttempt] = "many" },
			options: triage.ReplayOptions{Malformed: true, Force: true}, why: "does not validate",
		},
		"an_unknown_origin": {why: "nothing says where it came from"},
		"another_queue's":   {capture: captured("x", func(c *broker.Capture) { c.Origin.Queue = "bills" }), why: `belongs to queue "bills"`},
		"a_refused_key":     {capture: captured("x", token), options: triage.ReplayOptions{RefuseKeys: []triage.Glob{glob(t, "invite.*")}}, why: "refused"},
		"an_unknown_key_where_keys_are_refused": {
			options: triage.ReplayOptions{Force: true, RefuseKeys: []triage.Glob{glob(t, "invite.*")}}, why: "original key is not known",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.put(parked, tc.capture, tc.message)
			d.put(parked, captured("good", nil), nil)
			o := tc.options
			o.Queue = source
			var why []string
			o.Refused = func(r triage.Refusal) { why = append(why, r.Why) }
			_, outcome, err := triage.Replay(t.Context(), d, place, o)
			if err != nil || outcome.Refused != 1 || outcome.Moved != 1 {
				t.Fatalf("outcome %+v, %v", outcome, err)
			}
			if len(why) != 1 || !strings.Contains(why[0], tc.why) {
				t.Errorf("refused because of %q, want %q", why, tc.why)
			}
			d.want(source, "good")
			if n := len(d.Messages(parked)); n != 1 {
				t.Errorf("%d parked, want the refused one", n)
			}
		})
	}
}

func TestReplay_decides_on_the_key_and_not_on_the_body(t *testing.T) {
	d := newDesk(t)
	d.put(parked, captured("a", func(c *broker.Capture) { c.Origin.Key = "invite.created" }),
		func(m *broker.Message) { m.Body = []byte("\x00 not even JSON") })
	d.put(parked, captured("b", nil), func(m *broker.Message) { m.Body = []byte(`{"key":"invite.created"}`) })
	_, o, err := triage.Replay(t.Context(), d, place,
		triage.ReplayOptions{Queue: source, RefuseKeys: []triage.Glob{glob(t, "invite.*")}})
	if err != nil || o.Moved != 1 || o.Refused != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
}

func TestReplay_allows_malformed_when_told(t *testing.T) {
	d := newDesk(t)
	d.put(parked, captured("a", func(c *broker.Capture) { c.Reason = broker.ReasonMalformed }), nil)
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Malformed: true})
	if err != nil || o.Moved != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
}

func TestReplay_forces_a_foreign_message_to_a_queue(t *testing.T) {
	d := newDesk(t)
	d.put(parked, nil, nil)
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Force: true})
	if err != nil || o.Moved != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
}

func TestReplay_stops_at_its_limit(t *testing.T) {
	d := newDesk(t)
	d.fill(5)
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{Limit: 2}})
	if err != nil || o.Moved != 2 || o.Left() != 3 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(source, "p1", "p2")
	d.want(parked, "p3", "p4", "p5")
}

func TestReplay_does_not_sweep_newcomers_along(t *testing.T) {
	d := newDesk(t)
	d.fill(2)
	late := captured("late", nil)
	first := true
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{
		Moved: func(triage.Outcome) {
			if first {
				first = false
				d.put(parked, late, nil)
			}
		},
	}})
	if err != nil || o.Moved != 2 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(parked, "late")
}

func TestReplay_tells_when_messages_are_gone(t *testing.T) {
	d := newDesk(t)
	d.fill(2)
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{Window: 5}})
	if err != nil || o.Moved != 2 || o.Gone != 3 || o.Kept() != 0 || o.Left() != 0 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
}

func TestReplay_ends_with_the_first_copy_that_fails(t *testing.T) {
	d := newDesk(t)
	d.fill(4)
	moved := 0
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{
		Moved: func(now triage.Outcome) {
			if moved = now.Moved; moved == 2 {
				d.RefuseCopies(1)
			}
		},
	}})
	if !errors.Is(err, broker.ErrRefused) || o.Moved != 2 || o.Kept() != 2 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(parked, "p3", "p4")
	d.want(source, "p1", "p2")
}

func TestReplay_into_a_missing_queue_moves_nothing(t *testing.T) {
	d := newDesk(t)
	d.fill(2)
	_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: "gone", Force: true})
	if !errors.Is(err, broker.ErrUnrouted) || o.Moved != 0 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(parked, "p1", "p2")
}

func TestReplay_told_to_stop_says_how_far_it_came(t *testing.T) {
	d := newDesk(t)
	d.fill(5)
	ctx, cancel := context.WithCancel(t.Context())
	_, o, err := triage.Replay(ctx, d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{
		Moved: func(now triage.Outcome) {
			if now.Moved == 3 {
				cancel()
			}
		},
	}})
	if !errors.Is(err, context.Canceled) || o.Moved != 3 || o.Left() != 2 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	_, o, err = triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source})
	if err != nil || o.Moved != 2 {
		t.Fatalf("run again: %+v, %v", o, err)
	}
	d.want(source, "p1", "p2", "p3", "p4", "p5")
}

func TestReplay_keeps_its_rate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.fill(11)
		began := time.Now()
		_, o, err := triage.Replay(t.Context(), d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{Rate: 10}})
		if took := time.Since(began); err != nil || o.Moved != 11 || took != time.Second {
			t.Errorf("%d moved in %v, %v; want 11 in 1s", o.Moved, took, err)
		}
	})
}

func TestReplay_of_a_shared_queue_leaves_others_alone(t *testing.T) {
	d := newDesk(t)
	d.put("holdfast.parked", captured("mine", nil), nil)
	d.put("holdfast.parked", captured("theirs", func(c *broker.Capture) { c.Origin.Queue = "bills" }), nil)
	d.put("holdfast.parked", nil, func(m *broker.Message) { m.Body = []byte(`{"id":"whose"}`) })
	shared := triage.Place{Queue: "holdfast.parked", Of: source, Strict: true}
	_, o, err := triage.Replay(t.Context(), d, shared, triage.ReplayOptions{Queue: source})
	if err != nil || o.Moved != 1 || o.Elsewhere != 1 || o.Unknown != 1 || o.Refused != 0 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(source, "mine")
	d.want("holdfast.parked", "theirs", "whose")
}

func TestRehearse_changes_nothing(t *testing.T) {
	d := newDesk(t)
	d.fill(3)
	d.put(parked, captured("m", func(c *broker.Capture) { c.Reason = broker.ReasonMalformed }), nil)
	var would []string
	o, err := triage.Rehearse(t.Context(), d, place, triage.ReplayOptions{Queue: source, Bounds: triage.Bounds{Limit: 2}},
		func(m *broker.Stored) { would = append(would, m.Capture.ID) })
	if err != nil || o.Moved != 2 || fmt.Sprint(would) != "[p1 p2]" {
		t.Fatalf("outcome %+v, %v, would %v", o, err, would)
	}
	o, err = triage.Rehearse(t.Context(), d, place, triage.ReplayOptions{Queue: source}, nil)
	if err != nil || o.Moved != 3 || o.Refused != 1 {
		t.Fatalf("outcome %+v, %v", o, err)
	}
	d.want(parked, "p1", "p2", "p3", "m")
	d.want(source)
}

func TestReplay_checks_its_options(t *testing.T) {
	d := newDesk(t)
	for name, o := range map[string]triage.ReplayOptions{
		"no_queue":      {},
		"a_wrong_route": {Route: "home", Queue: source},
		"a_wrong_reason": {Queue: source, Bounds: triage.Bounds{
			Select: triage.Selection{Reasons: []broker.Reason{"bored"}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := triage.Replay(t.Context(), d, place, o); err == nil {
				t.Error("no error")
			}
		})
	}
}
