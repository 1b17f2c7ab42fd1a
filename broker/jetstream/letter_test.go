package jetstream

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/holdfast-mq/holdfast/broker"
)

func newCapture(text string) *broker.Capture {
	now := time.Now().UTC()
	return &broker.Capture{
		ID: "capture-1", Attempt: 2, Error: text, Cause: text, Origin: broker.Origin{Exchange: "ORDERS", Key: "orders.in", Queue: "ORDERS/billing"},
		FirstFailedAt: now, FailedAt: now, Host: "here",
	}
}

// TestCapturedFits: whatever room a body leaves, a copy that is made fits, has
// whole characters, and all of the capture but the end of its texts.
func TestCapturedFits(t *testing.T) {
	t.Parallel()
	const limit = 8 << 10
	send := wire(t)
	for _, text := range []string{
		strings.Repeat("x", 3000), strings.Repeat("漢字 ", 700), strings.Repeat("%\n", 900), strings.Repeat("\x00", 2500), "short", "",
		strings.Repeat("end ", 800), strings.Repeat("\xff", 3000),
	} {
		made := 0
		for size := 0; size <= limit; size += 7 {
			m, err := captured("s", nats.Header{"own": {"1"}}, make([]byte, size), newCapture(text), limit)
			if err != nil {
				wantErr(t, err, broker.ErrRefused, "max_payload")
				continue
			}
			made++
			if total := headersSize(m.Header) + len(m.Data) + slack; total > limit {
				t.Fatalf("a copy has %d bytes", total)
			}
			wantTexts(t, send(t, m.Header), text)
		}
		if made < (limit-slack-1024)/7 {
			t.Errorf("of %.10q only %d copies were made", text, made)
		}
	}
}

func wantTexts(t *testing.T, h nats.Header, whole string) {
	t.Helper()
	c, err := capture(h, "ORDERS/billing")
	if err != nil || c == nil || c.ID != "capture-1" || c.Attempt != 2 || c.Host != "here" || first(h, "own") != "1" {
		t.Fatalf("the capture is %+v, %v", c, err)
	}
	for _, got := range []string{c.Error, c.Cause} {
		// The wire trims a space that a cut has left at the end.
		if !strings.HasPrefix(whole, got) || utf8.ValidString(whole) && !utf8.ValidString(got) || len(got) > maxText {
			t.Fatalf("of %.20q is left %q", whole, got)
		}
	}
}

// TestCapturedHeaders: JetStream takes no more than 64 KiB of them.
func TestCapturedHeaders(t *testing.T) {
	t.Parallel()
	for size := 60_000; size < 66_000; size += 10 {
		m, err := captured("s", nats.Header{"own": {strings.Repeat("x", size)}}, nil, newCapture(strings.Repeat("y", 2000)), 1<<20)
		if err != nil {
			if wantErr(t, err, broker.ErrRefused, "65535"); size < 63_500 {
				t.Fatalf("%d bytes are too many", size)
			}
			continue
		}
		if got := headersSize(m.Header); got > maxHeaders-slack {
			t.Fatalf("the copy has %d bytes of headers", got)
		}
	}
}

// TestCapturedReplacesACapture: nothing of an earlier one is left.
func TestCapturedReplacesACapture(t *testing.T) {
	t.Parallel()
	h := nats.Header{"own": {"1"}, headerNatsID: {"17"}, headerTTL: {"1h"}, headerCorrelationID: {"c"}, headerScheduler: {"x"}, headerStream: {"S"}}
	old := newCapture("old")
	old.Reason, old.Token, old.NotBefore = broker.ReasonVerdict, "token", time.Now()
	first, err := captured("s", h, nil, old, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	once(first, "there", "id")
	second, err := captured("s", first.Header, nil, newCapture(""), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var left []string
	for name := range second.Header {
		if !broker.CaptureField(name) {
			left = append(left, name)
		}
	}
	slices.Sort(left)
	if want := []string{"Correlation-Id", "Message-Id", "own", broker.HeaderExpiration}; !slices.Equal(left, want) {
		t.Errorf("%q are left, want %q", left, want)
	}
	for _, name := range []string{broker.HeaderReason, broker.HeaderToken, broker.HeaderError, broker.HeaderNotBefore} {
		if v, ok := second.Header[name]; ok {
			t.Errorf("%s is left: %q", name, v)
		}
	}
	if id := second.Header[headerMessageID]; !slices.Equal(id, []string{"17"}) {
		t.Errorf("the producer's id is %q", id)
	}
}

func TestFreshLeavesAllThatFailureAdded(t *testing.T) {
	t.Parallel()
	m, err := captured("s", nats.Header{"own": {"1"}, "rejectionReason": {"x"}}, nil, newCapture("e"), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Collect(maps.Keys(carried(m.Header, fresh))); !slices.Equal(got, []string{"own"}) {
		t.Errorf("left: %q", got)
	}
}

func TestScheduled(t *testing.T) {
	t.Parallel()
	m := &nats.Msg{Header: nats.Header{}}
	scheduled(m, "ns.back.S.c", time.Date(2026, 5, 4, 3, 2, 1, 987654321, time.FixedZone("", 3600)))
	if got := first(m.Header, headerSchedule); got != "@at 2026-05-04T02:02:01.987654321Z" {
		t.Errorf("it is moved %q", got)
	}
	if got := first(m.Header, headerScheduleTarget); got != "ns.back.S.c" {
		t.Errorf("to %q", got)
	}
}
