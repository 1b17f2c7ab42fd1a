package holdfast_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdfast-mq/holdfast"
)

func TestLogObserverLevelsAndFields(t *testing.T) {
	t.Parallel()
	tests := []struct {
		event   holdfast.Event
		want    []string
		without string
	}{
		{
			event: holdfast.Event{Kind: holdfast.EventParked, Queue: "orders", MessageID: "m-1", CaptureID: "c-1", Attempt: 5, Reason: holdfast.ReasonExhausted, Err: errors.New("declined")},
			want:  []string{"level=ERROR", `msg="holdfast: parked"`, "queue=orders", "message_id=m-1", "capture_id=c-1", "attempt=5", "reason=exhausted", "error=declined"},
		},
		{event: holdfast.Event{Kind: holdfast.EventDetached, Err: errors.New("gone")}, want: []string{"level=ERROR", "error=gone"}},
		{event: holdfast.Event{Kind: holdfast.EventDelayed, Attempt: 1}, want: []string{"level=INFO"}},
		{event: holdfast.Event{Kind: holdfast.EventDone}, want: []string{"level=DEBUG"}},
		{
			event: holdfast.Event{Kind: holdfast.EventDiscarded, MessageID: "m-2", Err: errors.New("token=hunter2")},
			want:  []string{"level=WARN", "message_id=m-2"}, without: "hunter2",
		},
		{
			event:   holdfast.Event{Kind: holdfast.EventParked, Err: errors.New(strings.Repeat("x", 300<<10))},
			without: strings.Repeat("x", 3<<10),
		},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
		holdfast.LogObserver(logger).Observe(tt.event)
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("the line lacks %s: %s", want, out.String())
			}
		}
		if tt.without != "" && strings.Contains(out.String(), tt.without) {
			t.Errorf("the line has what it must not have: %.300s", out.String())
		}
	}
}

func TestObserversTellAllAlthoughOnePanics(t *testing.T) {
	t.Parallel()
	told := 0
	count := holdfast.ObserverFunc(func(holdfast.Event) { told++ })
	holdfast.Observers(count, nil, holdfast.ObserverFunc(func(holdfast.Event) { panic("no") }), count).Observe(holdfast.Event{})
	if told != 2 {
		t.Errorf("%d observers were told, want 2", told)
	}
}
